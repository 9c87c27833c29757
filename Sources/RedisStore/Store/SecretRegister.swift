import Cryptography
package import Vocabulary

/// The register of the gateways that use one Redis, stored in Redis as a text. Each gateway has one line:
///
/// ```
/// (id) (since) (last seen) (fingerprint),(fingerprint)...
/// ```
package struct SecretRegister: Sendable, Equatable {
    /// The line of one gateway.
    package struct Entry: Sendable, Equatable {
        let id: String
        /// The time when the gateway was first seen, in milliseconds by the clock of Redis.
        let since: UInt64
        let fingerprints: Set<String>
    }

    /// The numbers of gateways that share no secret with this gateway.
    package struct OtherSecretCounts: Sendable, Equatable {
        /// The number of strangers that were registered before this gateway. If this is not 0, this gateway has the
        /// wrong secret.
        package let earlier: Int
        /// The number of strangers that were registered after this gateway.
        package let later: Int

        package init(earlier: Int, later: Int) {
            self.earlier = earlier
            self.later = later
        }
    }

    let entries: [Entry]

    /// - Parameter text: The register. Lines that are not entries are skipped: a later version may write other lines.
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

    /// Returns the numbers of gateways that share no secret with the gateway `id`; `nil` if that gateway is not
    /// registered. During a rotation, the secrets overlap, so both numbers are 0.
    package func strangers(to id: String) -> OtherSecretCounts? {
        guard let own = self.entries.first(where: { $0.id == id }) else { return nil }
        let others = self.entries.filter { $0.id != id && $0.fingerprints.isDisjoint(with: own.fingerprints) }
        let earlier = others.count { ($0.since, $0.id) < (own.since, own.id) }
        return OtherSecretCounts(earlier: earlier, later: others.count - earlier)
    }

    /// Returns the fingerprints of secrets, separated by commas. They reveal nothing, and are the same at all gateways.
    package static func fingerprints(of secrets: SecretRing) -> String {
        secrets.all.map { secret in
            let bytes = HKDF(secret: secret.bytes).bytes(for: "sallyport secret fingerprint 1", count: 9)
            return Base64URL.encode(bytes)
        }.joined(separator: ",")
    }
}
