package import JOSE
import Synchronization
package import Vocabulary

extension SocialNetwork {
    package static let googleSubject = "117000000000000000001"

    /// An id_token as Google gives it to an app.
    ///
    /// - Parameters:
    ///   - changes: Of claims; `.null` removes one.
    ///   - nulls: The claims that are written as null.
    ///   - key: nil: Google's.
    package func googleToken(
        _ changes: [String: JSONValue] = [:],
        nulls: [String] = [],
        by key: SigningKey? = nil,
        header: [(String, JSONValue)] = []
    ) -> Secret {
        let now = self.clock.now().seconds
        var claims: [String: JSONValue] = [
            "iss": "https://accounts.google.com", "aud": .string(self.registration.googleAudience),
            "azp": .string(self.registration.googleAudience), "sub": .string(Self.googleSubject),
            "email": "ada@gmail.com", "email_verified": true, "name": "Ada Lovelace", "given_name": "Ada",
            "family_name": "Lovelace", "picture": "https://img.example.com/a", "iat": .integer(now),
            "exp": .integer(now + 3600),
        ]
        for name in nulls { claims[name] = .null }
        let key = key ?? self.state.withLock { $0.google[0] }
        return Secret(Self.signed(claims, changes, by: key, header: header))
    }

    /// The public part of the key that signs.
    package var googleKey: JWK { self.state.withLock { $0.google[0].publicKey } }

    /// Signs with a new key from now on; the old one stays published.
    package func rotateGoogleKey() {
        self.state.withLock { $0.google.insert(.generated(.rs256), at: 0) }
    }
}
