/// Upper and lower case taken for one, as IIS, ASP.NET, Express and the file systems of Windows and macOS take them.
///
/// Apps differ beyond ASCII (ordinal comparison, JavaScript's `i`, a locale's rules, full folding), so everything that one
/// of them takes for the same letter is the same here, also where that turns a letter beyond ASCII into an ASCII one: a
/// path is refused for it at worst, and only where its folded form is that of a stricter route.
enum LetterCase {
    /// Whether folding leaves `bytes` as they are because they are ASCII without capitals; false is no statement.
    @inline(__always)
    static func isFolded(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var marks: UInt8 = 0
        for byte in bytes { marks |= (byte &- 0x41 < 26 ? 0x80 : byte) & 0x80 }
        return marks == 0
    }

    /// Calls `body` with the folded form of a path's reading, which is UTF-8 or, where it is not, mended as apps mend it.
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
                // Lower-cased by Unicode's rules a dot above stays; by Turkish ones it is `i`.
                result.append(UInt8(ascii: "i"))
            } else {
                // By way of the upper case, which is one for the lower-case forms of a letter (U+03C3, U+03C2; U+017F, s).
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
