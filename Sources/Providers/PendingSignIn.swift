package import Vocabulary

/// The state of a sign-in at a provider. The browser stores it, sealed, until the sign-in is complete.
package struct PendingSignIn: Sendable, Hashable {
    /// The version of the format, which is the first byte. Other versions are rejected.
    private static let version: UInt8 = 2

    /// The name of the provider at which the sign-in began (`BrowserProvider.name`).
    package var provider: String
    /// The parameter `state`. It is not secret, and tells the sign-ins of several tabs apart.
    package var id: String
    /// The `nonce` (OpenID Connect Core 3.1.2.1); empty for plain OAuth 2.0.
    package var nonce: String
    /// The `code_verifier` (RFC 7636 4.1); empty without PKCE.
    package var verifier: String
    /// The `redirect_uri`, which the token request repeats (RFC 6749 4.1.3).
    package var callback: String

    package init(provider: String, id: String, nonce: String, verifier: String, callback: String) {
        self.provider = provider
        self.id = id
        self.nonce = nonce
        self.verifier = verifier
        self.callback = callback
    }

    /// Checks that the sign-in began at this provider. The provider may have been replaced in the settings.
    ///
    /// - Throws: `signin.state_mismatch` otherwise.
    func check(isOf provider: String) throws(NotDone) {
        guard self.provider.isExactly(provider) else {
            throw NotDone(.signInStateMismatch, detail: "the sign-in was not begun at this provider")
        }
    }

    package var encoded: Secret {
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        for text in [self.provider, self.id, self.nonce, self.verifier, self.callback] { writer.write(text) }
        return Secret(writer.bytes)
    }

    /// Reads the result of `encoded`; `nil` for any other bytes.
    package init?(_ encoded: Secret) {
        var reader = CompactReader(encoded.bytes)
        do throws(CompactFormatError) {
            guard try reader.byte() == Self.version else { return nil }
            self.provider = try reader.text()
            self.id = try reader.text()
            self.nonce = try reader.text()
            self.verifier = try reader.text()
            self.callback = try reader.text()
            try reader.finish()
        } catch {
            return nil
        }
    }
}
