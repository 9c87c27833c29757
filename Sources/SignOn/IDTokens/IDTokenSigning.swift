package import JOSE

/// Where the keys of id_tokens come from.
package enum IDTokenSigning: Sendable {
    /// From `signing_key_file`; the store's are not used.
    case file(SigningKeyRing)
    /// From the store; `isNeeded` where there are clients, so that a missing key is made as soon as one looks for it.
    case store(IDTokenKeys, isNeeded: Bool)

    /// Begins to make the store's key in the background, if there are clients and no gateway has made one: that takes a tenth
    /// of a second or more, for which the first answer with an id_token would wait.
    package func makeReady() {
        if case .store(let keys, isNeeded: true) = self { keys.prepareSoon() }
    }

    /// The key that signs now.
    package func signer() async throws(IDTokenKeyFailure) -> SigningKey {
        switch self {
        case .file(let ring): ring.current
        case .store(let keys, _): try await keys.signer()
        }
    }

    /// The public keys; nil if they are not known yet. Waits only while none was read.
    package func published() async -> JWKSet? {
        switch self {
        case .file(let ring): return ring.published
        case .store(let keys, let isNeeded):
            if isNeeded, keys.published?.keys.isEmpty ?? true { await keys.prepare() }
            return keys.published
        }
    }
}
