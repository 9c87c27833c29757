import Vocabulary

/// Decodes a chunked body (RFC 9112 7.1). Extensions are dropped.
package struct ChunkedDecoder: Sendable, Equatable {
    package enum Step: Equatable {
        /// The next `count` bytes are framing and are consumed.
        case skip(Int)
        /// The next `count` bytes are data.
        case data(Int)
        /// The next `count` bytes are lines of the trailer section and are consumed.
        case trailer(Int)
        /// The next `count` bytes are framing and are consumed. The body ends after them.
        case end(Int)
        case malformed
    }

    private enum State: Equatable {
        case sizeStart
        case size(value: Int, digits: Int)  // without leading zeros
        case afterSize  // BWS before an extension
        case extensionStart  // after `;`
        case extensionName
        case extensionNameEnd  // BWS after a name
        case extensionValueStart  // after `=`
        case extensionValue
        case extensionQuoted
        case extensionQuotedPair
        case extensionValueEnd  // after a value
        case sizeLineFeed
        case data
        case dataReturn
        case dataLineFeed
        case trailerStart
        case trailerName
        case trailerValue
        case trailerLineFeed
        case endLineFeed
        case done
    }

    private var state = State.sizeStart
    private var remaining = 0
    /// The number of bytes in the leading zeros and extensions of one chunk, or in the trailers. Limited, because
    /// attackers send many of these bytes (CVE-2023-39326).
    private var overhead = 0
    private static let overheadLimit = 16_384
    /// One bit for each forbidden trailer name that begins with the bytes read so far. `nameLength` is the number of
    /// these bytes.
    private var forbiddenMatches: UInt16 = 0
    private var nameLength = 0

    /// Whether the body belongs to an answer. Forbidden trailers make a request invalid. In an answer, `TrailerRules`
    /// drops them.
    private let isAnswers: Bool
    /// Whether an old server's answer is parsed (`answers: lenient`): blanks may follow a size, and a bare LF ends a
    /// line.
    private let isLenient: Bool

    package init(ofAnswer isAnswers: Bool = false, lenient isLenient: Bool = false) {
        self.isAnswers = isAnswers
        self.isLenient = isLenient
    }

    package var isDone: Bool { self.state == .done }

    /// Reads the next bytes. Callers pass the remaining bytes again until all are consumed or `.end` is returned.
    package mutating func next(_ bytes: UnsafeBufferPointer<UInt8>) -> Step {
        if self.state == .data, self.remaining > 0 {
            let count = min(self.remaining, bytes.count)
            self.remaining -= count
            if self.remaining == 0 { self.state = .dataReturn }
            return .data(count)
        }
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index &+= 1
            switch self.state {
            case .sizeStart:
                guard let digit = Hexadecimal.value(byte) else { return .malformed }
                self.overhead = 0
                self.state = .size(value: Int(digit), digits: digit == 0 ? 0 : 1)
            case .size(let value, let digits):
                if let digit = Hexadecimal.value(byte) {
                    if value == 0 {
                        // `1*HEXDIG` allows any number of leading zeros (RFC 9112 7.1).
                        self.overhead += 1
                        guard self.overhead <= Self.overheadLimit else { return .malformed }
                    }
                    // A number of 15 hexadecimal digits fits in Int and exceeds the size of any body.
                    guard digits < 15 else { return .malformed }
                    self.state = .size(
                        value: value << 4 | Int(digit),
                        digits: value == 0 && digit == 0 ? 0 : digits + 1
                    )
                    continue
                }
                self.remaining = value
                switch byte {
                case 0x0D: self.state = .sizeLineFeed
                case 0x3B: self.state = .extensionStart
                case 0x20, 0x09: self.state = .afterSize
                case 0x0A where self.isLenient:
                    if self.endsSize() { return .skip(index) }
                default: return .malformed
                }
            case .afterSize:
                switch byte {
                case 0x20, 0x09: self.overhead += 1
                case 0x3B: self.state = .extensionStart
                case 0x0D where self.isLenient: self.state = .sizeLineFeed
                case 0x0A where self.isLenient:
                    if self.endsSize() { return .skip(index) }
                default: return .malformed
                }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .extensionStart, .extensionName, .extensionNameEnd, .extensionValueStart, .extensionValue,
                .extensionQuoted, .extensionQuotedPair, .extensionValueEnd:
                // Extensions are dropped only after a syntax check because another reader may end a malformed line
                // elsewhere.
                self.overhead += 1
                guard self.overhead <= Self.overheadLimit, let next = self.afterExtension(byte) else {
                    return .malformed
                }
                self.state = next
            case .sizeLineFeed:
                guard byte == 0x0A else { return .malformed }
                if self.endsSize() { return .skip(index) }
            case .data, .done:
                return .malformed
            case .dataReturn:
                if byte == 0x0A, self.isLenient {
                    self.state = .sizeStart
                    continue
                }
                guard byte == 0x0D else { return .malformed }
                self.state = .dataLineFeed
            case .dataLineFeed:
                guard byte == 0x0A else { return .malformed }
                self.state = .sizeStart
            case .trailerStart:
                if byte == 0x0D {
                    self.state = .endLineFeed
                } else if byte == 0x0A, self.isLenient {
                    self.state = .done
                    return .end(index)
                } else {
                    // The caller receives trailer lines from their first byte on.
                    return index > 1 ? .skip(index &- 1) : self.nextOfTrailers(bytes)
                }
            case .trailerName, .trailerValue, .trailerLineFeed:
                return self.nextOfTrailers(bytes)
            case .endLineFeed:
                guard byte == 0x0A else { return .malformed }
                self.state = .done
                return .end(index)
            }
        }
        return .skip(index)
    }

    /// Reads bytes that begin within a trailer line or at the start of a trailer line.
    @inline(never)
    private mutating func nextOfTrailers(_ bytes: UnsafeBufferPointer<UInt8>) -> Step {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch self.state {
            case .trailerStart:
                if byte == 0x0D || byte == 0x0A && self.isLenient { return .trailer(index) }
                guard ByteClass.normalizedToken[Int(byte)] != 0 else { return .malformed }
                self.state = .trailerName
                self.forbiddenMatches = Self.allForbidden
                self.nameLength = 0
                self.match(byte)
            case .trailerName:
                if byte == 0x3A {
                    // A trailer must not hold fields for framing, routing or authentication (RFC 9110 6.5.1).
                    guard self.isAnswers || !self.isForbiddenTrailer else { return .malformed }
                    self.state = .trailerValue
                } else {
                    guard ByteClass.normalizedToken[Int(byte)] != 0 else { return .malformed }
                    self.match(byte)
                }
            case .trailerValue:
                if byte == 0x0D {
                    self.state = .trailerLineFeed
                } else if byte == 0x0A, self.isLenient {
                    self.state = .trailerStart
                } else if Self.isControl(byte) {
                    return .malformed
                }
            default:
                guard byte == 0x0A else { return .malformed }
                self.state = .trailerStart
            }
            self.overhead += 1
            guard self.overhead <= Self.overheadLimit else { return .malformed }
            index &+= 1
        }
        return .trailer(index)
    }

    /// Ends the line that holds a chunk's size. Returns true if chunk data follows and false if trailers follow.
    private mutating func endsSize() -> Bool {
        self.overhead = 0
        self.state = self.remaining == 0 ? .trailerStart : .data
        return self.state == .data
    }

    /// Returns the state after one byte of `chunk-ext` (RFC 9112 7.1.1). `nil` if the byte is not allowed there.
    private func afterExtension(_ byte: UInt8) -> State? {
        let isToken = ByteClass.normalizedToken[Int(byte)] != 0
        let isBlank = byte == 0x20 || byte == 0x09
        switch self.state {
        case .extensionStart:
            return isBlank ? .extensionStart : isToken ? .extensionName : nil
        case .extensionName, .extensionNameEnd:
            if isToken { return self.state == .extensionName ? .extensionName : nil }
            if isBlank { return .extensionNameEnd }
            if byte == 0x3D { return .extensionValueStart }
            if byte == 0x3B { return .extensionStart }
            return byte == 0x0D && self.state == .extensionName ? .sizeLineFeed : nil
        case .extensionValueStart:
            if isBlank { return .extensionValueStart }
            return byte == 0x22 ? .extensionQuoted : isToken ? .extensionValue : nil
        case .extensionValue, .extensionValueEnd:
            if isToken { return self.state == .extensionValue ? .extensionValue : nil }
            if isBlank { return .extensionValueEnd }
            if byte == 0x3B { return .extensionStart }
            return byte == 0x0D ? .sizeLineFeed : nil
        case .extensionQuoted:
            if byte == 0x22 { return .extensionValueEnd }
            if byte == 0x5C { return .extensionQuotedPair }
            return Self.isControl(byte) ? nil : .extensionQuoted
        case .extensionQuotedPair:
            return Self.isControl(byte) ? nil : .extensionQuoted
        default:
            return nil
        }
    }

    private static let allForbidden: UInt16 = 1 << UInt16(FieldNames.refusedTrailers.count) - 1

    /// Matches the next byte of a trailer's name against the forbidden names.
    private mutating func match(_ byte: UInt8) {
        for (index, name) in FieldNames.refusedTrailers.enumerated()
        where self.nameLength >= name.count || name[self.nameLength] != byte | 0x20 {
            self.forbiddenMatches &= ~(1 << UInt16(index))
        }
        self.nameLength += 1
    }

    private var isForbiddenTrailer: Bool {
        FieldNames.refusedTrailers.enumerated().contains { index, name in
            self.forbiddenMatches & 1 << UInt16(index) != 0 && name.count == self.nameLength
        }
    }

    @inline(__always)
    private static func isControl(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }
}
