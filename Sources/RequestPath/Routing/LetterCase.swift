import Vocabulary

/// Compares paths regardless of letter case, like IIS, ASP.NET, Express and the file systems of Windows and macOS.
///
/// Apps differ beyond ASCII. Two letters are equal here if they are equal by the rules of any app. The only cost is
/// that a path is rejected if its folded form belongs to a stricter route.
///
/// Canonically equivalent letters (`ü`, `u` and a diaeresis) are always equal.
enum LetterCase {
    /// True if `bytes` are ASCII without capitals, so that folding changes nothing.
    @inline(__always)
    static func isFolded(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        var marks: UInt64 = 0
        var index = 0
        while index &+ 8 <= bytes.count {
            marks |= self.unfolded(ByteWord.load(base + index))
            index &+= 8
        }
        return (marks | self.unfolded(ByteWord.load(base + index, bytes.count &- index))) == 0
    }

    /// Marks capitals and bytes beyond ASCII.
    @inline(__always)
    private static func unfolded(_ word: UInt64) -> UInt64 {
        (ByteWord.within(0x41, 0x5A, word & ~ByteWord.highBits) | word) & ByteWord.highBits
    }

    /// Calls `body` with the folded form of a path's reading. Invalid UTF-8 is repaired as apps repair it.
    ///
    /// - Parameter keepsCase: Whether upper-case and lower-case letters stay different.
    static func withFolded<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>,
        keepsCase: Bool,
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> Value {
        if bytes.contains(where: { $0 >= 0x80 }) {
            return self.folded(bytes, keepsCase: keepsCase).withUnsafeBufferPointer(body)
        }
        if keepsCase { return body(bytes) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { copy in
            for index in 0..<bytes.count { copy[index] = self.folded(bytes[index]) }
            return body(UnsafeBufferPointer(copy))
        }
    }

    /// Returns the folded form of UTF-8.
    ///
    /// - Parameter keepsCase: Whether upper-case and lower-case letters stay different.
    static func folded(_ bytes: some Collection<UInt8>, keepsCase: Bool) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        if keepsCase { return Array(text.composed.utf8) }
        var result = ""
        for scalar in text.composed.unicodeScalars {
            if scalar == "\u{130}" {
                // Unicode lower-cases this letter to `i` and a dot above. Turkish rules produce `i`.
                result.append("i")
            } else {
                // Upper case comes first because several lower-case letters share one upper case (U+03C3, U+03C2;
                // U+017F, s).
                for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                    result.append(upper.properties.lowercaseMapping)
                }
            }
        }
        return Array(result.composed.utf8)
    }

    /// Returns the outline of a path that is not UTF-8. Returns `nil` if it is UTF-8.
    ///
    /// An app that reads the path in a code page gets letters that are unknown here.
    static func outlineInCodePage(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        String(validating: bytes, as: UTF8.self) == nil ? self.outline(bytes) : nil
    }

    /// Returns the path in lower case. Each run of bytes beyond ASCII becomes one byte, 0xFF, which represents any
    /// letters.
    static func outline(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes where byte < 0x80 || result.last != 0xFF {
            result.append(byte < 0x80 ? self.folded(byte) : 0xFF)
        }
        return result
    }

    @inline(__always)
    private static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}
