package import Vocabulary

/// The paths on which a browser carries a sign-in from one host of the gateway to another.
package enum TicketPath {
    /// The path on the host that issues a ticket.
    package static let share = "/.sallyport/share"
    /// The path on the host that requested the ticket.
    package static let ticket = "/.sallyport/ticket"
    /// The path on the sign-in host that requests a ticket from the host of a handoff.
    package static let adopt = "/.sallyport/adopt"

    /// Returns the path and query that request a ticket.
    ///
    /// - Parameters:
    ///   - request: The sealed request, in base64url.
    ///   - isBack: True if the browser returns from the sign-in page.
    package static func asking(_ id: String, _ request: String, isBack: Bool = false) -> String {
        "\(self.share)?id=\(id)&request=\(request)\(isBack ? "&\(self.isBack.name)=\(self.isBack.value)" : "")"
    }

    /// The query parameter with which a browser returns from the sign-in page.
    package static let isBack = (name: "signed_in", value: "1")

    /// Returns whether `path` is a request for a ticket.
    static func asks(_ path: String) -> Bool { path.hasPrefix(self.share + "?") }

    /// Returns the path and query that present a ticket.
    ///
    /// - Parameters:
    ///   - ticket: The ticket, in base64url.
    ///   - origin: The sealed request and the authority of the issuing host, if the browser returns to that host.
    package static func presenting(
        _ ticket: Secret,
        _ id: String,
        returningTo origin: (request: String, authority: String)? = nil
    ) -> String {
        let token = String(decoding: ticket.bytes, as: UTF8.self)
        let back = origin.map { "&from=\(PercentCoding.encoded($0.authority))&request=\($0.request)" } ?? ""
        return "\(self.ticket)?id=\(id)&ticket=\(token)\(back)"
    }

    /// Returns the path and query of `adopt`.
    ///
    /// - Parameters:
    ///   - authority: The host where the browser is signed in.
    ///   - link: The sealed page that the browser returns to, in base64url.
    package static func adopting(from authority: String, _ link: String) -> String {
        "\(self.adopt)?from=\(PercentCoding.encoded(authority))&link=\(link)"
    }
}
