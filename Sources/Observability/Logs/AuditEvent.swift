package import Vocabulary

/// A security event that an operator may need to prove later, such as a sign-in or a rejection. It contains public ids
/// and deliberately no tokens.
package struct AuditEvent: Sendable {
    /// The stable ids of events. The comments are shown in the guide AuditEvents.
    package enum Kind: String, Sendable, CaseIterable {
        /// `/authorize` answered a client without showing a page, because the browser had a session.
        ///
        /// - Codes: `ssa`, `sdelsa`.
        case authorizationGranted = "authorization.granted"
        /// `/authorize` could not answer a client without a page, or rejected the request.
        ///
        /// - Codes: `fsa`, `fdelsa`.
        case authorizationRefused = "authorization.refused"
        /// A session or token was presented from another device than the one it is bound to. With `dry_run`, it was not
        /// rejected for that.
        ///
        /// - Codes: `w`, or none.
        case bindingMismatch = "binding.mismatch"
        /// An operator changed a client at run time. The call is recorded as `operator.acted`.
        case clientChanged = "client.changed"
        /// A client was not notified of the end of a session: it refused the logout token or did not answer, or the
        /// gateway dropped the token. The client's own session may continue.
        ///
        /// - Codes: `w`.
        case clientLogoutFailed = "client.logout_failed"
        /// A code was redeemed again, possibly by a thief. The session and tokens that came from it were ended.
        ///
        /// - Codes: `feacft`, `fdeleacft`.
        case codeReplayed = "code.replayed"
        /// The settings were reloaded and are in use.
        case configReloaded = "config.reloaded"
        /// The settings could not be reloaded. The previous settings stay in use.
        case configReloadFailed = "config.reload_failed"
        /// A host with the user's session issued a ticket for another host.
        case hostTicketIssued = "host_ticket.issued"
        /// A ticket between hosts, or a request for one, was rejected.
        ///
        /// - Codes: `w`.
        case hostTicketRefused = "host_ticket.refused"
        /// A ticket was redeemed, and the host that requested it has a session.
        ///
        /// - Codes: `ssa`.
        case hostTicketUsed = "host_ticket.used"
        /// An operator's call was authorized. Recorded before the call is answered.
        case operatorActed = "operator.acted"
        /// An operator's call was rejected.
        case operatorRefused = "operator.refused"
        /// A refresh token was used again, possibly by a thief. The session and tokens that came from it were ended.
        ///
        /// - Codes: `fertft`, `fecte`.
        case refreshTokenReplayed = "refresh_token.replayed"
        /// A rule in dry run would have denied an act, such as a sign-in.
        case ruleDryRun = "rule.dry_run"
        /// Other sessions and tokens ended together with the session of this event.
        case sessionCascaded = "session.cascaded"
        /// A browser or an app was signed in.
        ///
        /// - Codes: `s`, `ssa`.
        case sessionCreated = "session.created"
        /// A request was rejected as a possible attack: for example, it came from another site, had two session
        /// cookies, or lacked the session's proof.
        ///
        /// - Codes: `w`.
        case sessionDenied = "session.denied"
        /// A session ended: by its user, a sign-in above the session limit, an operator, the provider, a change of the
        /// user list, or its lifetime.
        ///
        /// - Codes: `slo`, or none if its lifetime or a change of the user list ended it.
        case sessionEnded = "session.ended"
        /// The provider's answer to a renewal was lost, and its new tokens with it. The session continues.
        ///
        /// - Codes: `w`.
        case sessionRenewalFailed = "session.renewal_failed"
        /// The provider reported other claims of a user while a session was in use. `traits` has the names, no values.
        case sessionTraitsChanged = "session.traits_changed"
        /// A sign-in was rejected.
        ///
        /// - Codes: `f`, `fsa`.
        case signInFailed = "sign_in.failed"
        /// Most sentinels or primaries of Redis do not answer. The gateway neither reads nor writes.
        ///
        /// - Codes: `w`.
        case storeCutOff = "store.cut_off"
        /// Redis failed over or restarted. Transfer tokens from before are rejected.
        ///
        /// - Codes: `w`.
        case storePrimaryChanged = "store.primary_changed"
        /// Most sentinels or primaries answer again.
        case storeRejoined = "store.rejoined"
        /// A primary of Redis rejects writes. Sign-ins and transfer tokens get 503.
        ///
        /// - Codes: `w`.
        case storeWritesRefused = "store.writes_refused"
        /// A primary of Redis accepts writes again.
        case storeWritesTaken = "store.writes_taken"
        /// A client got tokens for a code, a refresh token, another token, or a social provider's credential.
        ///
        /// - Codes: `seacft`, `sdeleacft`, `sertft`, `secte`, `sens`.
        case tokenIssued = "token.issued"
        /// A client got no tokens, or could not revoke a token.
        ///
        /// - Codes: `feacft`, `fdeleacft`, `fertft`, `fecte`, `fens`, or none for a revocation.
        case tokenRefused = "token.refused"
        /// A client revoked a token.
        ///
        /// - Codes: `srrt`.
        case tokenRevoked = "token.revoked"
        /// A page asks the user whether a token may sign them in. The token is not used up yet.
        case transferTokenAsked = "transfer_token.asked"
        /// A session-transfer token was used up. The browser has a session of its user.
        ///
        /// - Codes: `s`, `ssa`, `sdel`.
        case transferTokenConsumed = "transfer_token.consumed"
        /// An app got a session-transfer token.
        ///
        /// - Codes: `sertft`.
        case transferTokenMinted = "transfer_token.minted"
        /// An app was denied a session-transfer token.
        ///
        /// - Codes: `fertft`.
        case transferTokenMintRefused = "transfer_token.mint_refused"
        /// A session-transfer token was rejected. The detail `burned` is `true` if the token is used up.
        ///
        /// - Codes: `w`.
        case transferTokenRejected = "transfer_token.rejected"
        /// A browser repeated the navigation that had used its token. The session continues.
        case transferTokenRepeated = "transfer_token.repeated"
        /// A used token was presented again, possibly by a thief.
        ///
        /// - Codes: `w`.
        case transferTokenReplayed = "transfer_token.replayed"

        /// True if any client can cause the event without limit.
        var canBeCausedByAnyone: Bool {
            switch self {
            case .authorizationRefused, .bindingMismatch, .hostTicketRefused, .operatorRefused, .sessionDenied,
                .signInFailed, .tokenRefused:
                true
            default: false
            }
        }
    }

    /// Auth0's log event codes.
    package enum Code: String, Sendable, CaseIterable {
        /// A session-transfer token was minted, or a refresh token was used; `mintFailed` if not. Auth0 distinguishes
        /// the two cases by the audience.
        case minted = "sertft"
        case mintFailed = "fertft"
        /// An authorization code was redeemed; `codeRefused` if not.
        case codeRedeemed = "seacft"
        case codeRefused = "feacft"
        /// A token was exchanged for another token (RFC 8693); `exchangeFailed` if not.
        case exchanged = "secte"
        case exchangeFailed = "fecte"
        /// A credential from a social provider's sign-in kit was exchanged; `socialRefused` if not.
        case socialExchanged = "sens"
        case socialRefused = "fens"
        /// A refresh token was revoked.
        case refreshTokenRevoked = "srrt"
        /// A sign-in succeeded; `signInFailed` if not.
        case signedIn = "s"
        case signInFailed = "f"
        /// A sign-in without asking the user succeeded; `silentSignInFailed` if not.
        case silentlySignedIn = "ssa"
        case silentSignInFailed = "fsa"
        /// A sign-in with a delegated transfer token succeeded: somebody acts for the user.
        case delegatedSignedIn = "sdel"
        /// A delegated session answered a client without asking its user; `delegatedSilentSignInFailed` if not.
        case delegatedSilentlySignedIn = "sdelsa"
        case delegatedSilentSignInFailed = "fdelsa"
        /// An authorization code of a delegated session was redeemed; `delegatedCodeRefused` if not.
        case delegatedCodeRedeemed = "sdeleacft"
        case delegatedCodeRefused = "fdeleacft"
        /// A sign-out succeeded.
        case loggedOut = "slo"
        /// A warning.
        case warning = "w"
    }

    package var kind: Kind
    package var code: Code?
    package var reason: Reason?
    /// Auth0's text for the event; `nil` if it has none.
    package var description: String?
    /// The requested audience, as Auth0 logs it for some events.
    package var audience: String?
    /// The subject (`Realm.subject`). The line shows it as the user's id and the provider's name.
    package var subject: String?
    /// A keyed hash of the identifier that was typed; `nil` if the sign-in had none.
    package var account: String?
    /// The session's public id.
    package var session: String?
    /// The fingerprint of the session's token.
    package var fingerprint: Fingerprint?
    /// The fingerprint of the single-use token or refresh-token family that the event is about.
    package var tokenFingerprint: Fingerprint?
    package var clientID: String?
    package var host: String?
    /// The address that sent this request. `asn` is its autonomous system.
    package var address: String?
    package var asn: UInt32?
    /// The country of `address` (ISO 3166-1), if known.
    package var country: String?
    /// The address that the token or session is bound to. `boundASN` is its autonomous system.
    package var boundAddress: String?
    package var boundASN: UInt32?
    /// The country of `boundAddress`.
    package var boundCountry: String?
    package var userAgent: String?
    package var requestID: String?
    /// True to write `details.triggered_by_session_transfer_token: true`, as Auth0 does for events caused by a transfer
    /// token.
    package var isTriggeredByTransferToken = false
    /// The name of the user's provider. The line shows it for a linked account, whose subject does not contain it.
    package var realm: String?
    package var details: [(String, String)]

    package init(
        _ kind: Kind,
        code: Code? = nil,
        reason: Reason? = nil,
        subject: String? = nil,
        session: String? = nil,
        fingerprint: Fingerprint? = nil,
        clientID: String? = nil,
        host: String? = nil,
        address: String? = nil,
        asn: UInt32? = nil,
        userAgent: String? = nil,
        requestID: String? = nil,
        details: [(String, String)] = []
    ) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.subject = subject
        self.session = session
        self.fingerprint = fingerprint
        self.clientID = clientID
        self.host = host
        self.address = address
        self.asn = asn
        self.userAgent = userAgent
        self.requestID = requestID
        self.details = details
    }
}

extension AuditEvent {
    /// Returns an event for other sessions that ended because this event's session ended.
    ///
    /// - Parameters:
    ///   - count: The number of other sessions.
    ///   - cause: Why this event's session ended.
    package func ofCascade(_ count: Int, by cause: String) -> AuditEvent {
        self.followed(by: .sessionCascaded, .sessionRevoked, [("ended_by", cause), ("sessions", String(count))])
    }

    /// Returns an event for a rule in dry run that would have rejected this event's act.
    ///
    /// - Parameter reason: The reason that the rejection would have had.
    package func ofDryRun(rule: String, reason: Reason?) -> AuditEvent {
        self.followed(by: .ruleDryRun, reason, [("rule", rule), ("dry_run", "true")])
    }

    private func followed(by kind: Kind, _ reason: Reason?, _ details: [(String, String)]) -> AuditEvent {
        var event = self
        event.kind = kind
        event.code = nil
        event.description = nil
        event.reason = reason
        event.details = details
        return event
    }
}
