import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The web app whose pages the native app shows, signed in by a transfer token.
public struct WebApp: Sendable {
    /// E.g. `https://app.example.com`, as browsers write an origin.
    public let origin: String

    public init(origin: String) {
        self.origin = origin
    }

    /// A page, by its path and query.
    public func page(_ target: String) -> URL? {
        target.hasPrefix("/") ? URL(string: self.origin + target) : nil
    }

    /// Whether it is a page of this app.
    public func contains(_ url: URL) -> Bool {
        url.absoluteString == self.origin || url.absoluteString.hasPrefix(self.origin + "/")
    }

    /// The path and query of a page of this app.
    func target(_ url: URL) -> String? {
        self.contains(url) ? "/" + url.absoluteString.dropFirst(self.origin.count + 1) : nil
    }

    /// Handoff by cookie, for a WebView of the app. The second cookie asks the gateway for a challenge in place of the sign-in
    /// page when the web session has ended. Neither has a domain, which `__Host-` forbids, and no script can read them.
    public func cookies(_ token: String) -> [HTTPCookie] {
        guard let url = self.page("/") else { return [] }
        let isSecure = url.scheme == "https"
        let native = isSecure ? "__Host-sallyport-native" : "sallyport-native"
        return ["session_transfer_token=\(token)", "\(native)=1"].flatMap {
            let field = ["Set-Cookie": "\($0); Path=/; HttpOnly" + (isSecure ? "; Secure" : "")]
            return HTTPCookie.cookies(withResponseHeaderFields: field, for: url)
        }
    }

    /// Handoff by query, for a browser whose cookies the app cannot set. The gateway takes the token out of the URL.
    public func page(_ target: String, _ token: String) -> URL? {
        guard let url = self.page(target), var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else {
            return nil
        }
        let query = parts.percentEncodedQuery.map { "\($0)&" } ?? ""
        parts.percentEncodedQuery = "\(query)session_transfer_token=\(Gateway.encoded(token))"
        return parts.url
    }

    /// Where the user signs in by hand, and comes back to the page.
    public func signInPage(_ target: String) -> URL? {
        self.page("/.sallyport/login?return_to=\(Gateway.encoded(target))")
    }

    /// The path and query for which the gateway's page asks the app to mint another token; nil if the message is none of this
    /// site's. Any page in a WebView can send messages.
    public func challenged(_ message: String) -> String? {
        struct Challenge: Decodable {
            var type: String
            var realm: String
            var return_to: String
        }
        guard let challenge = try? JSONDecoder().decode(Challenge.self, from: Data(message.utf8)),
            challenge.type == "session_transfer", challenge.realm == self.origin,
            challenge.return_to.hasPrefix("/"), !challenge.return_to.hasPrefix("//")
        else { return nil }
        return challenge.return_to
    }
}

/// How often the app opens a page with a new token: three times a minute. Without a bound, a device whose tokens are refused,
/// or a WebView that keeps no cookies, would go round for ever.
public struct Tries: Sendable {
    private var times: [Date] = []

    public init() {}

    public mutating func next(now: Date = Date()) -> Bool {
        self.times.removeAll { now.timeIntervalSince($0) > 60 }
        self.times.append(now)
        return self.times.count <= 3
    }
}
