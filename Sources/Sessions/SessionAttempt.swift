import Cryptography
package import Vocabulary

/// The secret that a browser presents to repeat an attempt whose answer was lost: 256 random bits. They are kept for a
/// minute in the browser's attempt cookie and nowhere else, neither in the store nor in a log.
package struct AttemptSecret: Sendable, Hashable {
    /// The secret as 43 characters of base64url.
    package let value: Secret

    /// Creates a secret for a first attempt.
    package init() {
        self.value = Secret(Random.base64URL(Self.byteCount))
    }

    /// Reads the secret in a cookie; `nil` for a value that the gateway never issues.
    package init?(_ cookie: some Collection<UInt8>) {
        let bytes = Array(cookie)
        guard bytes.count == Self.length, Base64URL.decoded(bytes[...]) != nil else { return nil }
        self.value = Secret(bytes)
    }

    private static let byteCount = 32
    private static let length = 43
}

/// One attempt to exchange a transfer token, a ticket from another host, or a native app's codes for a session. All
/// random parts are fixed before the store is asked, so that the same browser or app can ask for the same result again.
package struct SessionAttempt: Sendable {
    /// The time in which an attempt may be repeated after it used the token. A browser keeps the cookie no longer.
    package static let lifetime = Duration.seconds(60)

    package let id: AttemptID
    /// The session's token. The key of its record is `sessionKey`, and its public id is `sessionID`.
    package let token: Secret
    package let sessionKey: RecordKey
    package let sessionID: String

    /// The marker that this attempt leaves if it succeeds.
    package var success: Marker { .used(self.id, session: self.sessionKey) }
}

extension TokenAuthority {
    /// Returns the attempt to use the token under `transfer` with `secret` on `host`, a public authority.
    ///
    /// Equal inputs give the same attempt on every gateway with the same secret. Another token or another host gives
    /// another attempt. Computing an attempt needs both the browser's secret and the gateway's, so a planted attempt
    /// cookie reveals nothing to the attacker who planted it (session fixation).
    ///
    /// - Parameter token: The token or ticket. It names the gateway's secret under which the attempt is made, so a
    ///   repetition after a rotation is still the same attempt.
    package func attempt(
        _ secret: AttemptSecret,
        with transfer: RecordKey,
        of token: [UInt8],
        on host: String
    ) -> SessionAttempt {
        let ours = self.secret(of: token) ?? self.current
        // No token begins with this label, so no record's key under the same pepper is the seed of an attempt. The
        // parts before the host have fixed lengths, so no two triples give the same message.
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
