package import Vocabulary

/// An accepted path and its reading. `habits` lists the ways in which apps could still read the path differently.
///
/// The pointers refer to the request's buffer and to the scratch memory. They are valid until the buffer or the memory
/// is used for the next path.
package struct PathReading {
    /// The result of reading a path.
    package enum Outcome {
        case read(PathReading)
        /// 400: apps could read the path differently, or no app can read it.
        case refused(Reason)
    }

    /// The bytes as received. They are forwarded unchanged, apart from the route's prefixes.
    package let raw: UnsafeBufferPointer<UInt8>
    /// The path percent-decoded once, with runs of `/` merged and `;parameters` dropped. An encoded slash stays `%2F`.
    /// Routes are matched by these bytes.
    package let bytes: UnsafeBufferPointer<UInt8>
    /// The habits with which apps could read the path differently. Empty for nearly every request.
    package let habits: PathHabits
    /// Whether the path belongs to the gateway on every host: `/.sallyport` and all paths below it.
    package let isReserved: Bool

    /// Whether the reading is the received path itself, not a copy.
    package var isRaw: Bool { self.raw.baseAddress == self.bytes.baseAddress }

    /// Whether the path contains `%2F` (`allow_encoded_slashes`).
    package var hasEncodedSlash: Bool { self.habits.contains(.splitsEncodedSlash) }

    /// Reads `raw`, the origin-form target up to `?`.
    ///
    /// A path of plain bytes is read once, eight bytes at a time, and is not copied.
    ///
    /// - Parameter scratch: Memory for a reading that differs from the path. A path that does not fit is rejected.
    @inline(__always)
    package static func read(
        _ raw: UnsafeBufferPointer<UInt8>,
        into scratch: UnsafeMutableBufferPointer<UInt8>
    ) -> Outcome {
        if Self.isPlain(raw) {
            return .read(PathReading(raw: raw, bytes: raw, habits: [], isReserved: false))
        }
        return Self.readOddities(raw, scratch)
    }

    /// Whether every app reads the path as the bytes that were sent, and the path is not the gateway's. The path has no
    /// `%`, `;`, `:`, `\` or `//`, and no segment that begins or ends with a dot.
    @inline(__always)
    static func isPlain(_ raw: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = raw.baseAddress, !raw.isEmpty, base[0] == UInt8(ascii: "/") else { return false }
        let count = raw.count
        var index = 0
        var afterSlash: UInt64 = 0
        var afterDot: UInt64 = 0
        while index &+ 8 <= count {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
            // A borrow may also mark the next byte. This only sends a path to the slow check, never past it.
            let slash = Self.mark(word, 0x2F2F_2F2F_2F2F_2F2F)
            let dot = Self.mark(word, 0x2E2E_2E2E_2E2E_2E2E)
            var odd = Self.mark(word, 0x2525_2525_2525_2525)
            // `:` and `;` differ in the lowest bit.
            odd |= Self.mark(word | 0x0101_0101_0101_0101, 0x3B3B_3B3B_3B3B_3B3B)
            odd |= Self.mark(word, 0x5C5C_5C5C_5C5C_5C5C) | Self.mark(word, 0x2323_2323_2323_2323)
            odd |= Self.mark(word, 0x3F3F_3F3F_3F3F_3F3F) | Self.mark(word, 0x7F7F_7F7F_7F7F_7F7F)
            odd |= (word | ((word &- 0x2121_2121_2121_2121) & ~word)) & 0x8080_8080_8080_8080
            odd |= (slash &<< 8 | afterSlash) & (slash | dot)
            odd |= (dot &<< 8 | afterDot) & slash
            if odd != 0 { return false }
            afterSlash = slash &>> 56
            afterDot = dot &>> 56
            index &+= 8
        }
        var previous = index > 0 ? base[index &- 1] : 0
        while index < count {
            let byte = base[index]
            switch byte {
            case 0x25, 0x3A, 0x3B, 0x5C, 0x23, 0x3F, 0..<0x21, 0x7F...: return false
            case 0x2F: if previous == 0x2F || previous == 0x2E { return false }
            case 0x2E: if previous == 0x2F { return false }
            default: break
            }
            previous = byte
            index &+= 1
        }
        return previous != 0x2E
    }

    @inline(__always)
    private static func mark(_ word: UInt64, _ pattern: UInt64) -> UInt64 {
        let difference = word ^ pattern
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }

    private static func readOddities(
        _ raw: UnsafeBufferPointer<UInt8>,
        _ scratch: UnsafeMutableBufferPointer<UInt8>
    ) -> Outcome {
        guard raw.first == UInt8(ascii: "/"), raw.count <= scratch.count, let output = scratch.baseAddress else {
            return .refused(.requestTarget)
        }
        var inspection = PathInspection()
        if let reason = inspection.refusal(raw, output) { return .refused(reason) }
        let habits = inspection.habits
        var bytes = raw
        // Colons and trailing dots alone do not change the reading.
        if !habits.isDisjoint(with: .reading) {
            let count = PathHabits.reading.read(raw, into: output)
            bytes = UnsafeBufferPointer(start: output, count: count)
        }
        let isReserved = Self.isReserved(bytes)
        // A path is rejected if one reading belongs to the gateway and another to the app.
        guard isReserved == Self.isReserved(raw) else { return .refused(.pathAmbiguous) }
        return .read(PathReading(raw: raw, bytes: bytes, habits: habits, isReserved: isReserved))
    }

    private static let reserved: StaticString = "/.sallyport"

    /// Whether `path` is `/.sallyport` or a path below it.
    package static func isReserved(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let count = Self.reserved.utf8CodeUnitCount
        guard path.count >= count else { return false }
        for index in 0..<count where path[index] != Self.reserved.utf8Start[index] { return false }
        return path.count == count || path[count] == UInt8(ascii: "/")
    }
}

/// Finds forbidden parts of a path and parts that apps read differently.
private struct PathInspection {
    private(set) var habits: PathHabits = []
    private var hasEncodedPercent = false

    /// Returns the reason for rejecting the path. Returns `nil` if the path is accepted with `habits`.
    mutating func refusal(_ raw: UnsafeBufferPointer<UInt8>, _ scratch: UnsafeMutablePointer<UInt8>) -> Reason? {
        if let reason = self.refusal(ofBytes: raw) { return reason }
        let eager: PathHabits = [.decodes, .splitsEncodedSlash, .splitsBackslash]
        // Dropping parameters before or after decoding gives different results if an escape follows the `;`.
        if self.habits.contains([.decodes, .dropsParameters]) { self.habits.insert(.dropsEncodedParameters) }
        let count = eager.read(raw, into: scratch)
        if let reason = self.refusal(ofSegments: scratch, count) { return reason }
        return self.hasEncodedPercent ? self.refusal(ofHidden: scratch, count) : nil
    }

    private mutating func refusal(ofBytes raw: UnsafeBufferPointer<UInt8>) -> Reason? {
        guard let base = raw.baseAddress else { return .requestTarget }
        var index = 0
        while index < raw.count {
            switch base[index] {
            case 0..<0x21, 0x7F..., UInt8(ascii: "#"), UInt8(ascii: "?"): return .requestTarget
            case UInt8(ascii: "\\"): return .pathBackslash
            case UInt8(ascii: ";"): self.habits.insert(.dropsParameters)
            case UInt8(ascii: ":"): self.habits.insert(.dropsStreams)
            case UInt8(ascii: "%"):
                guard let byte = Hexadecimal.escape(base, at: index, raw.count) else { return .pathBadEscape }
                if let reason = self.refusal(ofEscaped: byte) { return reason }
                index &+= 2
            default: break
            }
            index &+= 1
        }
        return nil
    }

    private mutating func refusal(ofEscaped byte: UInt8) -> Reason? {
        self.habits.insert(.decodes)
        switch byte {
        // Control characters, and the two bytes that begin only overlong forms of ASCII (RFC 3629 3).
        case 0..<0x20, 0x7F, 0xC0, 0xC1: return .pathBadEscape
        case UInt8(ascii: "\\"): self.habits.insert(.splitsBackslash)
        case UInt8(ascii: "/"): self.habits.insert(.splitsEncodedSlash)
        case UInt8(ascii: ";"): self.habits.insert(.dropsEncodedParameters)
        case UInt8(ascii: ":"): self.habits.insert(.dropsStreams)
        case UInt8(ascii: "%"): self.hasEncodedPercent = true
        case _ where PathHabits.endsPath(byte): self.habits.insert(.reparses)
        default: break
        }
        return nil
    }

    private mutating func refusal(ofSegments bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Reason? {
        for index in 0..<max(count - 1, 0) {
            let next = bytes[index + 1]
            // The remaining overlong forms. Other bytes beyond ASCII may be Latin-1 of an old app.
            if bytes[index] == 0xE0, (0x80..<0xA0).contains(next) { return .pathBadEscape }
            if bytes[index] == 0xF0, (0x80..<0x90).contains(next) { return .pathBadEscape }
        }
        var start = 1
        while start <= count {
            let next = PathSegments.end(bytes, from: start, count)
            let end = PathSegments.parameters(bytes, start, next)
            let stream = PathSegments.stream(bytes, start, end)
            if self.isOdd(bytes, start, end, isLast: next == count) { return .pathDotSegment }
            if stream < end, self.isOdd(bytes, start, stream, isLast: next == count) { return .pathDotSegment }
            if self.isOdd(beforeEnd: bytes, start, end) { return .pathDotSegment }
            // Dots and spaces may also follow the parameters.
            if PathSegments.trimmed(bytes, end, next) < next { self.habits.insert(.trims) }
            start = next + 1
        }
        return nil
    }

    /// Records dots and spaces at the end of a segment. Returns true for a dot segment.
    private mutating func isOdd(_ bytes: UnsafeMutablePointer<UInt8>, _ start: Int, _ end: Int, isLast: Bool) -> Bool {
        let trimmed = PathSegments.trimmed(bytes, start, end)
        if trimmed < end { self.habits.insert(.trims) }
        if trimmed == start, !isLast { self.habits.insert(.merges) }
        return PathSegments.isDots(bytes, start, end)
    }

    /// Records dots and spaces before the first `#` or `?`: an app that parses the path as a URL ends it there. Returns
    /// true if the segment is then a dot segment.
    private mutating func isOdd(beforeEnd bytes: UnsafeMutablePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard let cut = (start..<end).first(where: { PathHabits.endsPath(bytes[$0]) }) else { return false }
        if PathSegments.trimmed(bytes, start, cut) < cut { self.habits.insert(.trims) }
        return PathSegments.isDots(bytes, start, cut)
    }

    /// The maximum number of decodings of an accepted path. No client encodes a path more often on purpose.
    private static let maxDecodings = 5

    /// Checks what a second decoding and further ones would produce.
    private mutating func refusal(ofHidden bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Reason? {
        var count = count
        for decoding in 2...Self.maxDecodings {
            let hidden = HiddenEscapes.decode(bytes, count, as: [.splitsHiddenSlash, .splitsBackslash])
            guard hidden.isChanged else { return nil }
            self.habits.insert(decoding == 2 ? .decodesTwice : .decodesFurther)
            self.habits.formUnion(hidden.habits)
            count = hidden.count
            guard !hidden.isForbidden, self.refusal(ofSegments: bytes, count) == nil else { return .pathDoubleEncoding }
        }
        return HiddenEscapes.exist(in: bytes, count) ? .pathDoubleEncoding : nil
    }
}
