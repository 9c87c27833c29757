import Endpoints
package import Settings
import Vocabulary

/// How a proxy sends its checks (forward auth) to one path of the authorization listener, and which answers it expects.
package struct CheckForm: Sendable {
    /// Where a check describes the original request. Only one place is read, because a client can send any field that
    /// its proxy does not overwrite (CVE-2026-40575).
    package enum Source: Sendable {
        case head(HeadSource)
        /// The body of the check. It is collected before the check is judged.
        case body(any CheckBody.Type)
    }

    /// Where the head of a check describes the original request.
    package enum HeadSource: Sendable {
        case fields(OriginalMetadata)
        /// `Host`, `X-Forwarded-Uri` and `X-Real-IP`, as in oauth2-proxy's manual for nginx. The method is unknown.
        case hostAndURI
        /// The check's own request line, with `prefix` bytes before the path of the original request.
        case request(prefix: Int)
    }

    package let dialect: AuthorizationDialect
    let source: Source
    /// True if the answer also contains oauth2-proxy's fields.
    let isOAuth2Proxy: Bool
    /// True if a GET check for one of the gateway's pages is answered with the page. The proxy relays the answer to the
    /// browser.
    let showsPages: Bool
    /// True if every 401, even for a script, has the sign-in page in `Location`. nginx as configured in Authelia's
    /// manual redirects the browser to this URL.
    let namesSignIn: Bool
    /// True if an answer that allows a request contains every identity field, empty if the user has no value. An empty
    /// field overwrites a field of that name from the client.
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

    /// True if the proxy does not send the method of the original request.
    var hidesMethod: Bool { if case .head(.hostAndURI) = self.source { true } else { false } }

    /// Returns the maximum length of the check's body. `nil` if no body is collected: most proxies send the client's
    /// `Content-Length` without a body.
    func bodyLimit(of check: RequestHead) -> Int? {
        switch self.source {
        case .body(let body): return body.limit
        case .head(.request):
            // Envoy sends as much of the client's body as `with_request_body` allows, with the length of this part.
            guard case .length(let count) = check.framing, count <= Self.longestBody else { return nil }
            return count
        case .head: return nil
        }
    }

    /// The maximum length of a collected body whose content is ignored, in bytes.
    private static let longestBody = 65_536

    /// True if the proxy relays a redirect to the browser. After a check at `/oauth2/auth`, the proxy redirects to the
    /// sign-in page by its own configuration.
    var passesRedirects: Bool { !self.isOAuth2Proxy || self.dialect != .authRequest }

    // MARK: Answers

    /// The status that allows the request.
    var allowedStatus: Int { self.isOAuth2Proxy ? 202 : 200 }

    /// Returns the status of a redirect to another URL of the requested page: 303 for GET and HEAD, otherwise 307.
    /// Returns `nil` if no redirect works: browsers follow none for a WebSocket, and nginx sends 303 for every method.
    func redirectStatus(for head: RequestHead) -> Int? {
        guard !head.isWebSocketUpgrade else { return nil }
        if head.knownMethod == .get || head.knownMethod == .head { return 303 }
        return self.dialect == .authRequest ? nil : 307
    }

    /// Returns `answer` with `no-store` and, if it has a reason, with `X-Sallyport-Reason`.
    static func marked(_ answer: LocalAnswer) -> LocalAnswer {
        var answer = answer
        answer.response.fields.removeAll { $0.name.lowercased() == "cache-control" }
        answer.response.fields.append(("Cache-Control", "no-store"))
        if let reason = answer.response.reason {
            answer.response.fields.append(("X-Sallyport-Reason", reason.rawValue))
        }
        return answer
    }

    /// Returns the gateway's answer to the original request, changed so that the proxy relays it and never allows the
    /// request.
    ///
    /// - Parameters:
    ///   - origin: The origin of the original request's host. `nil` if the host is unknown.
    ///   - signIn: The URL of the host's sign-in page. `nil` if there is no sign-in page. Evaluated only for a 401 that
    ///     must name the page.
    func denial(_ answer: LocalAnswer, on origin: String?, signIn: @autoclosure () -> String? = nil) -> LocalAnswer {
        var answer = Self.marked(answer)
        switch self.dialect {
        case .forwardAuth:
            if let origin { Self.complete(&answer.response.fields, on: origin) }
            if answer.response.status < 300 { answer = answer.restated(as: Self.refused) }
        case .extAuthz:
            if answer.response.status == 200 { answer = answer.restated(as: Self.refused) }
        case .authRequest:
            answer = answer.restated(as: Self.authRequestStatus(answer.response))
            // The proxy ignores `Location`, and long URLs would exceed nginx's buffer.
            if !self.passesRedirects { answer.response.fields.removeAll { $0.name.lowercased() == "location" } }
            if self.namesSignIn, answer.response.status == 401,
                !answer.response.fields.contains(where: { $0.name.lowercased() == "location" }), let signIn = signIn()
            {
                answer.response.fields.append(("Location", signIn))
            }
            // nginx copies the challenge into the redirect that it sends instead of the 401.
            if answer.response.fields.contains(where: { $0.name == "Location" }) {
                answer.response.fields.removeAll { $0.name.lowercased() == "www-authenticate" }
            }
        }
        return answer
    }

    /// Adds the origin to a path in `Location`. Traefik would resolve the path against the gateway's address.
    private static func complete(_ fields: inout [(name: String, value: String)], on origin: String) {
        for index in fields.indices where fields[index].name.lowercased() == "location" {
            if fields[index].value.hasPrefix("/") { fields[index].value = origin + fields[index].value }
        }
    }

    private static let refused = 403

    /// Returns the status of a denial for nginx. nginx treats any status other than 401 and 403 as an error (500).
    private static func authRequestStatus(_ response: EndpointResponse) -> Int {
        switch response.status {
        case 300..<400, 401: 401
        case 429, 500...: 500
        default: self.refused
        }
    }

    /// Returns the gateway's own field lines. nginx reads only the first `Set-Cookie` or joins several into an invalid
    /// field. For nginx, each cookie is therefore sent in a numbered field as well.
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
