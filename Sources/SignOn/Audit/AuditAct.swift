package import Observability
package import Sessions
package import Vocabulary

/// What was done, or refused.
package enum AuditAct: Sendable, Equatable {
    /// Something happened to a session that a browser or a native app presents.
    case session(SessionAct, Session.Kind)
    case handoff(HandoffAct)
    case ticket(TicketAct)
    /// - Parameter refusal: Why it was not done; nil if it was.
    case token(TokenAct, refusal: Reason? = nil)

    /// The reason of a refusal, or of a question to the user; nil if it was neither.
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

/// A sign-in, a sign-out or a refusal of one.
package enum SessionAct: Sendable, Equatable {
    case signedIn
    /// The rules let a sign-in pass whose session begins later, with a record of its own.
    case judged
    case refused(Reason)
    case signedOut
    /// A request that another site may have caused, or cookies that another site may have planted.
    case denied(Reason)
}

/// What happened to a session-transfer token.
package enum HandoffAct: Sendable, Equatable {
    case minted
    case mintRefused(Reason)
    /// The store could not keep the token; nothing was handed out.
    case mintUnavailable
    /// The user is asked to confirm it; the token is unchanged. The reason says why; nil: users always are.
    case asked(Reason?)
    case signedIn
    /// The token is used up, and the browser keeps its own session of the same user because it is better.
    case sessionStays
    /// The browser that the token signed in, or that used it up, repeats its navigation.
    case repeated
    case refused(Reason)
    /// The store could not answer; the token is unchanged.
    case unavailable

    /// The result under which it is counted.
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

/// What happened to a ticket between two hosts.
package enum TicketAct: Sendable, Equatable {
    case issued
    /// A session was made.
    case used
    /// The ticket is used up, and the browser keeps its own session of the same sign-in.
    case sessionStays
    case refused(Reason)
    /// The store could not answer.
    case unavailable

    /// The result under which it is counted.
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

/// What an OAuth client presented, or did.
package enum TokenAct: String, Sendable, CaseIterable {
    case redeemed = "authorization_code"
    case refreshed = "refresh_token"
    case exchanged = "token_exchange"
    case socialExchanged = "native_social"
    case revoked
    /// The browser's own session answers an authorization request, without asking the user.
    case authorized = "authorization_request"
}
