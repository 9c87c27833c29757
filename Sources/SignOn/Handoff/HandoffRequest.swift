package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// A session-transfer token as a browser presented it.
package struct HandoffRequest: Sendable {
    /// The bytes of the token, not yet judged.
    package var token: [UInt8]
    package var transport: HandoffTransport
    /// The public authority (`host[:port]`) of the request. The web session will be valid only there.
    package var authority: String
    /// The realms of the host.
    package var realms: Realms
    /// The consuming web client of the route.
    package var client: ClientSettings
    /// The device that presents the token. If its ASN is not set, the gateway looks it up.
    package var device: DeviceFacts
    /// The certificate that the client presents in the TLS handshake, for rules. `nil` if no certificate is presented.
    package var certificate: ClientCertificate?
    /// The browser's live session on this host, from the gateway or the provider's own cookie. `nil` without a session.
    package var existing: (key: RecordKey, session: Session)?
    /// The token with which the browser presents the existing session. A new token replaces it if a transfer token of
    /// the session's user is consumed and the session stays. `nil` if the session keeps its token.
    package var existingToken: PresentedToken?
    /// Whether the existing session meets the route's requirements. If so, its user's token may leave the session in
    /// place.
    package var existingSuffices = true
    /// Whether the new session replaces and ends the existing session of its user (`endable`).
    package var replacesExisting = true
    /// Whether another user's existing session ends (`endable`). A link on another site must not sign a user out.
    package var endsOtherUser = true
    /// The organization (`org_id` or `org_name`) that the client requests. `nil` if any user may sign in.
    package var organization: String?
    /// The mark of the account last used in this browser on this host (`TokenAuthority.accountMark`). `nil` if unknown.
    package var lastAccount: Secret?
    /// The proof of the user's confirmation (`TokenAuthority.confirmationMark`). `nil` if the user was not asked.
    package var confirmationMark: [UInt8]?
    /// Identifies an attempt and its repetitions: a new secret, or the secret that the browser repeats after a 503.
    package var attempt: AttemptSecret
    /// Whether the attempt's secret is new. If so, the browser cannot have made this attempt before.
    package var isFirstAttempt = false
    package var requestID: String

    package init(
        token: [UInt8],
        transport: HandoffTransport,
        authority: String,
        realms: Realms = .default,
        client: ClientSettings,
        device: DeviceFacts,
        existing: (key: RecordKey, session: Session)?,
        attempt: AttemptSecret,
        requestID: String
    ) {
        self.token = token
        self.transport = transport
        self.authority = authority
        self.realms = realms
        self.client = client
        self.device = device
        self.existing = existing
        self.attempt = attempt
        self.requestID = requestID
    }

    /// The existing session if it can end here. A session of the provider's own cookie stays: unless the provider has
    /// ended this session, its sign-in page would send the browser straight back with the session.
    var endable: (key: RecordKey, session: Session)? { self.existing.flatMap { $0.key.kind == .session ? $0 : nil } }
}

/// The result of presenting a session-transfer token.
package enum HandoffOutcome: Sendable {
    /// The browser gets a new web session. `replaces` is this user's earlier session in the browser. It has ended.
    case signedIn(token: Secret, session: Session, replaces: RecordKey?)
    /// The browser keeps its session and its session token. Either the transfer token made the session, or the token is
    /// used up and would have made a worse session for this user. The transfer token is removed, and nothing else
    /// happens.
    ///
    /// - Parameter isRepeated: True if an earlier attempt of this browser used up the transfer token.
    case alreadySignedIn(isRepeated: Bool)
    /// The browser keeps its session and gets a new session token for it (`SuccessorToken`).
    ///
    /// - Parameter isRepeated: True if an earlier attempt of this browser used up the transfer token.
    case renewed(token: Secret, session: Session, isRepeated: Bool)
    /// The token does not sign the user in. The reason is for logs only. `endsExisting` is true if the browser's
    /// session of another user has ended.
    case refused(Reason, endsExisting: Bool)
    /// The token is for an account that this browser did not use last. The user is asked, and nothing has changed.
    case unconfirmed
    /// A page informs the user, and the browser's session stays. Either a rule denied the token (`rule.denied`) and the
    /// token is burned, or a delegated token met a browser that is signed in (`handoff.already_signed_in`).
    ///
    /// - Parameter text: The text for the user. `nil` if the gateway's own text is shown.
    case denied(Reason, text: String?)
    /// The store could not answer (503), so it may be unknown whether the token was used. Repeating the request with
    /// the same `HandoffRequest.attempt` completes the attempt.
    case unavailable(StoreError)
}

/// The result of presenting a session-transfer token, with the device binding that was checked on the way.
package struct JudgedHandoff: Sendable {
    package let outcome: HandoffOutcome
    /// The binding check for the access log. `nil` if no binding was checked.
    package let binding: JudgedBinding?

    package init(_ outcome: HandoffOutcome, binding: JudgedBinding? = nil) {
        self.outcome = outcome
        self.binding = binding
    }

    /// - Parameter record: The audit record of the outcome.
    init(_ outcome: HandoffOutcome, _ record: AuditRecord) {
        self.init(outcome, binding: record.judgedBinding)
    }
}

extension HandoffOutcome {
    /// The name of the outcome in audit records, metrics, and the access log.
    package var act: HandoffAct {
        switch self {
        case .signedIn: .signedIn
        case .alreadySignedIn(let isRepeated), .renewed(_, _, let isRepeated): isRepeated ? .repeated : .sessionStays
        case .refused(let reason, _), .denied(let reason, _): .refused(reason)
        case .unconfirmed: .asked(.handoffOtherAccount)
        case .unavailable: .unavailable
        }
    }

    /// Returns the refusal for a reason: with a page (`denied`), or without informing the user (`refused`).
    static func refusal(_ reason: Reason, text: String?, endsExisting: Bool) -> HandoffOutcome {
        switch reason {
        case .ruleDenied, .handoffAlreadySignedIn: .denied(reason, text: text)
        default: .refused(reason, endsExisting: endsExisting)
        }
    }
}
