internal import Cryptography

extension TokenAuthority {
    private static let markBytes = 12
    /// The length of a mark in bytes.
    package static let markLength = Self.markBytes / 3 * 4

    /// What a browser shows to say that this value of a handoff cookie was dealt with: 96 bits of a keyed hash in
    /// base64url. The value cannot be learnt from it, and without the secret no mark can be made for another value.
    ///
    /// It is made under the current secret. A browser that shows one of a former secret has the cookie judged once more.
    package func mark(of cookie: some Collection<UInt8>) -> [UInt8] {
        // No token and no attempt begins like this, so no mark is the key of a record or the seed of an attempt.
        let digest = self.keys[0].pepper.sha256(Array("handled 1 ".utf8) + cookie)
        return Base64URL.encoded(Array(digest.bytes.prefix(Self.markBytes)))
    }

    /// Whether a browser shows what can be a mark.
    package static func isMark(_ text: some Collection<UInt8>) -> Bool {
        text.count == Self.markLength && Base64URL.decoded(ArraySlice(text)) != nil
    }
}
