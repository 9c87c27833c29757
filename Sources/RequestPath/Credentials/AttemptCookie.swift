package import Sessions
package import Vocabulary

/// What stands in the attempt cookie: the secret of a try, and behind a dot the transfer token that was in the URL.
///
/// A try that the store could not answer has to be repeated, and its token must not wait for that in the address bar.
package enum AttemptCookie {
    /// No token of ours is longer.
    private static let longest = TokenAuthority.tokenLength

    /// The two parts of `value`; the second is nil for a token that was not moved here.
    package static func parts(of value: Slice, _ base: Bytes) -> (secret: Slice, token: Slice?) {
        let bytes = value.bytes(in: base)
        guard let dot = bytes.firstIndex(of: UInt8(ascii: ".")) else { return (value, nil) }
        let token = Slice(value.start + dot + 1, value.length - dot - 1)
        return (Slice(value.start, dot), Self.canHold(token.bytes(in: base)) ? token : nil)
    }

    /// The value that repeats the try of `secret`.
    package static func value(_ secret: AttemptSecret, moving token: some Sequence<UInt8>) -> Secret {
        Secret(secret.value.bytes + [UInt8(ascii: ".")] + token)
    }

    /// Whether `token` can be one of ours; of all else nothing must get into a cookie.
    package static func canHold(_ token: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}
