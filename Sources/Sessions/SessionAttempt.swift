import Cryptography
package import Vocabulary

/// The secret with which a browser repeats an attempt whose answer was lost: 256 random bits. Only the browser's
/// attempt cookie holds the secret, for a minute. It is in no store and no log.
package struct AttemptSecret: Sendable, Hashable {
    /// The secret as 43 characters of base64url.
    package let value: Secret

    /// Creates a secret for a first attempt.
    package init() {
        self.value = Secret(Random.base64URL(Self.byteCount))
    }

    /// Reads the secret in a cookie; `nil` if the gateway never issues this value.
    package init?(_ cookie: some Collection<UInt8>) {
        let bytes = Array(cookie)
        guard bytes.count == Self.length, Base64URL.decoded(bytes[...]) != nil else { return nil }
        self.value = Secret(bytes)
    }

    private static let byteCount = 32
    private static let length = 43
}

/// One attempt to exchange a transfer token, a ticket or a native app's codes for a session. All random parts are
/// computed before the store is asked, so repeating the attempt gives the same session.
package struct SessionAttempt: Sendable {
    /// The time for which an attempt may be repeated. The browser's attempt cookie has the same lifetime.
    package static let lifetime = Duration.seconds(60)

    package let id: AttemptID
    /// The session's token.
    package let token: Secret
    package let sessionKey: RecordKey
    package let sessionID: String

    /// The marker that a successful attempt writes.
    package var success: Marker { .used(self.id, session: self.sessionKey) }
}

extension TokenAuthority {
    /// Returns the attempt to use the token under `transfer` with `secret` on `host`, a public authority.
    ///
    /// Equal inputs give the same attempt on every gateway with the same secret. The attempt depends on the browser's
    /// secret and the gateway's. So an attacker who plants an attempt cookie learns nothing (session fixation).
    ///
    /// - Parameter token: The token or ticket. Its key id names the gateway's secret, so the attempt stays the same
    ///   after a rotation of the secret.
    package func attempt(
        _ secret: AttemptSecret,
        with transfer: RecordKey,
        of token: [UInt8],
        on host: String
    ) -> SessionAttempt {
        let ours = self.secret(of: token) ?? self.current
        // No token begins with this label, so the seed never equals a record's digest. The parts before the host have
        // fixed lengths, so different inputs give different messages.
        var message: [UInt8] = []
        message.reserveCapacity(256)
        message.append(utf8: "attempt 1 ")
        message.append(contentsOf: secret.value.bytes)
        message.append(contentsOf: transfer.digest.bytes)
        message.append(utf8: host)
        let keys = HKDF(secret: ours.pepper.sha256(message).bytes)
        func derived(_ purpose: String, _ count: Int) -> [UInt8] {
            keys.bytes(for: "sallyport attempt \(purpose) 1", count: count)
        }
        let random = derived("session token", Self.randomBytes)
        let session = self.make(.session, in: transfer.lineage, random: random, under: ours)
        return SessionAttempt(
            id: AttemptID(value: Base64URL.encode(derived("id", Self.idBytes))),
            token: session.token,
            sessionKey: session.key,
            sessionID: derived("session id", Self.idBytes).withUnsafeBytes { Self.sessionID($0) }
        )
    }
}
