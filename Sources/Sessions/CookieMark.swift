internal import Cryptography

extension TokenAuthority {
    private static let markBytes = 12
    /// The length of a mark in bytes.
    package static let markLength = Self.markBytes / 3 * 4

    /// The mark that a browser sends to show that this value of a handoff cookie was dealt with: 96 bits of a keyed
    /// hash in base64url. It does not reveal the value, and no mark for another value can be made without the secret.
    ///
    /// It is made under the current secret. If a browser sends a mark made under a former secret, the cookie is judged
    /// once more.
    package func mark(of cookie: some Collection<UInt8>) -> [UInt8] {
        // No token and no attempt begins with this label, so no mark equals the key of a record or the seed of an
        // attempt.
        let digest = self.keys[0].pepper.sha256(Array("handled 1 ".utf8) + cookie)
        return Base64URL.encoded(Array(digest.bytes.prefix(Self.markBytes)))
    }

    /// Whether the text has the form of a mark.
    package static func isMark(_ text: some Collection<UInt8>) -> Bool {
        text.count == Self.markLength && Base64URL.decoded(ArraySlice(text)) != nil
    }
}
