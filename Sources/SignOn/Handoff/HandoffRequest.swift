package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// A session-transfer token as a browser presented it.
package struct HandoffRequest: Sendable {
    /// The bytes of the token, not yet judged.
    package var token: [UInt8]
    package var transport: HandoffTransport
    /// The public authority (`host[:port]`) that received the request. The new web session is valid only there.
    package var authority: String
    /// The realms of the host.
    package var realms: Realms
    /// The web client of the requested route.
    package var client: ClientSettings
    /// The device that presents the token. A missing ASN is looked up.
    package var device: DeviceFacts
    /// The certificate that the client presents in the TLS handshake, for rules. `nil` if no certificate is presented.
    package var certificate: ClientCertificate?
    /// The browser's live session on this host, from the gateway's cookie or the provider's. `nil` if there is none.
    package var existing: (key: RecordKey, session: Session)?
    /// The session token that the browser presented. If the browser keeps its session, a new session token replaces it.
    /// `nil` if it must not be replaced.
    package var existingToken: PresentedToken?
    /// Whether the existing session meets the route's requirements. If false, the token always creates a new session.
    package var mayKeepSession = true
    /// Whether the new session ends the user's existing session (`endable`).
    package var replacesExisting = true
    /// Whether the token ends another user's session (`endable`). False if another site may have caused the request.
    package var endsOtherUser = true
    /// The organization (`org_id` or `org_name`) that the client requests. `nil` if any user may sign in.
    package var organization: String?
    /// The browser's mark of the account that it used last on this host (`TokenAuthority.accountMark`). `nil` if
    /// unknown.
    package var lastAccount: Secret?
    /// The proof of the user's confirmation (`TokenAuthority.confirmationMark`). `nil` if the user was not asked.
    package var confirmationMark: [UInt8]?
    /// The secret of the attempt. A repetition after a lost answer has the secret of the first attempt.
    package var attempt: AttemptSecret
    /// Whether the secret of the attempt is new, so that the request is not a repetition.
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

    /// The existing session if the gateway can end it. A session from the provider's own cookie cannot end here,
    /// because the provider would sign the browser in again at once.
    var endable: (key: RecordKey, session: Session)? { self.existing.flatMap { $0.key.kind == .session ? $0 : nil } }
}

/// The result of presenting a session-transfer token.
package enum HandoffOutcome: Sendable {
    /// The browser gets a new web session. The user's earlier session `replaces` has ended.
    case signedIn(token: Secret, session: Session, replaces: RecordKey?)
    /// The browser keeps its session and its session token. The transfer token made that session, or was used up
    /// without making a new one.
    ///
    /// - Parameter isRepeated: True if an earlier attempt of this browser used up the transfer token.
    case alreadySignedIn(isRepeated: Bool)
    /// The browser keeps its session and gets a new session token for it (`SuccessorToken`).
    ///
    /// - Parameter isRepeated: True if an earlier attempt of this browser used up the transfer token.
    case renewed(token: Secret, session: Session, isRepeated: Bool)
    /// The token does not sign the user in. Only logs show the reason. `endsExisting` is true if another user's session
    /// has ended.
    case refused(Reason, endsExisting: Bool)
    /// The token is for another account than the browser's last. The user must confirm it. Nothing has changed.
    case unconfirmed
    /// The token is refused with a page for the user: by a rule (`rule.denied`), or because a delegated token was
    /// presented in a browser with a session (`handoff.already_signed_in`).
    ///
    /// - Parameter text: The rule's text for the user. `nil` to show the gateway's own text.
    case denied(Reason, text: String?)
    /// The store could not answer, or the audit stream is full. The token may have been used. If the store's answer was
    /// lost, repeating the request with the same `HandoffRequest.attempt` completes the attempt.
    case unavailable(StoreError)
}

/// The outcome, and the result of the binding check.
package struct JudgedHandoff: Sendable {
    package let outcome: HandoffOutcome
    /// The result of the binding check, for the access log. `nil` if no binding was checked.
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

    /// Returns the outcome for a refusal: `denied` if the user gets a page about it, otherwise `refused`.
    static func refusal(_ reason: Reason, text: String?, endsExisting: Bool) -> HandoffOutcome {
        switch reason {
        case .ruleDenied, .handoffAlreadySignedIn: .denied(reason, text: text)
        default: .refused(reason, endsExisting: endsExisting)
        }
    }
}
