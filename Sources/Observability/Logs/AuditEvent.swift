package import Vocabulary

/// Something that the operator wants to prove later: who got in, by what, and who was refused and why.
///
/// There is no member for a token on purpose: public ids only.
package struct AuditEvent: Sendable {
    /// The stable id of what happened.
    package enum Kind: String, Sendable, CaseIterable {
        case bindingMismatch = "binding.mismatch"
        case configReloaded = "config.reloaded"
        case configReloadFailed = "config.reload_failed"
        case sessionCreated = "session.created"
        case sessionDenied = "session.denied"
        case sessionEnded = "session.ended"
        case signInFailed = "sign_in.failed"
        case storeCutOff = "store.cut_off"
        case storePrimaryChanged = "store.primary_changed"
        case storeRejoined = "store.rejoined"
        case storeWritesRefused = "store.writes_refused"
        case storeWritesTaken = "store.writes_taken"
        case transferTokenConsumed = "transfer_token.consumed"
        case transferTokenMinted = "transfer_token.minted"
        case transferTokenMintRefused = "transfer_token.mint_refused"
        case transferTokenRejected = "transfer_token.rejected"
        case transferTokenRepeated = "transfer_token.repeated"
        case transferTokenReplayed = "transfer_token.replayed"

        /// Whether anybody can cause it as often as they like, by being refused.
        var isOfStrangers: Bool {
            switch self {
            case .bindingMismatch, .sessionDenied, .signInFailed: true
            default: false
            }
        }
    }

    /// Auth0's log event codes, for the tools that read those.
    package enum Code: String, Sendable, CaseIterable {
        /// A session-transfer token was minted, or not.
        case minted = "sertft"
        case mintFailed = "fertft"
        /// A sign-in worked, or not.
        case signedIn = "s"
        case signInFailed = "f"
        /// A sign-in without asking the user worked, or not.
        case silentlySignedIn = "ssa"
        case silentSignInFailed = "fsa"
        /// A logout worked.
        case loggedOut = "slo"
        /// A warning.
        case warning = "w"
    }

    package var kind: Kind
    package var code: Code?
    package var reason: Reason?
    /// Auth0's sentence for what happened, where it has one.
    package var description: String?
    /// The audience that was asked for, where filters for Auth0's events look for it.
    package var audience: String?
    /// The user's id.
    package var subject: String?
    /// The account that was tried, where no user has proven to be its own: a keyed hash of what was typed.
    package var account: String?
    /// The session's public id.
    package var session: String?
    package var clientID: String?
    package var host: String?
    /// The client's address and network in this request.
    package var address: String?
    package var asn: UInt32?
    /// The address and network that the token or session is bound to.
    package var boundAddress: String?
    package var boundASN: UInt32?
    package var userAgent: String?
    package var requestID: String?
    /// Writes `details.triggered_by_session_transfer_token: true`, as Auth0 does on what a transfer token caused.
    package var isTriggeredByTransferToken = false
    package var details: [(String, String)]

    package init(
        _ kind: Kind,
        code: Code? = nil,
        reason: Reason? = nil,
        subject: String? = nil,
        session: String? = nil,
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
        self.clientID = clientID
        self.host = host
        self.address = address
        self.asn = asn
        self.userAgent = userAgent
        self.requestID = requestID
        self.details = details
    }
}
