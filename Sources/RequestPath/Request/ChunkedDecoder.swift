import Vocabulary

/// Decodes a chunked body (RFC 9112 7.1) without looking at anything twice: extensions and trailers are dropped.
///
/// Feed it bytes; it says how many to skip and how many to pass on.
package struct ChunkedDecoder: Sendable, Equatable {
    package enum Step: Equatable {
        /// The next `count` bytes are framing and are consumed.
        case skip(Int)
        /// The next `count` bytes are data.
        case data(Int)
        /// The body has ended; the last bytes were framing and are consumed.
        case end(Int)
        case malformed
    }

    private enum State: Equatable {
        case sizeStart
        case size(value: Int, digits: Int)  // without leading zeros
        case afterSize  // BWS before an extension
        case extensionStart  // behind `;`
        case extensionName
        case extensionNameEnd  // BWS behind a name
        case extensionValueStart  // behind `=`
        case extensionValue
        case extensionQuoted
        case extensionQuotedPair
        case extensionValueEnd  // behind a value
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
    /// Bytes of one chunk's leading zeros and extensions, or of the trailers: bounded, as many of them are an attack
    /// (CVE-2023-39326). They are counted for each chunk anew: a signature on every chunk is honest however long the body is.
    private var overhead = 0
    private static let overheadLimit = 16_384
    /// The name of the trailer being read, in lower case, as far as it matters.
    private var trailerName: [UInt8] = []

    package init() {}

    package var isDone: Bool { self.state == .done }

    /// Looks at the next bytes; call again with what follows until everything is consumed or `.end` comes.
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
                        // `1*HEXDIG`: any number of zeros may stand in front (RFC 9112 7.1).
                        self.overhead += 1
                        guard self.overhead <= Self.overheadLimit else { return .malformed }
                    }
                    // 15 hex digits stay within Int; nobody sends an exbibyte.
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
                default: return .malformed
                }
            case .afterSize:
                switch byte {
                case 0x20, 0x09: self.overhead += 1
                case 0x3B: self.state = .extensionStart
                default: return .malformed
                }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .extensionStart, .extensionName, .extensionNameEnd, .extensionValueStart, .extensionValue,
                .extensionQuoted, .extensionQuotedPair, .extensionValueEnd:
                // Whatever an extension says is dropped, but it has to be one: other readers may end the line elsewhere.
                self.overhead += 1
                guard self.overhead <= Self.overheadLimit, let next = self.afterExtension(byte) else {
                    return .malformed
                }
                self.state = next
            case .sizeLineFeed:
                guard byte == 0x0A else { return .malformed }
                if self.remaining == 0 {
                    self.overhead = 0
                    self.state = .trailerStart
                } else {
                    self.state = .data
                    return .skip(index)
                }
            case .data, .done:
                return .malformed
            case .dataReturn:
                guard byte == 0x0D else { return .malformed }
                self.state = .dataLineFeed
            case .dataLineFeed:
                guard byte == 0x0A else { return .malformed }
                self.state = .sizeStart
            case .trailerStart:
                if byte == 0x0D {
                    self.state = .endLineFeed
                } else {
                    guard ByteClass.normalizedToken[Int(byte)] != 0 else { return .malformed }
                    self.state = .trailerName
                    self.trailerName = [byte | 0x20]
                    self.overhead += 1
                }
            case .trailerName:
                self.overhead += 1
                if byte == 0x3A {
                    // Fields that frame, route or authenticate do not come late (RFC 9110 6.5.1).
                    guard !Self.isForbiddenTrailer(self.trailerName) else { return .malformed }
                    self.state = .trailerValue
                } else if self.trailerName.count < 32, ByteClass.normalizedToken[Int(byte)] != 0 {
                    self.trailerName.append(byte | 0x20)
                } else if ByteClass.normalizedToken[Int(byte)] == 0 {
                    return .malformed
                }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .trailerValue:
                self.overhead += 1
                if byte == 0x0D { self.state = .trailerLineFeed } else if Self.isControl(byte) { return .malformed }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .trailerLineFeed:
                guard byte == 0x0A else { return .malformed }
                self.state = .trailerStart
            case .endLineFeed:
                guard byte == 0x0A else { return .malformed }
                self.state = .done
                return .end(index)
            }
        }
        return .skip(index)
    }

    /// The state behind one byte of `chunk-ext` (RFC 9112 7.1.1); nil: not an extension.
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

    private static let forbiddenTrailers = [
        "content-length", "transfer-encoding", "host", "trailer", "te", "connection", "content-encoding",
        "content-type",
        "content-range", "authorization", "cookie", "set-cookie", "expect",
    ].map { Array($0.utf8) }

    private static func isForbiddenTrailer(_ name: [UInt8]) -> Bool {
        self.forbiddenTrailers.contains(name)
    }

    @inline(__always)
    private static func isControl(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }
}
