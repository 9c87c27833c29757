package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// A session-transfer token as a browser presented it.
package struct HandoffRequest: Sendable {
    /// The token's bytes, not judged yet.
    package var token: [UInt8]
    package var transport: HandoffTransport
    /// The public authority (`host[:port]`) of the request: the web session will be valid only there.
    package var authority: String
    /// Whose host it is.
    package var realms: Realms
    /// The consuming web client of the route.
    package var client: ClientSettings
    /// The device that presents it; its ASN is looked up if it is not set.
    package var device: DeviceFacts
    /// What the client has proven in the TLS handshake, for rules; nil: nothing.
    package var certificate: ClientCertificate?
    /// The live session that the browser already has on this host: one of this gateway, or of the provider's own cookie.
    package var existing: (key: RecordKey, session: Session)?
    /// The token by which the browser presents that session. If a transfer token of the same user is consumed and the session
    /// stays, a new token takes its place. nil: the session keeps its token.
    package var existingToken: PresentedToken?
    /// Whether that session meets the route's requirements, so that it may stay when a token of the same user is
    /// consumed.
    package var existingSuffices = true
    /// Whether the new session takes the place of that session of the same user, which then ends (`endable`).
    package var replacesExisting = true
    /// Whether that session ends if it is another user's (`endable`). A link on another site must not sign a user out.
    package var endsOtherUser = true
    /// The organization (`org_id` or `org_name`) that the client asks for; nil: any user.
    package var organization: String?
    /// The mark of the account that this browser used last on this host (`TokenAuthority.accountMark`); nil: none is known.
    package var lastAccount: Secret?
    /// The proof that the user has confirmed the token (`TokenAuthority.confirmationMark`); nil: the user was not asked.
    package var confirmationMark: [UInt8]?
    /// Whether the user is about to be asked.
    package var isPreview = false
    /// Identifies an attempt and its repetitions: a new secret, or the one that the browser sends again after a 503.
    package var attempt: AttemptSecret
    /// Whether that secret is new: then the browser cannot have made this attempt before.
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

    /// The existing session if it can end here. That of a provider's own cookie stays: while its provider has not ended it,
    /// the provider's sign-in page would send the browser straight back with it.
    var endable: (key: RecordKey, session: Session)? { self.existing.flatMap { $0.key.kind == .session ? $0 : nil } }
}

/// The result of presenting a session-transfer token.
package enum HandoffOutcome: Sendable {
    /// A new web session. `replaces` is the browser's former session of the same user: it has ended.
    case signedIn(token: Secret, session: Session, replaces: RecordKey?)
    /// The browser keeps its session and its session token: the transfer token made the session, or it is used up and
    /// would have made a worse one for the same user. The transfer token is removed, nothing else happens.
    ///
    /// - Parameter isRepeated: True if the transfer token was used up by an earlier attempt of this browser.
    case alreadySignedIn(isRepeated: Bool)
    /// The browser keeps its session under a new session token, which it gets (`SuccessorToken`).
    ///
    /// - Parameter isRepeated: True if the transfer token was used up by an earlier attempt of this browser.
    case renewed(token: Secret, session: Session, isRepeated: Bool)
    /// Not signed in by this token. The reason is for logs only. `endsExisting`: the browser's session of another user
    /// has ended.
    case refused(Reason, endsExisting: Bool)
    /// It would sign in another account than the one that this browser used last, so the user is asked first. Nothing has
    /// changed.
    case unconfirmed
    /// The user is told with a page, and the browser's session stays: a rule refused the token, which is burned
    /// (`rule.denied`), or it is a delegated one and the browser is signed in (`handoff.already_signed_in`).
    ///
    /// - Parameter text: What the user reads; nil: the gateway's own words.
    case denied(Reason, text: String?)
    /// The store could not answer: 503. Whether the token was used may be unknown; repeating the request with the same
    /// `HandoffRequest.attempt` completes the attempt.
    case unavailable(StoreError)
}

extension HandoffOutcome {
    /// The outcome as audit records, metrics and the access log name it.
    package var act: HandoffAct {
        switch self {
        case .signedIn: .signedIn
        case .alreadySignedIn(let isRepeated), .renewed(_, _, let isRepeated): isRepeated ? .repeated : .sessionStays
        case .refused(let reason, _), .denied(let reason, _): .refused(reason)
        case .unconfirmed: .asked(.handoffOtherAccount)
        case .unavailable: .unavailable
        }
    }

    /// The refusal for a reason: with a page, or without a word to the user.
    static func refusal(_ reason: Reason, text: String?, endsExisting: Bool) -> HandoffOutcome {
        switch reason {
        case .ruleDenied, .handoffAlreadySignedIn: .denied(reason, text: text)
        default: .refused(reason, endsExisting: endsExisting)
        }
    }
}
