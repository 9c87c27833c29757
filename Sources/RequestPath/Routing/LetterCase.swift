/// Compares paths without regard to letter case, as IIS, ASP.NET, Express and the file systems of Windows and macOS do.
///
/// Apps differ beyond ASCII (ordinal comparison, JavaScript's `i`, a locale's rules, full folding). So two letters are
/// equal here if any of these rules makes them equal, even where that maps a letter beyond ASCII to an ASCII one. The
/// only cost is that a path is refused whose folded form is that of a stricter route.
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
    static func withFolded<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> Value {
        if bytes.contains(where: { $0 >= 0x80 }) { return self.folded(bytes).withUnsafeBufferPointer(body) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { copy in
            for index in 0..<bytes.count { copy[index] = self.folded(bytes[index]) }
            return body(UnsafeBufferPointer(copy))
        }
    }

    /// The folded form of UTF-8.
    static func folded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                result.append(self.folded(UInt8(scalar.value)))
            } else if scalar == "\u{130}" {
                // Unicode's rules keep a dot above when lower-casing; Turkish rules make it `i`.
                result.append(UInt8(ascii: "i"))
            } else {
                // Upper-case first, because several lower-case letters share one upper case (U+03C3, U+03C2; U+017F,
                // s).
                for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                    result.append(contentsOf: upper.properties.lowercaseMapping.utf8)
                }
            }
        }
        return result
    }

    @inline(__always)
    private static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}
