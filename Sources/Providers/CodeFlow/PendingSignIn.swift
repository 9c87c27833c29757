import Vocabulary

/// What completes a sign-in that was begun: kept by the browser, sealed, until it comes back.
struct PendingSignIn: Sendable, Equatable {
    /// Another first byte is another version, and refused.
    private static let version: UInt8 = 2

    /// The provider at which it was begun; after a change of the settings it may be another one.
    var provider: String
    /// The parameter `state`.
    var id: String
    /// `nonce` (OpenID Connect Core 3.1.2.1); empty for plain OAuth 2.0.
    var nonce: String
    /// `code_verifier` (RFC 7636 4.1).
    var verifier: String
    /// `redirect_uri`, which is repeated at the token endpoint (RFC 6749 4.1.3).
    var callback: String

    var encoded: Secret {
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        for text in [self.provider, self.id, self.nonce, self.verifier, self.callback] { writer.write(text) }
        return Secret(writer.bytes)
    }
}

extension PendingSignIn {
    /// Reads what `encoded` wrote.
    ///
    /// - Parameter provider: Where the sign-in must have begun.
    init(_ encoded: Secret, of provider: String) throws(NotDone) {
        guard let pending = PendingSignIn(encoded), pending.provider.isExactly(provider) else {
            throw NotDone(.signInStateMismatch, detail: "the sign-in was not begun at this provider")
        }
        self = pending
    }

    /// Reads what `encoded` wrote; nil for anything else.
    init?(_ encoded: Secret) {
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
