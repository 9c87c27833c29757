import Glibc

/// The bytes of a head in its buffer. The pointer is valid only in the closure that receives it.
package typealias Bytes = UnsafePointer<UInt8>

/// A run of bytes, stored as offset and length so that it stays valid if the buffer moves.
package struct Slice: Sendable, Equatable {
    package var offset: UInt32
    package var count: UInt32

    @inline(__always)
    package init(_ offset: Int, _ count: Int) {
        self.offset = UInt32(truncatingIfNeeded: offset)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    package static let empty = Slice(0, 0)

    @inline(__always) package var start: Int { Int(self.offset) }
    @inline(__always) package var length: Int { Int(self.count) }
    @inline(__always) package var end: Int { Int(self.offset) &+ Int(self.count) }
    @inline(__always) package var isEmpty: Bool { self.count == 0 }

    /// Returns the slice's bytes. `base` is the start of the parsed buffer.
    @inline(__always)
    package func bytes(in base: Bytes) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base + Int(self.offset), count: Int(self.count))
    }
}

/// Byte classes and comparisons shared by the parsers.
package enum ByteClass {
    /// Maps a letter or digit to its lower case, every other token byte (RFC 9110 5.6.2) to `-`, and all other bytes to
    /// 0. Servers that turn field names into variables do not distinguish such token bytes (RFC 3875 4.1.18).
    ///
    /// Access to this `static let` checks its initialisation each time, so the request parser keeps a copy.
    package nonisolated(unsafe) static let normalizedToken: UnsafePointer<UInt8> = {
        let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
        table.initialize(repeating: 0, count: 256)
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] = byte }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") {
            table[Int(byte)] = byte
            table[Int(byte & 0xDF)] = byte
        }
        for byte in "!#$%&'*+-.^_`|~".utf8 { table[Int(byte)] = UInt8(ascii: "-") }
        return UnsafePointer(table)
    }()

    /// Returns the length of the leading run of letters, digits, hyphens and `other` bytes.
    @inline(__always)
    package static func nameLength(_ bytes: Bytes, _ count: Int, besides other: UInt8) -> Int {
        var index = 0
        while index &+ 8 <= count {
            let marks = ByteWord.outsideNames(ByteWord.load(bytes + index), besides: other)
            if marks != 0 { return index &+ ByteWord.first(marks) }
            index &+= 8
        }
        while index < count {
            let byte = bytes[index]
            guard byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2D || byte == other else { break }
            index &+= 1
        }
        return index
    }

    /// True if the bytes contain a control character other than TAB, including NUL, bare CR and DEL (RFC 9110 5.5).
    @inline(__always)
    package static func hasControl(_ bytes: Bytes, _ count: Int) -> Bool {
        guard count >= 8 else { return self.hasControlBytewise(bytes, count) }
        var marks: UInt64 = 0
        var index = 0
        while index &+ 8 <= count {
            marks |= ByteWord.controlMarks(ByteWord.load(bytes + index))
            index &+= 8
        }
        // The last eight bytes may overlap bytes that are already checked.
        marks |= ByteWord.controlMarks(ByteWord.load(bytes + (count &- 8)))
        // Marks may be TABs, so they require a check byte by byte.
        return marks & ByteWord.highBits != 0 && self.hasControlBytewise(bytes, count)
    }

    private static func hasControlBytewise(_ bytes: Bytes, _ count: Int) -> Bool {
        var index = 0
        while index < count {
            let byte = bytes[index]
            if (byte < 0x20 && byte != 0x09) || byte == 0x7F { return true }
            index &+= 1
        }
        return false
    }

    /// Returns the number in decimal digits. `nil` for no digits, more than 18 digits, or other bytes.
    @inline(__always)
    package static func decimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !bytes.isEmpty, bytes.count <= 18 else { return nil }
        var value = 0
        for byte in bytes {
            let digit = byte &- 0x30
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int(digit)
        }
        return value
    }

    /// True if `bytes` equals a lower-case ASCII literal, ignoring the case of letters.
    @inline(__always)
    package static func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ lowercase: StaticString) -> Bool {
        let count = lowercase.utf8CodeUnitCount
        guard bytes.count == count else { return false }
        let other = lowercase.utf8Start
        for index in 0..<count {
            var byte = bytes[index]
            if byte &- 0x41 < 26 { byte |= 0x20 }
            if byte != other[index] { return false }
        }
        return true
    }

    /// True if two runs of bytes are equal, ignoring the case of ASCII letters.
    package static func equalIgnoringCase(
        _ left: UnsafeBufferPointer<UInt8>,
        _ right: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<left.count {
            var a = left[index]
            var b = right[index]
            if a &- 0x41 < 26 { a |= 0x20 }
            if b &- 0x41 < 26 { b |= 0x20 }
            if a != b { return false }
        }
        return true
    }

    /// Returns the bytes without leading and trailing SP and HTAB (OWS, RFC 9110 5.6.3).
    @inline(__always)
    package static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        var start = 0
        var end = bytes.count
        while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start &+= 1 }
        while end > start, bytes[end &- 1] == 0x20 || bytes[end &- 1] == 0x09 { end &-= 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }

    /// Calls `body` with each trimmed element of a comma-separated list and skips empty elements (RFC 9110 5.6.1).
    package static func forEachElement(
        of list: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        guard let base = list.baseAddress else { return }
        var start = 0
        while start <= list.count {
            var end = list.count
            if let comma = memchr(base + start, 0x2C, end &- start) {
                end = UnsafeRawPointer(comma) - UnsafeRawPointer(base)
            }
            let element = Self.trimmed(UnsafeBufferPointer(rebasing: list[start..<end]))
            if !element.isEmpty { body(element) }
            start = end &+ 1
        }
    }
}
