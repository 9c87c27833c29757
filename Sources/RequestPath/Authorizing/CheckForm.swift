import Endpoints
package import Settings
import Vocabulary

/// The way in which a proxy sends checks to one path of the authorization listener and expects their answers.
package struct CheckForm: Sendable {
    /// The part of a check that describes the original request. Each form reads one place only, because a client can
    /// send any field that the proxy does not overwrite (CVE-2026-40575).
    package enum Source: Sendable {
        case head(HeadSource)
        /// The body of the check. It is collected before the check is judged.
        case body(any CheckBody.Type)
    }

    /// The place in the head of a check where the original request is described.
    package enum HeadSource: Sendable {
        case fields(OriginalMetadata)
        /// `Host`, `X-Forwarded-Uri` and `X-Real-IP`, sent by nginx as in oauth2-proxy's manual. The method is unknown.
        case hostAndURI
        /// The check's own request line: the original request with `prefix` bytes before its path.
        case request(prefix: Int)
    }

    package let dialect: AuthorizationDialect
    let source: Source
    /// True if the answer also has the fields of oauth2-proxy.
    let isOAuth2Proxy: Bool
    /// True if a GET check of one of the gateway's own pages is answered with that page. The proxy passes the whole
    /// answer on to the browser and cannot reach the page in any other way.
    let showsPages: Bool
    /// True if each 401, even for a script, names the sign-in page in `Location`, as with Authelia. nginx turns each
    /// 401 into a redirect if it is configured as in Authelia's manual.
    let namesSignIn: Bool
    /// True if an answer that allows a request has every identity field, with an empty value if the user has no value.
    /// An empty field keeps the client's field of that name from the app.
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

    /// Returns the maximum length of the body that is collected before the check is judged. Returns `nil` if no body is
    /// collected: most proxies send the length of their client's body without the body.
    func bodyLimit(of check: RequestHead) -> Int? {
        switch self.source {
        case .body(let body): return body.limit
        case .head(.request):
            // Envoy sends the bytes that its `with_request_body` allows, with their length. Then the check ends.
            guard case .length(let count) = check.framing, count <= Self.longestBody else { return nil }
            return count
        case .head: return nil
        }
    }

    /// The maximum length of a body that is collected although it is not read.
    private static let longestBody = 65_536

    /// True if the browser receives the redirect in an answer. For checks of `/oauth2/auth`, it does not: the proxy's
    /// own configuration redirects to the sign-in page.
    var passesRedirects: Bool { !self.isOAuth2Proxy || self.dialect != .authRequest }

    // MARK: Answers

    /// The status that allows the request.
    var allowedStatus: Int { self.isOAuth2Proxy ? 202 : 200 }

    /// Returns the status of a redirect to the requested page under another URL: 303, or 307 if browsers would not
    /// repeat the method after 303. Returns `nil` if the redirect would not work: browsers do not follow it when they
    /// open a WebSocket, and nginx turns each redirect into 303.
    func redirectStatus(for head: RequestHead) -> Int? {
        guard !head.isWebSocketUpgrade else { return nil }
        if head.knownMethod == .get || head.knownMethod == .head { return 303 }
        return self.dialect == .authRequest ? nil : 307
    }

    /// Returns `answer` with `no-store` and, for a refusal, the reason in a field that a proxy can pass on.
    static func marked(_ answer: LocalAnswer) -> LocalAnswer {
        var answer = answer
        answer.response.fields.removeAll { $0.name.lowercased() == "cache-control" }
        answer.response.fields.append(("Cache-Control", "no-store"))
        if let reason = answer.response.reason {
            answer.response.fields.append(("X-Sallyport-Reason", reason.rawValue))
        }
        return answer
    }

    /// Returns the gateway's answer to the original request in a form that the proxy can pass on. The result never
    /// allows the request, because only `GrantedFields` does.
    ///
    /// - Parameters:
    ///   - origin: The origin of the original request's host. `nil` if the host is unknown.
    ///   - signIn: The URL of the host's sign-in page. `nil` if there is no sign-in page. Evaluated only for a 401 that
    ///     must name the page.
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
            // The proxy does not read `Location`, and nginx's buffer is too small for long URLs.
            if !self.passesRedirects { answer.response.fields.removeAll { $0.name.lowercased() == "location" } }
            if self.namesSignIn, answer.response.status == 401,
                !answer.response.fields.contains(where: { $0.name.lowercased() == "location" }), let signIn = signIn()
            {
                answer.response.fields.append(("Location", signIn))
            }
            // nginx adds the challenge to any answer that its configuration sends instead of a 401.
            if answer.response.fields.contains(where: { $0.name == "Location" }) {
                answer.response.fields.removeAll { $0.name.lowercased() == "www-authenticate" }
            }
        }
        return answer
    }

    /// Adds the origin to a path in `Location`. Traefik would resolve the path against the address of the gateway.
    private static func complete(_ fields: inout [(name: String, value: String)], on origin: String) {
        for index in fields.indices where fields[index].name.lowercased() == "location" {
            if fields[index].value.hasPrefix("/") { fields[index].value = origin + fields[index].value }
        }
    }

    private static let refused = 403

    /// Returns the status of a denial for nginx. It turns statuses other than 401 and 403 into 500. Failures stay 500.
    private static func authRequestStatus(_ response: EndpointResponse) -> Int {
        switch response.status {
        case 300..<400, 401: 401
        case 429, 500...: 500
        default: self.refused
        }
    }

    /// Joins the gateway's own field lines so that the proxy can pass them on. nginx reads only the first `Set-Cookie`,
    /// or joins several into one invalid field, so each cookie is also sent in a numbered field.
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
