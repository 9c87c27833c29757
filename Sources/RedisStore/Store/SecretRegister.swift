import Cryptography
package import Vocabulary

/// The gateways that use a Redis, each with the fingerprints of its secrets: the text that they share there.
///
/// ```
/// (id) (since) (last seen) (fingerprint),(fingerprint)...
/// ```
package struct SecretRegister: Sendable, Equatable {
    /// One gateway.
    package struct Entry: Sendable, Equatable {
        let id: String
        /// The time when the gateway was first seen, in milliseconds by the clock of Redis.
        let since: UInt64
        let fingerprints: Set<String>
    }

    /// The numbers of gateways that share no secret with this gateway.
    package struct Strangers: Sendable, Equatable {
        /// The number of these gateways that were registered earlier. If there are any, this gateway has the wrong
        /// secret.
        package let earlier: Int
        /// The number of these gateways that were registered later.
        package let later: Int

        package init(earlier: Int, later: Int) {
            self.earlier = earlier
            self.later = later
        }
    }

    let entries: [Entry]

    /// - Parameter text: The register. Lines that are not entries are skipped: a later version may write others.
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

    /// Returns the numbers of gateways that share no secret with the gateway with this id. During a rotation, rings
    /// overlap, so none exist. `nil` if the gateway is not registered.
    package func strangers(to id: String) -> Strangers? {
        guard let own = self.entries.first(where: { $0.id == id }) else { return nil }
        let others = self.entries.filter { $0.id != id && $0.fingerprints.isDisjoint(with: own.fingerprints) }
        let earlier = others.count { ($0.since, $0.id) < (own.since, own.id) }
        return Strangers(earlier: earlier, later: others.count - earlier)
    }

    /// Returns the names of secrets, which reveal nothing of them. All gateways with a secret give it one name.
    package static func fingerprints(of secrets: SecretRing) -> String {
        secrets.all.map { secret in
            let bytes = HKDF(secret: secret.bytes).bytes(for: "sallyport secret fingerprint 1", count: 9)
            return Base64URL.encode(bytes)
        }.joined(separator: ",")
    }
}
