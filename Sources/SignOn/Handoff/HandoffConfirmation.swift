package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// A token that waits for the user's confirmation: what the browser keeps meanwhile, sealed, so that the token is in no
/// URL. Nothing is stored for it.
package struct PendingHandoff: Sendable, Equatable {
    /// How long a browser keeps it: as long as a token lives.
    package static let lifetime = Duration.seconds(60)

    package var token: Secret
    /// Where the token was.
    package var transport: HandoffTransport
    /// The exact path and query, without the token, of the page that the user wanted.
    package var target: String
    /// The web client of the page's route.
    package var clientID: String
    /// The attempt, which is the same however often the user confirms.
    package var attempt: AttemptSecret
    /// What only the page that asks knows: a form without it confirms nothing.
    package var proof: Secret

    /// - Parameter attempt: The secret of the browser's own attempt, if it repeats one.
    package init(
        token: Secret,
        transport: HandoffTransport,
        target: String,
        clientID: String,
        attempt: AttemptSecret = AttemptSecret()
    ) {
        self.token = token
        self.transport = transport
        self.target = target
        self.clientID = clientID
        self.attempt = attempt
        self.proof = Secret(Random.base64URL(16))
    }
}

/// Decides which tokens of a query need the user's confirmation, and seals tokens until it comes.
///
/// Without it, a link on another site would sign the user in as whoever made the link (login CSRF): the user would then
/// work in that account. A token that arrives in another way could do the same, so one for another account than the
/// browser used last needs it too (`HandoffOutcome.unconfirmed`).
package struct HandoffConfirmation: Sendable {
    /// The maximum length of the sealed text: browsers refuse a cookie whose name and value have more than 4096 bytes
    /// (RFC 6265bis 5.6).
    private static let longest = 3800
    private static let version: UInt8 = 2

    private let mode: HandoffSettings.Confirmation
    private let keys: SealingKeyRing

    package init(_ mode: HandoffSettings.Confirmation, keys: SealingKeyRing) {
        self.mode = mode
        self.keys = keys
    }

    /// What happens to a token in the query of a navigation.
    package enum Treatment: Sendable, Equatable {
        case consume, ask, refuse
    }

    /// Whether users are asked at all.
    package var asks: Bool { self.mode != .never }

    /// - Parameter isCrossSite: Whether another site started the navigation.
    package func treatment(isCrossSite: Bool) -> Treatment {
        switch self.mode {
        case .never: isCrossSite ? .refuse : .consume
        case .crossSite: isCrossSite ? .ask : .consume
        case .always: .ask
        }
    }

    /// The value of the cookie that keeps `pending`: characters of base64url. nil if it would be too long for a cookie.
    ///
    /// - Parameter authority: `host[:port]` of the host, because a cookie does not respect ports (RFC 6265 8.5).
    package func seal(_ pending: PendingHandoff, on authority: String, now: UnixTime) -> Secret? {
        let text = self.keys.sealText(version: Self.version, for: Self.place(authority)) { writer in
            writer.write(now)
            writer.write(pending.transport.rawValue)
            writer.write(pending.target)
            writer.write(pending.clientID)
            for secret in [pending.token, pending.attempt.value, pending.proof] { writer.write(secret) }
        }
        return text.count > Self.longest ? nil : Secret(text)
    }

    /// What a cookie keeps; nil if it has expired, or the gateway did not make it for this host.
    package func open(_ text: Secret, on authority: String, now: UnixTime) -> PendingHandoff? {
        self.keys.openText(
            text.bytes,
            longest: Self.longest,
            versions: Self.version...Self.version,
            for: Self.place(authority)
        ) { (reader, _) throws(CompactFormatError) -> PendingHandoff? in
            let madeAt = try reader.time()
            let pending = try Self.read(&reader)
            return now.since(madeAt) <= PendingHandoff.lifetime ? pending : nil
        } ?? nil
    }

    private static func read(_ reader: inout CompactReader) throws(CompactFormatError) -> PendingHandoff {
        guard let transport = HandoffTransport(rawValue: try reader.text()) else { throw CompactFormatError() }
        let (target, clientID, token) = (try reader.text(), try reader.text(), try reader.secret())
        guard let attempt = AttemptSecret(try reader.secret().bytes) else { throw CompactFormatError() }
        var pending = PendingHandoff(
            token: token,
            transport: transport,
            target: target,
            clientID: clientID,
            attempt: attempt
        )
        pending.proof = try reader.secret()
        return pending
    }

    private static func place(_ authority: String) -> String { "handoff confirmation \(authority)" }
}
