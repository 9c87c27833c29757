import Cryptography
package import Vocabulary

/// Which gateways use a Redis, each with the fingerprints of its secrets: the text that they keep there together.
///
/// ```
/// (id) (since) (last seen) (fingerprint),(fingerprint)...
/// ```
package struct SecretRegister: Sendable, Equatable {
    /// One gateway.
    package struct Entry: Sendable, Equatable {
        let id: String
        /// When it was first seen, in milliseconds by the clock of Redis.
        let since: UInt64
        let fingerprints: Set<String>
    }

    /// What a gateway finds of others that have none of its secrets.
    package struct Strangers: Sendable, Equatable {
        /// Those that were there before it: it is the one with the wrong secret.
        package let earlier: Int
        /// Those that came later.
        package let later: Int

        package init(earlier: Int, later: Int) {
            self.earlier = earlier
            self.later = later
        }
    }

    let entries: [Entry]

    /// - Parameter text: Lines that are no entries are skipped: a later version may write others.
    package init(_ text: String) {
        self.entries = text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            guard parts.count >= 4, let since = UInt64(parts[1]) else { return nil }
            return Entry(
                id: String(parts[0]),
                since: since,
                fingerprints: Set(parts[3].split(separator: ",").map(String.init))
            )
        }
    }

    /// The gateways that have none of the secrets of the one with this id. During a rotation rings overlap, so that there
    /// are none. nil: the gateway is not registered.
    package func strangers(to id: String) -> Strangers? {
        guard let own = self.entries.first(where: { $0.id == id }) else { return nil }
        let others = self.entries.filter { $0.id != id && $0.fingerprints.isDisjoint(with: own.fingerprints) }
        let earlier = others.count { ($0.since, $0.id) < (own.since, own.id) }
        return Strangers(earlier: earlier, later: others.count - earlier)
    }

    /// The names of secrets, which reveal nothing of them: all gateways with a secret give it the same name.
    package static func fingerprints(of secrets: SecretRing) -> String {
        secrets.all.map { secret in
            let bytes = HKDF(secret: secret.bytes).bytes(for: "sallyport secret fingerprint 1", count: 9)
            return Base64URL.encode(bytes)
        }.joined(separator: ",")
    }
}
