package import Vocabulary

/// What completes a sign-in that was begun: kept by the browser, sealed, until it comes back.
package struct PendingSignIn: Sendable, Hashable {
    /// Another first byte is another version, and refused.
    private static let version: UInt8 = 2

    /// The provider at which it was begun (`BrowserProvider.name`); after a change of the settings it may be another one.
    package var provider: String
    /// The parameter `state`: finds it among those of several tabs. It is not secret.
    package var id: String
    /// `nonce` (OpenID Connect Core 3.1.2.1); empty for plain OAuth 2.0.
    package var nonce: String
    /// `code_verifier` (RFC 7636 4.1).
    package var verifier: String
    /// `redirect_uri`, which is repeated at the token endpoint (RFC 6749 4.1.3).
    package var callback: String

    package init(provider: String, id: String, nonce: String, verifier: String, callback: String) {
        self.provider = provider
        self.id = id
        self.nonce = nonce
        self.verifier = verifier
        self.callback = callback
    }

    /// - Throws: `signin.state_mismatch` if the sign-in was begun at another provider.
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

    /// Reads what `encoded` wrote; nil for anything else.
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
