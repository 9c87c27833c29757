package import NIOCore

/// How much of a message body has been decoded.
package enum BodyProgress: Equatable, Sendable {
    case more
    /// The body is complete.
    case end
    case malformed
}

/// Finds the content in the body of one HTTP/1 request or answer.
package struct BodyDecoder {
    private enum State {
        case length(Int)
        case chunked(ChunkedDecoder)
        case untilClose
        case done
        /// The state while `decode` works on a chunked decoder.
        case moved
    }

    private var state: State
    /// The number of content bytes decoded so far.
    package private(set) var byteCount = 0

    package init(_ framing: BodyFraming, ofAnswer isAnswers: Bool = false, lenient isLenient: Bool = false) {
        switch framing {
        case .none: self.state = .done
        case .length(let length): self.state = length == 0 ? .done : .length(length)
        case .chunked: self.state = .chunked(ChunkedDecoder(ofAnswer: isAnswers, lenient: isLenient))
        case .untilClose, .byStream: self.state = .untilClose
        }
    }

    @inline(__always)
    package var isDone: Bool {
        if case .done = self.state { return true }
        return false
    }

    /// Whether the body ends when the connection ends.
    package var endsWithConnection: Bool {
        if case .untilClose = self.state { return true }
        return false
    }

    /// Whether the body has a declared length and more than `limit` bytes of it are missing. Not inlined: inlining this
    /// function crashes Swift 6.3's optimiser.
    @inline(never)
    package func misses(moreThan limit: Int) -> Bool {
        if case .length(let count) = self.state { return count > limit }
        return false
    }

    /// Discards bytes of the body.
    package mutating func discard(_ buffer: inout ByteBuffer) -> BodyProgress {
        self.decode(&buffer, Self.drop)
    }

    /// Drops the next `count` bytes of `buffer`.
    package static func drop(_ count: Int, of buffer: inout ByteBuffer) {
        buffer.moveReaderIndex(forwardBy: count)
    }

    /// Takes the bytes of the body from the front of `buffer`. Bytes after the end of the body remain.
    ///
    /// - Parameters:
    ///   - take: Called with the length of each run of content at the front of the buffer. It must take these bytes.
    ///   - takeTrailers: Called with the length of each run of trailer lines at the front of the buffer. It must take
    ///     these bytes. The default drops them.
    @inline(__always)
    package mutating func decode(
        _ buffer: inout ByteBuffer,
        _ take: (_ count: Int, _ content: inout ByteBuffer) -> Void,
        trailers takeTrailers: (_ count: Int, _ content: inout ByteBuffer) -> Void = BodyDecoder.drop
    ) -> BodyProgress {
        switch self.state {
        case .done, .moved:
            return .end
        case .length(let remaining):
            let count = min(remaining, buffer.readableBytes)
            self.byteCount &+= count
            if count > 0 { take(count, &buffer) }
            self.state = count == remaining ? .done : .length(remaining &- count)
            return count == remaining ? .end : .more
        case .untilClose:
            let count = buffer.readableBytes
            self.byteCount &+= count
            if count > 0 { take(count, &buffer) }
            return .more
        case .chunked(var decoder):
            // Moving the decoder out and back avoids a copy at each step.
            self.state = .moved
            while buffer.readableBytes > 0 {
                let step = buffer.withUnsafeReadableBytes { decoder.next($0.assumingMemoryBound(to: UInt8.self)) }
                switch step {
                case .skip(let count):
                    buffer.moveReaderIndex(forwardBy: count)
                case .data(let count):
                    self.byteCount &+= count
                    take(count, &buffer)
                case .trailer(let count):
                    takeTrailers(count, &buffer)
                case .end(let count):
                    buffer.moveReaderIndex(forwardBy: count)
                    self.state = .done
                    return .end
                case .malformed:
                    self.state = .chunked(decoder)
                    return .malformed
                }
            }
            self.state = .chunked(decoder)
            return .more
        }
    }
}
