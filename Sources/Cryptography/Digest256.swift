import Vocabulary

/// The 32 bytes of a SHA-256 digest or HMAC, stored without heap memory.
///
/// `==` is not constant-time. This is safe for finding records by the HMAC of a token, because attackers cannot choose
/// the HMAC.
package struct Digest256: Hashable, Sendable {
    package static let byteCount = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Makes the digest with these bytes; `nil` unless there are 32.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self = Self { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) } }
    }

    /// Makes a digest. `fill` must write all 32 bytes.
    init(fill: (UnsafeMutableRawBufferPointer) -> Void) {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words, fill)
        self.words = words
    }

    /// The 32 bytes, first to last.
    package var bytes: [UInt8] { self.withUnsafeBytes { Array($0) } }

    /// The digest in 43 characters of base64url.
    package var base64URL: String { self.withUnsafeBytes { Base64URL.encode($0) } }

    /// Reads 43 characters of base64url; `nil` if the text is not a digest.
    package init?(base64URL text: ArraySlice<UInt8>) {
        guard let bytes = Base64URL.decoded(text) else { return nil }
        self.init(bytes)
    }

    /// The digest in 64 lower-case hexadecimal digits.
    package var hexadecimal: String {
        var digits: [UInt8] = []
        self.withUnsafeBytes { $0.forEach { Hexadecimal.append($0, to: &digits) } }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Appends the digest in 43 characters of base64url.
    package func appendBase64URL(to target: inout [UInt8]) {
        self.withUnsafeBytes { Base64URL.append($0, to: &target) }
    }

    /// The first eight bytes as a big-endian number.
    package var leading: UInt64 { UInt64(bigEndian: self.words.0) }

    /// Passes the bytes to `body` without copying them.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }

    package static func == (left: Digest256, right: Digest256) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        // A digest is uniformly distributed, so one word hashes as well as four.
        hasher.combine(self.words.0)
    }
}
