import Endpoints
import Sessions
import Settings
import Vocabulary

/// The answer that allows another proxy's request, with the fields for the app. Creating the answer consumes a
/// `Permit`.
struct GrantedFields {
    let answer: LocalAnswer
    /// The field lines of the answer, each with its CRLF.
    let lines: [UInt8]

    /// - Parameters:
    ///   - identity: The lines about the user. `nil` without a session, or if the app may not learn the user.
    ///   - names: The names of the gateway's cookies and query parameter.
    ///   - own: The gateway's own field lines, such as cookies.
    /// - Throws: An error if an identity value cannot be sent in a field.
    init(
        _ permit: consuming Permit,
        _ identity: IdentityLines?,
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        on host: HostEntry,
        names: OwnNames,
        as form: CheckForm,
        by profile: AuthorizationProfile,
        own: [[UInt8]]
    ) throws(IdentityRefusal) {
        self.answer = LocalAnswer(EndpointResponse(status: form.allowedStatus, fields: [("Cache-Control", "no-store")]))
        var lines: [UInt8] = []
        lines.reserveCapacity(1024)
        profile.fields.append(identity, to: &lines, emptyOnes: form.hasEmptyFields)
        if form.isOAuth2Proxy, let own = profile.oauth2Proxy {
            let rendered = try permit.session.map { session throws(IdentityRefusal) in
                try own.profile.render(session.session, otherwise: permit.route.usesOtherEncoding)
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
                names.cookies(of: host),
                names.parameter,
                replacesAuthorization: profile.fields.replaceAuthorization,
                from: &lines
            )
        }
        self.lines = lines
    }

    /// Returns an answer to send instead of allowing the request. `nil` if the request can be allowed.
    ///
    /// - Parameters:
    ///   - bringsToken: True if the query still contains a transfer token.
    ///   - bringsSession: True if the answer sets the cookie of a new session.
    ///   - names: The names of the gateway's cookies and query parameter.
    static func detour(
        bringsToken: Bool,
        setsSession: Bool,
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ requestID: RequestID,
        names: OwnNames,
        as form: CheckForm,
        by profile: AuthorizationProfile
    ) -> LocalAnswer? {
        // The proxy would forward the token to the app, so the client must repeat the request without it.
        if bringsToken {
            guard let status = form.redirectStatus(for: head) else {
                return .problem(.handoffNotNavigation, requestID: requestID)
            }
            let target = head.target(in: base, without: names.parameter)
            return .redirect(to: host.publicURL.description + target, status: status)
        }
        guard setsSession, !profile.settings.cookiesOnSuccess else { return nil }
        let target = String(decoding: head.target.bytes(in: base), as: UTF8.self)
        return .redirect(to: host.publicURL.description + target)
    }

    /// Tells Envoy which fields to remove, and replaces `Cookie` as for an app (`RequestWriter.rewritesCookies`).
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
        // Envoy removes fields last, so it would also remove the `Authorization` that the gateway sets.
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
