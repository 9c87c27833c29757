package import Vocabulary

/// The paths by which a browser carries a sign-in from one host of the gateway to another.
package enum TicketPath {
    /// On the host that is asked for a ticket.
    package static let share = "/.sallyport/share"
    /// On the host that asked for it.
    package static let ticket = "/.sallyport/ticket"
    /// On the host on which users sign in, for a browser that a handoff has signed in on another host.
    package static let adopt = "/.sallyport/adopt"

    /// The path and query of a request for a ticket. Its characters need no encoding in a query, but for `?`, `=` and
    /// `&`.
    ///
    /// - Parameters:
    ///   - request: The sealed request, in base64url.
    ///   - isBack: Whether the browser comes back from the sign-in page.
    package static func asking(_ id: String, _ request: String, isBack: Bool = false) -> String {
        "\(self.share)?id=\(id)&request=\(request)\(isBack ? "&\(self.isBack.name)=\(self.isBack.value)" : "")"
    }

    /// The query parameter of a request for a ticket that comes back from the sign-in page.
    package static let isBack = (name: "signed_in", value: "1")

    /// Whether `path` is a request for a ticket.
    static func asks(_ path: String) -> Bool { path.hasPrefix(self.share + "?") }

    /// The path and query of a ticket.
    ///
    /// - Parameters:
    ///   - ticket: Consists of characters of base64url only.
    ///   - origin: The sealed request and the authority of the host that it was made for, if the browser returns there.
    package static func presenting(
        _ ticket: Secret,
        _ id: String,
        returningTo origin: (request: String, authority: String)? = nil
    ) -> String {
        let token = String(decoding: ticket.bytes, as: UTF8.self)
        let back = origin.map { "&from=\(PercentCoding.encoded($0.authority))&request=\($0.request)" } ?? ""
        return "\(self.ticket)?id=\(id)&ticket=\(token)\(back)"
    }

    /// The path and query for a browser that a handoff has signed in.
    ///
    /// - Parameters:
    ///   - authority: The host on which it is signed in.
    ///   - link: Where it returns to, sealed, in base64url.
    package static func adopting(from authority: String, _ link: String) -> String {
        "\(self.adopt)?from=\(PercentCoding.encoded(authority))&link=\(link)"
    }
}
