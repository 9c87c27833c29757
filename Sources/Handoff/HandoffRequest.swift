package import Sessions
package import Settings
package import Vocabulary

/// A session-transfer token as a browser presented it.
package struct HandoffRequest: Sendable {
    /// The token's bytes, not yet looked at.
    package var token: [UInt8]
    package var transport: HandoffTransport
    /// The public authority (`host[:port]`) of the request: the web session will be valid there and nowhere else.
    package var authority: String
    /// The consuming web client of the route.
    package var client: ClientSettings
    /// The device that presents it; its ASN is looked up when it is not set.
    package var device: DeviceFacts
    /// The live session that the browser already has on this host.
    package var existing: (key: RecordKey, session: Session)?
    /// That session meets what the route demands, so that it may stay where a token of the same user is consumed.
    package var existingSuffices = true
    /// What makes this try and its repetitions one: a fresh secret, or the one that the browser brings back after a 503.
    package var attempt: AttemptSecret
    package var requestID: String

    package init(
        token: [UInt8],
        transport: HandoffTransport,
        authority: String,
        client: ClientSettings,
        device: DeviceFacts,
        existing: (key: RecordKey, session: Session)?,
        attempt: AttemptSecret,
        requestID: String
    ) {
        self.token = token
        self.transport = transport
        self.authority = authority
        self.client = client
        self.device = device
        self.existing = existing
        self.attempt = attempt
        self.requestID = requestID
    }
}

/// What became of a presented session-transfer token.
package enum HandoffOutcome: Sendable {
    /// A new web session. `replaces` is the browser's former session of the same user: it has ended.
    case signedIn(token: Secret, session: Session, replaces: RecordKey?)
    /// The browser keeps the session that it has: the token made it, or is used up and would have made a lesser one for the
    /// same user. The token goes, nothing else happens.
    case alreadySignedIn
    /// Not signed in by this token. The reason is for logs only. `endsExisting`: the browser's session, another user's, has ended.
    case refused(Reason, endsExisting: Bool)
    /// The store could not answer: 503. Whether the token was used may be unknown; whoever repeats the request with the
    /// same `HandoffRequest.attempt` finds out.
    case unavailable(StoreError)
}
