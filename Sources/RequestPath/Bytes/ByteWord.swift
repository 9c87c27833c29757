/// Tests of eight bytes at once in one register. (`SIMD8<UInt8>` comparisons would compile to byte loops.)
///
/// A test returns marks: the high bit of each matching byte. The lowest byte of the word is the first in memory.
enum ByteWord {
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns `byte`, repeated eight times.
    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

    /// Returns the eight bytes at `bytes`.
    @inline(__always)
    static func load(_ bytes: Bytes) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    /// Returns `count` bytes, fewer than eight, followed by zeros. Reads no byte beyond `count`.
    @inline(__always)
    static func load(_ bytes: Bytes, _ count: Int) -> UInt64 {
        if count >= 4 {
            let first = UInt32(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self))
            let last = UInt32(littleEndian: UnsafeRawPointer(bytes + (count &- 4)).loadUnaligned(as: UInt32.self))
            return UInt64(first) | UInt64(last) &<< UInt64(truncatingIfNeeded: 8 &* (count &- 4))
        }
        guard count > 0 else { return 0 }
        let middle = count &>> 1
        return UInt64(bytes[0]) | UInt64(bytes[middle]) &<< UInt64(truncatingIfNeeded: 8 &* middle)
            | UInt64(bytes[count &- 1]) &<< UInt64(truncatingIfNeeded: 8 &* (count &- 1))
    }

    /// Returns the index of the first marked byte.
    @inline(__always)
    static func first(_ marks: UInt64) -> Int { marks.trailingZeroBitCount &>> 3 }

    /// Marks the bytes in `low...high`. Bounds and bytes must be ASCII.
    @inline(__always)
    static func within(_ low: UInt8, _ high: UInt8, _ ascii: UInt64) -> UInt64 {
        (ascii &+ Self.repeating(0x80 &- low)) & ~(ascii &+ Self.repeating(0x7F &- high)) & Self.highBits
    }

    /// Marks controls and DEL, and perhaps the byte after a control. The caller must mask the result with `highBits`.
    @inline(__always)
    static func controlMarks(_ word: UInt64) -> UInt64 {
        let low = word &- Self.repeating(0x20)
        let delete = (word & ~Self.highBits) &+ Self.repeating(0x01)
        return (low | delete) & ~word
    }

    /// Marks each byte that is neither a letter, a digit, `-` nor `other`.
    @inline(__always)
    static func outsideNames(_ word: UInt64, besides other: UInt8) -> UInt64 {
        let ascii = word & ~Self.highBits
        let letters = Self.within(0x61, 0x7A, ascii | Self.repeating(0x20))
        let allowed =
            letters | Self.within(0x30, 0x39, ascii) | Self.within(0x2D, 0x2D, ascii)
            | Self.within(other, other, ascii)
        return (~allowed | word) & Self.highBits
    }

    /// Marks the bytes that end a request target (SP), divide it (`?`), or are invalid in it (controls, DEL, `#`,
    /// non-ASCII).
    @inline(__always)
    static func targetMarks(_ word: UInt64) -> UInt64 {
        let ascii = word & ~Self.highBits
        let visible = Self.within(0x21, 0x7E, ascii)
        return (~visible | word) & Self.highBits | Self.within(0x23, 0x23, ascii) | Self.within(0x3F, 0x3F, ascii)
    }

    /// Returns the eight hexadecimal digits of `value`, with the first digit in the lowest byte.
    @inline(__always)
    static func hexadecimal(_ value: UInt32) -> UInt64 {
        var digits = UInt64(value)
        digits = (digits | digits &<< 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits &<< 8) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits &<< 4) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (digits &+ Self.repeating(6)) &>> 4 & Self.repeating(1)
        return (digits &+ Self.repeating(0x30) &+ isLetter &* 0x27).byteSwapped
    }
}
