import Vocabulary

/// Compares paths without regard to letter case, as IIS, ASP.NET, Express and the file systems of Windows and macOS do.
///
/// Apps differ beyond ASCII (ordinal comparison, JavaScript's `i`, a locale's rules, full folding). So two letters are
/// equal here if any of these rules makes them equal, even where that maps a letter beyond ASCII to an ASCII one. The
/// only cost is that a path is refused whose folded form is that of a stricter route.
///
/// A letter is equal to itself in another canonical form (`ü`, `u` and a diaeresis), also where letter case counts.
enum LetterCase {
    /// True when `bytes` are ASCII without capitals, so that folding changes nothing. False: it may change something.
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

    /// Calls `body` with the folded form of a path's reading. Bytes that are not UTF-8 are repaired as apps repair
    /// them.
    ///
    /// - Parameter keepsCase: Whether letters of the two cases stay different.
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

    /// The folded form of UTF-8.
    ///
    /// - Parameter keepsCase: Whether letters of the two cases stay different.
    static func folded(_ bytes: some Collection<UInt8>, keepsCase: Bool) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        if keepsCase { return Array(text.composed.utf8) }
        var result = ""
        for scalar in text.composed.unicodeScalars {
            if scalar == "\u{130}" {
                // Unicode's rules keep a dot above when lower-casing; Turkish rules make it `i`.
                result.append("i")
            } else {
                // Upper-case first, because several lower-case letters share one upper case (U+03C3, U+03C2; U+017F,
                // s).
                for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                    result.append(upper.properties.lowercaseMapping)
                }
            }
        }
        return Array(result.composed.utf8)
    }

    /// The outline of a path that is not UTF-8. `nil`: it is UTF-8.
    ///
    /// An app that reads such a path in a code page makes letters of its bytes, and which letters is not known here.
    static func outlineInCodePage(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        String(validating: bytes, as: UTF8.self) == nil ? self.outline(bytes) : nil
    }

    /// The path without regard to letter case, in which what is beyond ASCII is one byte, 0xFF, that stands for any
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
