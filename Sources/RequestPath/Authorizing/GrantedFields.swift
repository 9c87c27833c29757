import Endpoints
import Sessions
import Settings
import Vocabulary

/// The answer that lets a request of another proxy pass, with the fields that its app shall get. Making one consumes a
/// `Permit`. So a request that was not permitted cannot be let pass.
struct GrantedFields {
    let answer: LocalAnswer
    /// Field lines, each with its CRLF.
    let lines: [UInt8]

    /// - Parameters:
    ///   - identity: nil if there is no session whose identity the app sees.
    ///   - own: The gateway's own lines of the answer.
    /// - Throws: If a field of the identity cannot be written.
    init(
        _ permit: consuming Permit,
        _ identity: IdentityLines?,
        _ given: JudgingContext,
        _ credentials: Credentials,
        _ host: HostEntry,
        as form: CheckForm,
        by profile: AuthorizationProfile,
        own: [[UInt8]]
    ) throws(IdentityRefusal) {
        self.answer = LocalAnswer(
            EndpointResponse(status: form.allowedStatus, fields: [("Cache-Control", "no-store")])
        )
        var lines: [UInt8] = []
        lines.reserveCapacity(1024)
        profile.fields.append(identity, to: &lines)
        if form.isOAuth2Proxy, let own = profile.oauth2Proxy {
            let rendered = try permit.session.map { session throws(IdentityRefusal) in
                try own.profile.render(session.session)
            }
            own.fields.append(rendered.map { IdentityLines(session: $0, assertion: nil) }, to: &lines)
        }
        lines += form.lines(profile.settings.cookiesOnSuccess ? own : own.filter { !CheckForm.isCookie($0) })
        if form.dialect == .extAuthz {
            Self.removeCredentials(of: given, permit.route, credentials, host, from: &lines)
        }
        self.lines = lines
    }

    /// What the proxy is told instead, although the request is permitted; nil: the permit is reported.
    ///
    /// - Parameters:
    ///   - bringsToken: Whether a transfer token is left in the query.
    ///   - bringsSession: Whether the answer has the cookie of a session that replaces the browser's.
    static func detour(
        bringsToken: Bool,
        bringsSession: Bool,
        _ given: JudgingContext,
        _ host: HostEntry,
        _ requestID: RequestID,
        by profile: AuthorizationProfile
    ) -> LocalAnswer? {
        // The other proxy would forward the URL with its token.
        if bringsToken { return .problem(.handoffNotNavigation, requestID: requestID) }
        guard bringsSession, !profile.settings.cookiesOnSuccess else { return nil }
        let target = String(decoding: given.head.target.bytes(in: given.base), as: UTF8.self)
        return .redirect(to: host.publicURL.description + target)
    }

    /// Tells Envoy which fields of the request the app must not get, and what is left of `Cookie`.
    private static func removeCredentials(
        of given: JudgingContext,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ host: HostEntry,
        from lines: inout [UInt8]
    ) {
        var removed: [String] = []
        if credentials.dropsAuthorization { removed.append("authorization") }
        if given.head.line(.sessionToken) != nil, !route.leavesSessionToken { removed.append("x-session-token") }
        if given.head.line(.dpop) != nil, route.ownsBearer { removed.append("dpop") }
        if RequestWriter.rewritesCookies(given.head, route, credentials) {
            let count = lines.count
            RequestWriter.appendCookies(
                given.head,
                given.base,
                route,
                given.configuration.ownNames.cookies(of: host),
                to: &lines
            )
            if lines.count == count { removed.append("cookie") }
        }
        if !removed.isEmpty { lines += "x-envoy-auth-headers-to-remove: \(removed.joined(separator: ", "))\r\n".utf8 }
    }
}
