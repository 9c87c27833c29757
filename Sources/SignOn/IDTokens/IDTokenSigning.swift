package import JOSE

/// Where the keys of id_tokens come from.
package enum IDTokenSigning: Sendable {
    /// `signing_key_file`. The store's keys are not used.
    case file(SigningKeyRing)
    /// Keys in the store. `isNeeded` is true if clients are registered. A missing key is then made.
    case store(IDTokenKeys, isNeeded: Bool)

    /// Starts making a missing key in the background, so that the first id_token need not wait 0.1 s or more for it.
    package func makeReady() {
        if case .store(let keys, isNeeded: true) = self { keys.prepareSoon() }
    }

    /// Returns the key that signs now.
    package func signer() async throws(IDTokenKeyFailure) -> SigningKey {
        switch self {
        case .file(let ring): ring.current
        case .store(let keys, _): try await keys.signer()
        }
    }

    /// Returns the public keys. `nil` if they are not yet known. Waits for the store only if no key is known yet.
    package func published() async -> JWKSet? {
        switch self {
        case .file(let ring): return ring.published
        case .store(let keys, let isNeeded):
            if isNeeded, keys.published?.keys.isEmpty ?? true { await keys.prepare() }
            return keys.published
        }
    }
}
