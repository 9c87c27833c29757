import Endpoints
package import Settings
import Vocabulary

/// How a proxy asks at one path of the authorization listener, and how it is answered.
package struct CheckForm: Sendable {
    /// Where the original request is described. Each form reads one place only: a client can send what the proxy does not
    /// overwrite (CVE-2026-40575).
    package enum Source: Sendable {
        case head(HeadSource)
        /// The body of the check, which is collected first.
        case body(any CheckBody.Type)
    }

    /// The place in the head of a check where the original request is described.
    package enum HeadSource: Sendable {
        case fields(OriginalMetadata)
        /// `Host`, `X-Forwarded-Uri` and `X-Real-IP`, which nginx sends as oauth2-proxy's manual says; the method is not told.
        case hostAndURI
        /// The check is the request itself, behind so many bytes of its path.
        case request(prefix: Int)
    }

    package let dialect: AuthorizationDialect
    let source: Source
    /// Whether the answer has the fields of oauth2-proxy, too.
    let isOAuth2Proxy: Bool
    /// Whether a check of one of the gateway's own pages, by GET, is answered with that page: its proxy passes on the whole
    /// answer, and has no other way to the page.
    let showsPages: Bool
    /// Whether each 401 leads to the sign-in page by `Location`, also for scripts: Authelia's does, and nginx makes a redirect
    /// of each, as Authelia's manual configures it.
    let namesSignIn: Bool
    /// Whether an answer that allows a request has each field of an identity, empty where the user has none, so that the
    /// client's own does not reach the app.
    let hasEmptyFields: Bool

    package init(
        dialect: AuthorizationDialect,
        source: Source,
        isOAuth2Proxy: Bool = false,
        showsPages: Bool = false,
        namesSignIn: Bool = false,
        hasEmptyFields: Bool = true
    ) {
        self.dialect = dialect
        self.source = source
        self.isOAuth2Proxy = isOAuth2Proxy
        self.showsPages = showsPages
        self.namesSignIn = namesSignIn
        self.hasEmptyFields = hasEmptyFields
    }

    /// True if the proxy does not tell the method of the original request.
    var hidesMethod: Bool { if case .head(.hostAndURI) = self.source { true } else { false } }

    /// The most bytes of a check's body that are collected before the check is judged. `nil` if the body is not waited for:
    /// most proxies pass on the length of their client's body without the body.
    func bodyLimit(of check: RequestHead) -> Int? {
        switch self.source {
        case .body(let body): return body.limit
        case .head(.request):
            // Envoy sends what its `with_request_body` allows, and its length. Without the rest of it the check is not whole.
            guard case .length(let count) = check.framing, count <= Self.longestBody else { return nil }
            return count
        case .head: return nil
        }
    }

    /// A longer body is not waited for if nothing is read in it.
    private static let longestBody = 65_536

    /// Whether the browser gets a redirect of the answer. At `/oauth2/auth` proxies lead to the sign-in by their own
    /// configuration.
    var passesRedirects: Bool { !self.isOAuth2Proxy || self.dialect != .authRequest }

    // MARK: Answers

    /// The status that lets the request pass.
    var allowedStatus: Int { self.isOAuth2Proxy ? 202 : 200 }

    /// The status of a redirect to the same page under another URL: 303, or 307 for a method that browsers do not repeat
    /// after 303. `nil` if the request cannot be redirected so: browsers do not follow when they open a WebSocket, and nginx
    /// makes 303 of each redirect.
    func redirectStatus(for head: RequestHead) -> Int? {
        guard !head.isWebSocketUpgrade else { return nil }
        if head.knownMethod == .get || head.knownMethod == .head { return 303 }
        return self.dialect == .authRequest ? nil : 307
    }

    /// An answer that no proxy may keep; a refusal also says why in a field that a proxy can pass on.
    static func marked(_ answer: LocalAnswer) -> LocalAnswer {
        var answer = answer
        answer.response.fields.removeAll { $0.name.lowercased() == "cache-control" }
        answer.response.fields.append(("Cache-Control", "no-store"))
        if let reason = answer.response.reason {
            answer.response.fields.append(("X-Sallyport-Reason", reason.rawValue))
        }
        return answer
    }

    /// An answer of the gateway to the original request, as the proxy can pass it on. It never lets the request pass: only
    /// `GrantedFields` does.
    ///
    /// - Parameters:
    ///   - origin: That of the host of the original request, if it is known.
    ///   - signIn: The URL of the host's sign-in page; `nil` if there is none. It is called
    ///     only for a 401 that has to name the page.
    func denial(
        _ answer: LocalAnswer,
        on origin: String?,
        signIn: @autoclosure () -> String? = nil
    ) -> LocalAnswer {
        var answer = Self.marked(answer)
        switch self.dialect {
        case .forwardAuth:
            if let origin { Self.complete(&answer.response.fields, on: origin) }
            if answer.response.status < 300 { answer = answer.restated(as: Self.refused) }
        case .extAuthz:
            if answer.response.status == 200 { answer = answer.restated(as: Self.refused) }
        case .authRequest:
            answer = answer.restated(as: Self.authRequestStatus(answer.response))
            // Nobody reads it there, and nginx's buffer is too small for long URLs.
            if !self.passesRedirects { answer.response.fields.removeAll { $0.name.lowercased() == "location" } }
            if self.namesSignIn, answer.response.status == 401,
                !answer.response.fields.contains(where: { $0.name.lowercased() == "location" }), let signIn = signIn()
            {
                answer.response.fields.append(("Location", signIn))
            }
            // nginx adds the challenge to whatever its configuration makes of a 401.
            if answer.response.fields.contains(where: { $0.name == "Location" }) {
                answer.response.fields.removeAll { $0.name.lowercased() == "www-authenticate" }
            }
        }
        return answer
    }

    /// A path in `Location` gets its origin: Traefik takes it for one of the address at which it asks.
    private static func complete(_ fields: inout [(name: String, value: String)], on origin: String) {
        for index in fields.indices where fields[index].name.lowercased() == "location" {
            if fields[index].value.hasPrefix("/") { fields[index].value = origin + fields[index].value }
        }
    }

    private static let refused = 403

    /// nginx passes on 401 and 403; a failure must not be taken for either, and it makes 500 of anything else.
    private static func authRequestStatus(_ response: EndpointResponse) -> Int {
        switch response.status {
        case 300..<400, 401: 401
        case 429, 500...: 500
        default: self.refused
        }
    }

    /// The gateway's own lines of an answer, as the proxy can pass them on. nginx sees the first `Set-Cookie` only, or
    /// joins several into one that no browser understands; so it gets each once more under a name of its own.
    func lines(_ lines: [[UInt8]]) -> [UInt8] {
        guard self.dialect == .authRequest else { return Array(lines.joined()) }
        var all: [UInt8] = []
        var count = 0
        for line in lines {
            guard Self.isCookie(line) else {
                all += line
                continue
            }
            if count == 0 { all += line }
            count += 1
            all += "X-Sallyport-Cookie-\(count): ".utf8
            all += line.dropFirst(Self.cookie.utf8.count)
        }
        return all
    }

    private static let cookie = "Set-Cookie: "

    static func isCookie(_ line: [UInt8]) -> Bool { line.starts(with: Self.cookie.utf8) }
}
