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
        case size(value: Int, digits: Int)
        case afterSize  // BWS before an extension
        case chunkExtension
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

    private var state = State.size(value: 0, digits: 0)
    private var remaining = 0
    /// Bytes of extensions in the whole body and of trailers: small, or somebody is playing (CVE-2023-39326 and kin).
    private var overhead = 0
    private static let overheadLimit = 16_384

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
            case .size(let value, let digits):
                if let digit = Self.hexValue(byte) {
                    // 15 hex digits stay within Int; nobody sends an exbibyte.
                    guard digits < 15 else { return .malformed }
                    self.state = .size(value: value << 4 | digit, digits: digits + 1)
                    continue
                }
                guard digits > 0 else { return .malformed }
                self.remaining = value
                switch byte {
                case 0x0D: self.state = .sizeLineFeed
                case 0x3B: self.state = .chunkExtension
                case 0x20, 0x09: self.state = .afterSize
                default: return .malformed
                }
            case .afterSize:
                switch byte {
                case 0x20, 0x09: self.overhead += 1
                case 0x3B: self.state = .chunkExtension
                default: return .malformed
                }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .chunkExtension:
                // Whatever an extension says is dropped, but a bare LF or control would end the line for other readers.
                self.overhead += 1
                if byte == 0x0D { self.state = .sizeLineFeed } else if Self.isControl(byte) { return .malformed }
                if self.overhead > Self.overheadLimit { return .malformed }
            case .sizeLineFeed:
                guard byte == 0x0A else { return .malformed }
                if self.remaining == 0 {
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
                self.state = .size(value: 0, digits: 0)
            case .trailerStart:
                if byte == 0x0D {
                    self.state = .endLineFeed
                } else {
                    guard ByteClass.normalizedToken[Int(byte)] != 0 else { return .malformed }
                    self.state = .trailerName
                    self.overhead += 1
                }
            case .trailerName:
                self.overhead += 1
                if byte == 0x3A {
                    self.state = .trailerValue
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

    @inline(__always)
    private static func hexValue(_ byte: UInt8) -> Int? {
        if byte &- 0x30 <= 9 { return Int(byte &- 0x30) }
        let lower = (byte | 0x20) &- 0x61
        return lower < 6 ? Int(lower) + 10 : nil
    }

    private static func isControl(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }
}
