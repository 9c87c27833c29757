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
    ///   - cookies: The names of the gateway's cookies on the host.
    ///   - parameter: The query parameter that may carry a transfer token.
    ///   - own: The gateway's own lines of the answer.
    /// - Throws: If a field of the identity cannot be written.
    init(
        _ permit: consuming Permit,
        _ identity: IdentityLines?,
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        cookies: OwnCookies,
        parameter: HandoffParameter,
        as form: CheckForm,
        by profile: AuthorizationProfile,
        own: [[UInt8]]
    ) throws(IdentityRefusal) {
        self.answer = LocalAnswer(
            EndpointResponse(status: form.allowedStatus, fields: [("Cache-Control", "no-store")])
        )
        var lines: [UInt8] = []
        lines.reserveCapacity(1024)
        profile.fields.append(identity, to: &lines, emptyOnes: form.hasEmptyFields)
        if form.isOAuth2Proxy, let own = profile.oauth2Proxy {
            let rendered = try permit.session.map { session throws(IdentityRefusal) in
                try own.profile.render(session.session, otherwise: permit.route.encodesOtherwise)
            }
            let shown = rendered.map { IdentityLines(session: $0, assertion: nil) }
            own.fields.append(shown, to: &lines, emptyOnes: form.hasEmptyFields)
        }
        lines += form.lines(profile.settings.cookiesOnSuccess ? own : own.filter { !CheckForm.isCookie($0) })
        if form.dialect == .extAuthz {
            Self.removeCredentials(
                of: head,
                base,
                permit.route,
                credentials,
                cookies,
                parameter,
                replacesAuthorization: profile.fields.replaceAuthorization,
                from: &lines
            )
        }
        self.lines = lines
    }

    /// What the proxy is told instead, although the request is permitted; nil: the permit is reported.
    ///
    /// - Parameters:
    ///   - bringsToken: Whether a transfer token is left in the query.
    ///   - bringsSession: Whether the answer has the cookie of a session that replaces the browser's.
    ///   - parameter: The query parameter that may carry a transfer token.
    static func detour(
        bringsToken: Bool,
        bringsSession: Bool,
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ requestID: RequestID,
        as form: CheckForm,
        parameter: HandoffParameter,
        by profile: AuthorizationProfile
    ) -> LocalAnswer? {
        // The other proxy would forward the URL with its token, which the gateway itself removes.
        if bringsToken {
            guard let status = form.redirectStatus(for: head) else {
                return .problem(.handoffNotNavigation, requestID: requestID)
            }
            let target = head.target(in: base, without: parameter)
            return .redirect(to: host.publicURL.description + target, status: status)
        }
        guard bringsSession, !profile.settings.cookiesOnSuccess else { return nil }
        let target = String(decoding: head.target.bytes(in: base), as: UTF8.self)
        return .redirect(to: host.publicURL.description + target)
    }

    /// Tells Envoy which fields of the request the app must not get, and what is left of `Cookie`.
    private static func removeCredentials(
        of head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ cookies: OwnCookies,
        _ parameter: HandoffParameter,
        replacesAuthorization: Bool,
        from lines: inout [UInt8]
    ) {
        var removed: [String] = []
        // Envoy removes after it sets.
        if credentials.dropsAuthorization, !replacesAuthorization { removed.append("authorization") }
        if head.line(.sessionToken) != nil, !route.leavesSessionToken { removed.append("x-session-token") }
        if head.line(.dpop) != nil, route.ownsBearer { removed.append("dpop") }
        if RequestWriter.shortensReferer(head, base, route, parameter) { removed.append("referer") }
        if RequestWriter.rewritesCookies(head, route, credentials) {
            let count = lines.count
            RequestWriter.appendCookies(head, base, route, cookies, to: &lines)
            if lines.count == count { removed.append("cookie") }
        }
        if !removed.isEmpty { lines += "x-envoy-auth-headers-to-remove: \(removed.joined(separator: ", "))\r\n".utf8 }
    }
}
