internal import Cryptography
package import Vocabulary

/// What a browser shows to repeat a try whose answer was lost: it is kept in its attempt cookie and nowhere else, neither in
/// the store nor in a log. 128 random bits, when they were given out, and proof that a gateway did.
package struct AttemptSecret: Sendable, Hashable {
    /// 43 characters of base64url.
    package let value: Secret

    init(_ bytes: [UInt8]) {
        self.value = Secret(Base64URL.encoded(bytes))
    }

    static let randomCount = 16
    static let timeCount = 6
    static let proofCount = 10
}

extension TokenAuthority {
    /// For how long a try may be repeated: as long as a transfer token lives by default.
    package static let attemptLifetime = Duration.seconds(60)

    /// A fresh secret, for a first try.
    package func attemptSecret(at now: UnixTime) -> AttemptSecret {
        let time = (0..<AttemptSecret.timeCount).reversed().map {
            UInt8(truncatingIfNeeded: now.milliseconds >> ($0 * 8))
        }
        let bytes = Random.bytes(AttemptSecret.randomCount) + time
        return AttemptSecret(bytes + Self.proof(of: bytes, self.current))
    }

    /// The secret that a cookie brings back; nil for a value that no gateway gave out, or longer ago than the lifetime. A
    /// browser keeps the cookie no longer either, but who has stolen it may.
    package func attemptSecret(in cookie: some Collection<UInt8>, at now: UnixTime) -> AttemptSecret? {
        let length = AttemptSecret.randomCount + AttemptSecret.timeCount
        guard cookie.count <= Self.tokenLength, let all = Base64URL.decoded(Array(cookie)[...]),
            all.count == length + AttemptSecret.proofCount
        else { return nil }
        let (bytes, proof) = (Array(all[..<length]), Array(all[length...]))
        guard self.keys.contains(where: { constantTimeEqual(Self.proof(of: bytes, $0), proof) }) else { return nil }
        let time = bytes.suffix(AttemptSecret.timeCount).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        // Another gateway's clock may be ahead of this one's.
        guard abs(now.milliseconds - time) < Self.attemptLifetime.wholeMilliseconds else { return nil }
        return AttemptSecret(all)
    }

    /// No token, mark or attempt begins like this, so no proof is a part of the key of a record.
    private static func proof(of bytes: [UInt8], _ key: Key) -> [UInt8] {
        Array(key.pepper.sha256(Array("tried 1 ".utf8) + bytes).bytes.prefix(AttemptSecret.proofCount))
    }
}

/// One try to turn a transfer token into a web session. All that is random about it is settled before the store is
/// asked, so that the same browser can ask for the same again.
package struct TransferAttempt: Sendable {
    package let id: AttemptID
    /// The web session's token, the key of its record, and its public id.
    package let token: Secret
    package let sessionKey: RecordKey
    package let sessionID: String

    /// The marker that this try leaves when it succeeds.
    package var success: Marker { .used(self.id, session: self.sessionKey) }
}

extension TokenAuthority {
    /// The try that the holder of `secret` makes with the token under `transfer` on `host` (its public authority).
    ///
    /// The same three make the same try on every gateway that has the same secret; another token or another host makes
    /// another one. Nothing of it can be computed without both the browser's secret and the gateway's, so that a planted
    /// attempt cookie tells whoever planted it nothing (fixation).
    ///
    /// - Parameter token: the transfer token, which says under which of the gateway's secrets the try is made: repeated
    ///   after a rotation, it is still the same.
    package func attempt(
        _ secret: AttemptSecret,
        with transfer: RecordKey,
        of token: [UInt8],
        on host: String
    ) -> TransferAttempt {
        let ours = self.secret(of: token) ?? self.current
        // No token begins like this, so no record's key under the same pepper is the seed of an attempt. What comes
        // before the host has fixed lengths, so no two triples are the same message.
        let message = Array("attempt 1 ".utf8) + secret.value.bytes + transfer.digest.bytes + Array(host.utf8)
        let seed = ours.pepper.sha256(message).bytes
        func derived(_ purpose: String, _ count: Int) -> [UInt8] {
            HKDF.sha256(secret: seed, salt: [], info: "sallyport attempt \(purpose) 1", count: count)
        }
        let random = derived("session token", Self.randomBytes)
        let session = self.make(.session, in: transfer.lineage, random: random, under: ours)
        return TransferAttempt(
            id: AttemptID(value: Base64URL.encode(derived("id", Self.idBytes))),
            token: session.token,
            sessionKey: session.key,
            sessionID: Self.sessionID(derived("session id", Self.idBytes))
        )
    }
}
