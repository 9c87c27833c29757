package import JOSE

/// The source of the keys of id_tokens.
package enum IDTokenSigning: Sendable {
    /// `signing_key_file`. The store's keys are not used.
    case file(SigningKeyRing)
    /// The store. `isNeeded` is true if there are clients, so that the first request for a missing key makes it.
    case store(IDTokenKeys, isNeeded: Bool)

    /// Starts to make the store's key in the background, if there are clients and no gateway has made a key. Making a
    /// key takes a tenth of a second or more, and the first answer with an id_token would have to wait.
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

    /// Returns the public keys. `nil` if they are not yet known. Waits only if no key has been read yet.
    package func published() async -> JWKSet? {
        switch self {
        case .file(let ring): return ring.published
        case .store(let keys, let isNeeded):
            if isNeeded, keys.published?.keys.isEmpty ?? true { await keys.prepare() }
            return keys.published
        }
    }
}
