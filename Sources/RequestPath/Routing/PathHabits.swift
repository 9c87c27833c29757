import Vocabulary

/// The ways in which an app may transform a path before using it.
///
/// For example, nginx decodes and merges slashes, servlet containers drop `;parameters`, and Windows ignores dots and
/// spaces at the end of a name. A path is safe to route if all readings lead to routes with equal demands
/// (`HostEntry.match`). `LetterCase` and `RouteTree.judgingPathInfo` check two more habits.
package struct PathHabits: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// `%61` is `a`. Without this habit, only characters are decoded that a path cannot contain otherwise
    /// (`needsEscape`).
    package static let decodes = PathHabits(rawValue: 1)
    /// `%2F` separates segments. Without this habit, `%2F` is kept within its segment.
    package static let splitsEncodedSlash = PathHabits(rawValue: 2)
    /// `%2561` is `a`.
    package static let decodesTwice = PathHabits(rawValue: 4)
    /// `;` ends a segment before decoding (RFC 3986 3.3).
    package static let dropsParameters = PathHabits(rawValue: 8)
    /// `;` and `%3B` end a segment.
    package static let dropsEncodedParameters = PathHabits(rawValue: 16)
    /// Dots and spaces at the end of a segment are ignored.
    package static let trims = PathHabits(rawValue: 32)
    /// `//` is `/`.
    package static let merges = PathHabits(rawValue: 64)
    /// The decoded path is parsed as a URL: `%23` and `%3F` end it (CVE-2026-41059).
    package static let reparses = PathHabits(rawValue: 128)
    /// `:` and `%3A` end a segment: the rest names a stream of the file or directory (NTFS; CVE-1999-0278,
    /// CVE-2010-2731). Ignored on hosts with `case_sensitive: true`.
    package static let dropsStreams = PathHabits(rawValue: 256)
    /// A backslash, sent as `%5C`, separates segments (Windows). Without this habit, it is part of its segment.
    package static let splitsBackslash = PathHabits(rawValue: 512)
    /// `%252F` separates segments. Without this habit, decoding twice leaves `%2F` within its segment.
    package static let splitsHiddenSlash = PathHabits(rawValue: 1024)
    /// `%25252F` is decoded more than twice. Accepted only if all routes have equal demands (`HostEntry.isUniform`).
    package static let decodesFurther = PathHabits(rawValue: 2048)

    /// The habits with which the gateway matches routes: decoded once, runs of `/` merged, parameters dropped.
    package static let reading: PathHabits = [.decodes, .dropsParameters, .dropsEncodedParameters, .merges]

    /// The number of habits.
    package var count: Int { self.rawValue.nonzeroBitCount }

    /// The reason for rejecting a path if its readings lead to different demands.
    var refusal: Reason {
        if self.contains(.splitsBackslash) { return .pathBackslash }
        return self.isDisjoint(with: [.splitsHiddenSlash, .decodesFurther]) ? .pathAmbiguous : .pathDoubleEncoding
    }

    /// Whether these habits must be tried on a path for which the habits in `present` matter. False if no app has them,
    /// or if a smaller set gives an equal reading.
    func isCoherent(among present: PathHabits) -> Bool {
        let needDecoding: PathHabits = [
            .splitsEncodedSlash, .decodesTwice, .dropsEncodedParameters, .reparses, .splitsBackslash,
        ]
        if !self.contains(.decodes), !self.isDisjoint(with: needDecoding) { return false }
        if self.contains([.dropsParameters, .dropsEncodedParameters]) { return false }
        if self.contains(.splitsHiddenSlash), !self.contains(.decodesTwice) { return false }
        // Decoding twice includes decoding the slash the first time.
        if self.contains(.decodesTwice), present.contains(.splitsEncodedSlash) {
            return self.contains(.splitsEncodedSlash)
        }
        return true
    }

    /// Writes the path as read by an app with these habits.
    ///
    /// - Parameters:
    ///   - raw: A path that begins with `/` and has only well-formed escapes.
    ///   - output: Memory for `raw.count` bytes. No reading is longer.
    /// - Returns: The number of bytes written.
    func read(_ raw: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<UInt8>) -> Int {
        var count = self.copy(raw, output)
        count = self.decode(output, count)
        if self.contains(.decodesTwice) { count = HiddenEscapes.decode(output, count, as: self).count }
        if self.contains(.reparses) {
            count = (0..<count).first { PathHabits.endsPath(output[$0]) } ?? count
        }
        let tidying: PathHabits = [.dropsEncodedParameters, .dropsStreams, .trims, .merges]
        return self.isDisjoint(with: tidying) ? count : self.tidy(output, count)
    }

    @inline(__always)
    static func endsPath(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "#") || byte == UInt8(ascii: "?") }

    private func copy(_ raw: UnsafeBufferPointer<UInt8>, _ output: UnsafeMutablePointer<UInt8>) -> Int {
        let drops = self.contains(.dropsParameters)
        var count = 0
        var isDropping = false
        for byte in raw {
            if byte == UInt8(ascii: "/") {
                isDropping = false
            } else if drops, byte == UInt8(ascii: ";") {
                isDropping = true
            }
            if isDropping { continue }
            output[count] = byte
            count &+= 1
        }
        return count
    }

    /// Whether a path can contain the byte only as an escape: a space, a byte beyond ASCII, or a character that RFC
    /// 3986 3.3 does not allow there. Excludes `%`, `?`, `#` and `\`, which the gateway rejects or reads specially.
    static func needsEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x22, 0x3C, 0x3E, 0x5B, 0x5D, 0x5E, 0x60, 0x7B...0x7D, 0x80...: true
        default: false
        }
    }

    private func decode(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
        let (keepsSlash, decodesAll) = (!self.contains(.splitsEncodedSlash), self.contains(.decodes))
        var read = 0
        var write = 0
        while read < count {
            guard bytes[read] == UInt8(ascii: "%"), let byte = Hexadecimal.escape(bytes, at: read, count),
                decodesAll || Self.needsEscape(byte)
            else {
                bytes[write] = bytes[read]
                read &+= 1
                write &+= 1
                continue
            }
            read &+= 3
            if keepsSlash, byte == UInt8(ascii: "/") {
                // `%2f` and `%2F` are written in one spelling.
                bytes[write] = UInt8(ascii: "%")
                bytes[write + 1] = UInt8(ascii: "2")
                bytes[write + 2] = UInt8(ascii: "F")
                write &+= 3
            } else {
                bytes[write] = self.splits(byte) ? UInt8(ascii: "/") : byte
                write &+= 1
            }
        }
        return write
    }

    /// Whether the byte is a backslash and separates segments.
    @inline(__always)
    func splits(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\\") && self.contains(.splitsBackslash) }

    /// Applies the habits that change segments. All separators have been decoded before.
    private func tidy(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
        var read = 0
        var write = 0
        while read < count {
            let start = read + 1
            let next = PathSegments.end(bytes, from: start, count)
            var end = next
            if self.contains(.dropsEncodedParameters) { end = PathSegments.parameters(bytes, start, end) }
            if self.contains(.dropsStreams) { end = PathSegments.stream(bytes, start, end) }
            if self.contains(.trims) { end = PathSegments.trimmed(bytes, start, end) }
            read = next
            if self.contains(.merges), end == start, next < count { continue }
            bytes[write] = UInt8(ascii: "/")
            write &+= 1
            for index in start..<end {
                bytes[write] = bytes[index]
                write &+= 1
            }
        }
        return write
    }
}

/// Escapes that appear only after decoding once: `%252e` contains `%2e`.
enum HiddenEscapes {
    struct Result {
        var count: Int
        /// Whether at least one escape was decoded.
        var isChanged = false
        /// Whether a decoded byte is a control character or cannot occur in UTF-8.
        var isForbidden = false
        /// The habits that matter because of the decoded bytes.
        var habits: PathHabits = []
    }

    /// Decodes in place. A `%` without two hexadecimal digits is a percent sign.
    ///
    /// - Parameter reader: The app's habits. Without `.splitsHiddenSlash`, `%2F` is kept.
    static func decode(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, as reader: PathHabits) -> Result {
        var result = Result(count: 0)
        var read = 0
        while read < count {
            var byte = bytes[read]
            if byte == UInt8(ascii: "%"), let decoded = Hexadecimal.escape(bytes, at: read, count) {
                byte = reader.splits(decoded) ? UInt8(ascii: "/") : decoded
                read &+= 3
                result.isChanged = true
                switch decoded {
                case 0..<0x20, 0x7F, 0xC0, 0xC1: result.isForbidden = true
                case UInt8(ascii: "\\"): result.habits.insert(.splitsBackslash)
                case UInt8(ascii: "/"):
                    result.habits.insert(.splitsHiddenSlash)
                    if !reader.contains(.splitsHiddenSlash) {
                        bytes[result.count] = UInt8(ascii: "%")
                        bytes[result.count + 1] = UInt8(ascii: "2")
                        result.count &+= 2
                        byte = UInt8(ascii: "F")
                    }
                case UInt8(ascii: ";"): result.habits.insert(.dropsEncodedParameters)
                case UInt8(ascii: ":"): result.habits.insert(.dropsStreams)
                case _ where PathHabits.endsPath(decoded): result.habits.insert(.reparses)
                default: break
                }
            } else {
                read &+= 1
            }
            bytes[result.count] = byte
            result.count &+= 1
        }
        return result
    }

    /// Whether the bytes contain `%` and two hexadecimal digits.
    static func exist(in bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
        (0..<count).contains { bytes[$0] == UInt8(ascii: "%") && Hexadecimal.escape(bytes, at: $0, count) != nil }
    }
}

/// Finds where the segments of a path begin and end.
enum PathSegments {
    /// Returns the index of the next `/`, or `count`.
    @inline(__always)
    static func end(_ bytes: UnsafePointer<UInt8>, from start: Int, _ count: Int) -> Int {
        var index = start
        while index < count, bytes[index] != UInt8(ascii: "/") { index &+= 1 }
        return index
    }

    /// Returns the index of the first `;`, or `end`.
    static func parameters(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        Self.first(UInt8(ascii: ";"), bytes, start, end)
    }

    /// Returns the index of the first `:`, or `end`.
    static func stream(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        Self.first(UInt8(ascii: ":"), bytes, start, end)
    }

    private static func first(_ byte: UInt8, _ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        while index < end, bytes[index] != byte { index &+= 1 }
        return index
    }

    /// Returns the end of the segment without its trailing dots and spaces.
    static func trimmed(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var end = end
        while end > start, bytes[end - 1] == UInt8(ascii: ".") || bytes[end - 1] == 0x20 { end &-= 1 }
        return end
    }

    /// Whether the segment, without spaces at its end, is `.` or `..` (RFC 3986 5.2.4).
    static func isDots(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var end = end
        while end > start, bytes[end - 1] == 0x20 { end &-= 1 }
        guard end - start == 1 || end - start == 2 else { return false }
        return bytes[start] == UInt8(ascii: ".") && bytes[end - 1] == UInt8(ascii: ".")
    }
}
