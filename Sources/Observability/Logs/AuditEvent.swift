package import Vocabulary

/// An event that an operator may need to prove later: who was signed in and how, and who was rejected and why.
///
/// Deliberately, it has no member for a token, only for public ids.
package struct AuditEvent: Sendable {
    /// The stable id of the event. Each comment is the event's row in the guide AuditEvents.
    package enum Kind: String, Sendable, CaseIterable {
        /// `/authorize` answered a client from the browser's own session, without a page.
        ///
        /// - Codes: `ssa`, `sdelsa`.
        case authorizationGranted = "authorization.granted"
        /// `/authorize` could not answer a client without a page, or was refused.
        ///
        /// - Codes: `fsa`, `fdelsa`.
        case authorizationRefused = "authorization.refused"
        /// A session or token was presented from another device than its own; with `dry_run` it was let pass.
        ///
        /// - Codes: `w`, none in a dry run.
        case bindingMismatch = "binding.mismatch"
        /// An operator changed a client at run time. The call itself is `operator.acted`.
        case clientChanged = "client.changed"
        /// A code was redeemed again: a possible theft, so what came of it ended.
        ///
        /// - Codes: `feacft`, `fdeleacft`.
        case codeReplayed = "code.replayed"
        /// The settings were read again and are in use.
        case configReloaded = "config.reloaded"
        /// The settings could not be read again; the former ones stay.
        case configReloadFailed = "config.reload_failed"
        /// A host with the user's session gave a ticket for another host.
        case hostTicketIssued = "host_ticket.issued"
        /// A ticket between hosts was refused.
        ///
        /// - Codes: `w`.
        case hostTicketRefused = "host_ticket.refused"
        /// A ticket made a session on the host that asked for it.
        ///
        /// - Codes: `ssa`.
        case hostTicketUsed = "host_ticket.used"
        /// An operator's call was let in, before it was answered.
        case operatorActed = "operator.acted"
        /// An operator's call was refused.
        case operatorRefused = "operator.refused"
        /// A refresh token was used again: a possible theft, so what came of it ended.
        ///
        /// - Codes: `fertft`, `fecte`.
        case refreshTokenReplayed = "refresh_token.replayed"
        /// A rule in dry run would have refused the act that the next line records.
        case ruleDryRun = "rule.dry_run"
        /// Other sessions and tokens ended with the one that this event names.
        case sessionCascaded = "session.cascaded"
        /// A browser or an app was signed in.
        ///
        /// - Codes: `s`, `ssa`.
        case sessionCreated = "session.created"
        /// A request with a session was refused as a possible attack: from another site, or with two session cookies.
        ///
        /// - Codes: `w`.
        case sessionDenied = "session.denied"
        /// A session ended: by its user, an operator, the provider, a change of the users, or its own time.
        ///
        /// - Codes: `slo`, none where nobody signed out.
        case sessionEnded = "session.ended"
        /// The provider's answer to a renewal was lost, and with it its tokens; the session goes on.
        ///
        /// - Codes: `w`.
        case sessionRenewalFailed = "session.renewal_failed"
        /// A sign-in was refused.
        ///
        /// - Codes: `f`, `fsa`.
        case signInFailed = "sign_in.failed"
        /// Most sentinels or primaries of Redis are silent: nothing is read or written.
        ///
        /// - Codes: `w`.
        case storeCutOff = "store.cut_off"
        /// Redis failed over or restarted: transfer tokens from before are refused.
        ///
        /// - Codes: `w`.
        case storePrimaryChanged = "store.primary_changed"
        /// Most sentinels or primaries answer again.
        case storeRejoined = "store.rejoined"
        /// A primary of Redis refuses writes: sign-ins and transfer tokens get 503.
        ///
        /// - Codes: `w`.
        case storeWritesRefused = "store.writes_refused"
        /// It takes writes again.
        case storeWritesTaken = "store.writes_taken"
        /// A client got tokens: for a code, a refresh token, another token, or what a social provider's kit gave.
        ///
        /// - Codes: `seacft`, `sdeleacft`, `sertft`, `secte`, `sens`.
        case tokenIssued = "token.issued"
        /// A client got no tokens.
        ///
        /// - Codes: `feacft`, `fdeleacft`, `fertft`, `fecte`, `fens`, none for a revocation.
        case tokenRefused = "token.refused"
        /// A client revoked a token.
        ///
        /// - Codes: `srrt`.
        case tokenRevoked = "token.revoked"
        /// A page asks the user whether to be signed in by a link's token; nothing is used up yet.
        case transferTokenAsked = "transfer_token.asked"
        /// A session-transfer token signed a browser in, and is used up.
        ///
        /// - Codes: `s`, `ssa`, `sdel`.
        case transferTokenConsumed = "transfer_token.consumed"
        /// An app got a session-transfer token.
        ///
        /// - Codes: `sertft`.
        case transferTokenMinted = "transfer_token.minted"
        /// An app got none.
        ///
        /// - Codes: `fertft`.
        case transferTokenMintRefused = "transfer_token.mint_refused"
        /// A session-transfer token was refused; `burned` says that it is used up.
        ///
        /// - Codes: `w`.
        case transferTokenRejected = "transfer_token.rejected"
        /// A browser repeated the navigation that had used its token; its session stays.
        case transferTokenRepeated = "transfer_token.repeated"
        /// A used token came again from elsewhere: a possible theft.
        ///
        /// - Codes: `w`.
        case transferTokenReplayed = "transfer_token.replayed"

        /// Whether any client can cause the event without limit, by being rejected.
        var isOfStrangers: Bool {
            switch self {
            case .authorizationRefused, .bindingMismatch, .hostTicketRefused, .operatorRefused, .sessionDenied,
                .signInFailed, .tokenRefused:
                true
            default: false
            }
        }
    }

    /// Auth0's log event codes, for tools that read them.
    package enum Code: String, Sendable, CaseIterable {
        /// A session-transfer token was minted or not, or a refresh token was used or not. Auth0 distinguishes the
        /// cases by the audience.
        case minted = "sertft"
        case mintFailed = "fertft"
        /// An authorization code was redeemed, or not.
        case codeRedeemed = "seacft"
        case codeRefused = "feacft"
        /// A token was exchanged for another one (RFC 8693), or not.
        case exchanged = "secte"
        case exchangeFailed = "fecte"
        /// A credential from a social provider's kit in an app was exchanged, or not.
        case socialExchanged = "sens"
        case socialRefused = "fens"
        /// A refresh token was revoked.
        case refreshTokenRevoked = "srrt"
        /// A sign-in succeeded, or not.
        case signedIn = "s"
        case signInFailed = "f"
        /// A sign-in without asking the user succeeded, or not.
        case silentlySignedIn = "ssa"
        case silentSignInFailed = "fsa"
        /// A sign-in with a delegated transfer token succeeded.
        case delegatedSignedIn = "sdel"
        /// A session in which somebody acts for its user answered a client without asking, or could not.
        case delegatedSilentlySignedIn = "sdelsa"
        case delegatedSilentSignInFailed = "fdelsa"
        /// An authorization code of a delegated session was redeemed, or not.
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
    /// Auth0's sentence for the event, if it has one.
    package var description: String?
    /// The requested audience, which filters for Auth0's events expect in some events.
    package var audience: String?
    /// The user's name in the store. The line has the id, and the provider's name unless it is the default.
    package var subject: String?
    /// The account that was tried, if no user has signed in: a keyed hash of the typed identifier.
    package var account: String?
    /// The session's public id.
    package var session: String?
    /// The fingerprint of the session's token.
    package var fingerprint: Fingerprint?
    /// The fingerprint of the single-use token, or of the family of refresh tokens, that the event is about.
    package var tokenFingerprint: Fingerprint?
    package var clientID: String?
    package var host: String?
    /// The client's address in this request; `asn` is its network.
    package var address: String?
    package var asn: UInt32?
    /// The country of `address` (ISO 3166-1), if it is looked up and known.
    package var country: String?
    /// The address that the token or session is bound to; `boundASN` is its network.
    package var boundAddress: String?
    package var boundASN: UInt32?
    /// The country of `boundAddress`.
    package var boundCountry: String?
    package var userAgent: String?
    package var requestID: String?
    /// Whether to write `details.triggered_by_session_transfer_token: true`, as Auth0 does for events that a transfer
    /// token caused.
    package var isTriggeredByTransferToken = false
    /// The name of the user's provider in the settings; `nil` if the subject contains it.
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
    /// Returns the event for the sessions that ended together with the session of this event.
    ///
    /// - Parameters:
    ///   - count: The number of those sessions.
    ///   - cause: The act that ended this event's session.
    package func ofCascade(_ count: Int, by cause: String) -> AuditEvent {
        self.followed(by: .sessionCascaded, .sessionRevoked, [("ended_by", cause), ("sessions", String(count))])
    }

    /// Returns the event for a rule in dry run that would have rejected the act of this event.
    ///
    /// - Parameter reason: The reason of the rejection.
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
