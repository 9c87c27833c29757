package import Observability
package import Sessions
package import Vocabulary

/// An event of sign-on for the audit stream and the metrics.
package enum AuditAct: Sendable, Equatable {
    /// An event of a browser session or of a native session.
    case session(SessionAct, Session.Kind)
    case handoff(HandoffAct)
    case ticket(TicketAct)
    /// - Parameter refusal: The reason for the refusal. `nil` if the act succeeded.
    case token(TokenAct, refusal: Reason? = nil)

    /// The reason for a refusal, or for asking the user to confirm. `nil` for other acts.
    package var reason: Reason? {
        switch self {
        case .session(.refused(let reason), _), .session(.denied(let reason), _), .handoff(.mintRefused(let reason)),
            .handoff(.refused(let reason)), .ticket(.refused(let reason)):
            reason
        case .handoff(.asked(let reason)), .token(_, refusal: let reason): reason
        case .session, .handoff, .ticket: nil
        }
    }
}

/// A sign-in, a sign-out, or a request that was refused.
package enum SessionAct: Sendable, Equatable {
    case signedIn
    /// The rules accepted a sign-in. Its session begins later and gets its own record.
    case judged
    case refused(Reason)
    case signedOut
    /// A request was denied: cross-site, with ambiguous cookies, with an invalid logout token, or with replayed codes.
    case denied(Reason)
}

/// An event of a session-transfer token.
package enum HandoffAct: Sendable, Equatable {
    case minted
    case mintRefused(Reason)
    /// The store could not save the token. The client got an error.
    case mintUnavailable
    /// The user is asked to confirm the token. The reason is `nil` if the settings always ask.
    case asked(Reason?)
    case signedIn
    /// The token was used up, but the browser kept its existing session of the token's user.
    case sessionStays
    /// The browser repeated a navigation whose token it had already used up.
    case repeated
    case refused(Reason)
    /// The store did not answer.
    case unavailable

    /// The result label of the act in the metrics.
    package var result: TransferTokenResult {
        switch self {
        case .minted: .minted
        case .asked: .asked
        case .signedIn, .sessionStays: .consumed
        case .repeated: .repeated
        case .mintUnavailable, .unavailable: .storeError
        case .refused(.handoffReplayed): .replayed
        case .refused(.handoffExpired): .expired
        case .refused(.handoffQuarantined): .quarantined
        case .refused(.handoffMalformed), .refused(.handoffUnknown), .refused(.handoffBurned),
            .refused(.credentialOtherKey):
            .invalid
        case .refused(.bindingIPMismatch), .refused(.bindingASNMismatch), .refused(.bindingASNUnknown):
            .bindingMismatch
        case .mintRefused(.handoffThrottled): .throttled
        case .refused, .mintRefused: .refused
        }
    }
}

/// An event of a ticket between two hosts.
package enum TicketAct: Sendable, Equatable {
    case issued
    /// The ticket created a session.
    case used
    /// The ticket was used up, but the browser kept its existing session from the ticket's sign-in.
    case sessionStays
    case refused(Reason)
    /// The store could not answer.
    case unavailable

    /// The result label of the act in the metrics.
    var result: HostTicketResult {
        switch self {
        case .issued: .issued
        case .used: .used
        case .sessionStays: .repeated
        case .unavailable: .storeError
        case .refused(.ticketReplayed): .replayed
        case .refused(.ticketQuarantined): .quarantined
        case .refused(.ticketThrottled): .throttled
        case .refused: .refused
        }
    }
}

/// A request of an OAuth client, named in metrics and audit records by its grant type or kind.
package enum TokenAct: String, Sendable, CaseIterable {
    case redeemed = "authorization_code"
    case refreshed = "refresh_token"
    case exchanged = "token_exchange"
    case socialExchanged = "native_social"
    case revoked
    /// The browser's session answered an authorization request without asking the user.
    case authorized = "authorization_request"
}
