package import Vocabulary

/// The state that completes a sign-in. The browser keeps it, sealed, until the browser returns.
package struct PendingSignIn: Sendable, Hashable {
    /// The version of the format: the first byte. Any other version is refused.
    private static let version: UInt8 = 2

    /// The provider where the sign-in began (`BrowserProvider.name`). A change of the settings may have replaced it.
    package var provider: String
    /// The parameter `state`. If several tabs have begun a sign-in, `state` finds the right one. It is not secret.
    package var id: String
    /// `nonce` (OpenID Connect Core 3.1.2.1). Empty for plain OAuth 2.0.
    package var nonce: String
    /// `code_verifier` (RFC 7636 4.1).
    package var verifier: String
    /// `redirect_uri`. It is repeated at the token endpoint (RFC 6749 4.1.3).
    package var callback: String

    package init(provider: String, id: String, nonce: String, verifier: String, callback: String) {
        self.provider = provider
        self.id = id
        self.nonce = nonce
        self.verifier = verifier
        self.callback = callback
    }

    /// Checks that the sign-in began at this provider.
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

    /// Reads the result of `encoded`. `nil` for anything else.
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
