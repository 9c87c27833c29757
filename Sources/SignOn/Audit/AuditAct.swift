package import Observability
package import Sessions
package import Vocabulary

/// An act for the audit stream and the metrics, done or refused.
package enum AuditAct: Sendable, Equatable {
    /// An event of a session that a browser or a native app presents.
    case session(SessionAct, Session.Kind)
    case handoff(HandoffAct)
    case ticket(TicketAct)
    /// - Parameter refusal: Why the act was refused. `nil` if it was done.
    case token(TokenAct, refusal: Reason? = nil)

    /// The reason of a refusal or of a question to the user. `nil` if the act is neither.
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

/// A sign-in, a sign-out, or a refusal of either.
package enum SessionAct: Sendable, Equatable {
    case signedIn
    /// The rules accepted a sign-in whose session begins later. That session gets its own record.
    case judged
    case refused(Reason)
    case signedOut
    /// The gateway denied a request that another site may have caused, or cookies that another site may have planted.
    case denied(Reason)
}

/// An event of a session-transfer token.
package enum HandoffAct: Sendable, Equatable {
    case minted
    case mintRefused(Reason)
    /// The store could not keep the token, and nothing was handed out.
    case mintUnavailable
    /// The user is asked to confirm the token. The token is unchanged. The reason is `nil` if users are always asked.
    case asked(Reason?)
    case signedIn
    /// The token is used up. The browser keeps its own, better session of the token's user.
    case sessionStays
    /// The browser that the token signed in, or that used the token up, repeats its navigation.
    case repeated
    case refused(Reason)
    /// The store could not answer, and the token is unchanged.
    case unavailable

    /// The result under which metrics count the act.
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
    /// The ticket is used up, and the browser keeps its own session of the ticket's sign-in.
    case sessionStays
    case refused(Reason)
    /// The store could not answer.
    case unavailable

    /// The result under which metrics count the act.
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

/// An action of an OAuth client, or the grant that the client presents.
package enum TokenAct: String, Sendable, CaseIterable {
    case redeemed = "authorization_code"
    case refreshed = "refresh_token"
    case exchanged = "token_exchange"
    case socialExchanged = "native_social"
    case revoked
    /// The browser's own session answered an authorization request without asking the user.
    case authorized = "authorization_request"
}
