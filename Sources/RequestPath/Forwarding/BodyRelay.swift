package import NIOCore

/// Passes one message body on with its framing rewritten. The same code serves requests and answers.
package struct BodyRelay {
    package enum Outcome: Equatable {
        case more
        case end
        case malformed
    }

    private enum State {
        case length(Int)
        case chunked(ChunkedDecoder)
        case untilClose
        case done
        /// Only while `advance` works on the decoder.
        case moved
    }

    private var state: State
    /// The number of content bytes so far.
    package private(set) var byteCount = 0

    package init(_ framing: BodyFraming) {
        switch framing {
        case .none: self.state = .done
        case .length(let length): self.state = length == 0 ? .done : .length(length)
        case .chunked: self.state = .chunked(ChunkedDecoder())
        case .untilClose: self.state = .untilClose
        }
    }

    @inline(__always)
    package var isDone: Bool {
        if case .done = self.state { return true }
        return false
    }

    /// Whether the body ends when the connection does.
    package var endsWithConnection: Bool {
        if case .untilClose = self.state { return true }
        return false
    }

    /// The number of bytes that are still missing; nil: unknown.
    package var remaining: Int? {
        switch self.state {
        case .length(let count): count
        case .done: 0
        default: nil
        }
    }

    /// Moves the bytes of the body from `buffer` to `stage`. Bytes after its end stay in `buffer`.
    @inline(__always)
    package mutating func relay(
        _ buffer: inout ByteBuffer,
        as framing: OutgoingFraming,
        through stage: Stage,
        to sink: any ByteSink
    ) -> Outcome {
        if self.isDone { return .end }
        let outcome = self.advance(&buffer) { count, buffer in
            guard framing == .chunked else { return stage.take(count, from: &buffer, to: sink) }
            stage.append { out in
                out.append(atMost: 18) { writer in
                    writer.writeHex(count)
                    writer.write("\r\n")
                }
            }
            stage.take(count, from: &buffer, to: sink)
            stage.append { $0.writeStaticString("\r\n") }
        }
        if outcome == .end { Self.end(framing, stage) }
        return outcome
    }

    /// Calls `see` with each run of content at the front of `buffer`, and takes nothing.
    package func look(into buffer: ByteBuffer, _ see: (UnsafeBufferPointer<UInt8>) -> Void) {
        var (relay, buffer) = (self, buffer)
        _ = relay.advance(&buffer) { count, buffer in
            buffer.withUnsafeReadableBytes { bytes in
                see(UnsafeBufferPointer(rebasing: bytes.bindMemory(to: UInt8.self)[..<count]))
            }
            buffer.moveReaderIndex(forwardBy: count)
        }
    }

    /// Discards bytes of the body.
    package mutating func discard(_ buffer: inout ByteBuffer) -> Outcome {
        self.advance(&buffer) { count, buffer in buffer.moveReaderIndex(forwardBy: count) }
    }

    /// Appends the body's content to `collected`.
    package mutating func collect(_ buffer: inout ByteBuffer, into collected: inout [UInt8]) -> Outcome {
        self.advance(&buffer) { count, buffer in
            buffer.withUnsafeReadableBytes { collected.append(contentsOf: $0[0..<count]) }
            buffer.moveReaderIndex(forwardBy: count)
        }
    }

    /// Called when the connection has ended. This ends a body without length and truncates any other.
    package mutating func connectionEnded(as framing: OutgoingFraming, through stage: Stage) -> Outcome {
        switch self.state {
        case .untilClose:
            self.state = .done
            Self.end(framing, stage)
            return .end
        case .done:
            return .end
        case .length, .chunked, .moved:
            return .malformed
        }
    }

    /// Calls `pass` with each run of content at the front of `buffer`, which it must consume.
    @inline(__always)
    private mutating func advance(_ buffer: inout ByteBuffer, _ pass: (Int, inout ByteBuffer) -> Void) -> Outcome {
        switch self.state {
        case .done, .moved:
            return .end
        case .length(let remaining):
            let count = min(remaining, buffer.readableBytes)
            self.byteCount &+= count
            if count > 0 { pass(count, &buffer) }
            self.state = count == remaining ? .done : .length(remaining &- count)
            return count == remaining ? .end : .more
        case .untilClose:
            let count = buffer.readableBytes
            self.byteCount &+= count
            if count > 0 { pass(count, &buffer) }
            return .more
        case .chunked(var decoder):
            // The decoder is moved out and back, so that it is not copied at each step.
            self.state = .moved
            while buffer.readableBytes > 0 {
                let step = buffer.withUnsafeReadableBytes { decoder.next($0.assumingMemoryBound(to: UInt8.self)) }
                switch step {
                case .skip(let count):
                    buffer.moveReaderIndex(forwardBy: count)
                case .data(let count):
                    self.byteCount &+= count
                    pass(count, &buffer)
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

    @inline(__always)
    private static func end(_ framing: OutgoingFraming, _ stage: Stage) {
        if framing == .chunked { stage.append { $0.writeStaticString("0\r\n\r\n") } }
    }
}
