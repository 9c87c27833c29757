package import NIOCore
package import Transport

/// How the content of an HTTP/1 message is framed.
package enum OutgoingFraming: Equatable, Sendable {
    /// By the length in its head, or without content.
    case asIs
    /// In chunks made by the gateway.
    case chunked
    /// By the end of the connection, for an HTTP/1.0 client and an unknown length.
    case untilClose
}

/// Collects the bytes that one event sends on one connection, to send them at once. Small runs are copied, large runs
/// are queued as slices. The connections of a loop use one stage one after another.
package final class Stage {
    /// Identifies the bytes collected for one connection, until they are flushed or another connection collects.
    package struct Collection {
        fileprivate var number: UInt64 = 0

        package init() {}
    }

    private var buffer: ByteBuffer
    /// The number of the current collection.
    private var number: UInt64 = 1
    private static let copyLimit = 8192

    package init(allocator: ByteBufferAllocator) {
        self.buffer = allocator.buffer(capacity: 32_768)
    }

    /// Begins a new collection unless `collection` is current.
    @inline(__always)
    private func hold(_ collection: inout Collection) {
        if collection.number == self.number { return }
        self.number &+= 1
        collection.number = self.number
        self.buffer.clear(minimumCapacity: 16_384)
    }

    /// Calls `body` to append bytes to the collection.
    @inline(__always)
    package func append(_ collection: inout Collection, _ body: (inout ByteBuffer) -> Void) {
        self.hold(&collection)
        body(&self.buffer)
    }

    /// Appends the next `count` bytes of `content` in this framing.
    @inline(__always)
    package func take(
        _ count: Int,
        of content: inout ByteBuffer,
        _ collection: inout Collection,
        as framing: OutgoingFraming,
        to stream: @autoclosure () -> any ByteStream
    ) {
        self.hold(&collection)
        if framing == .chunked { self.beginChunk(count) }
        if count <= Self.copyLimit {
            content.withUnsafeReadableBytes { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                self.buffer.append(atMost: count) { $0.write(start, count) }
            }
            content.moveReaderIndex(forwardBy: count)
        } else if let slice = content.readSlice(length: count) {
            self.pass(slice, to: stream())
        }
        if framing == .chunked { self.buffer.writeStaticString("\r\n") }
    }

    private func beginChunk(_ count: Int) {
        self.buffer.append(atMost: 18) { writer in
            writer.writeHex(count)
            writer.write("\r\n")
        }
    }

    /// Queues the collected bytes, then `slice`.
    private func pass(_ slice: ByteBuffer, to stream: any ByteStream) {
        if self.buffer.readableBytes > 0 { stream.write(self.buffer) }
        stream.write(slice)
        self.buffer.clear(minimumCapacity: 16_384)
    }

    /// Appends the end of a message in this framing.
    @inline(__always)
    package func end(_ collection: inout Collection, as framing: OutgoingFraming) {
        if framing == .chunked { self.append(&collection) { $0.writeStaticString("0\r\n\r\n") } }
    }

    /// Appends the end of a chunked message with trailers.
    package func end(_ collection: inout Collection, with trailers: Trailers) {
        self.append(&collection) { buffer in
            buffer.writeStaticString("0\r\n")
            buffer.writeBytes(trailers.lines)
            buffer.writeStaticString("\r\n")
        }
    }

    /// Sends the collected bytes.
    ///
    /// - Parameter exactly: True to copy a small collection, because unsent bytes would keep the whole buffer (16 KiB
    ///   or more). An answer that is sent in one event needs no copy.
    @inline(__always)
    package func flush(_ collection: Collection, to stream: any ByteStream, exactly: Bool) {
        guard collection.number == self.number, self.buffer.readableBytes > 0 else { return stream.flush() }
        self.number &+= 1
        if exactly, self.buffer.readableBytes < 4096 {
            stream.writeAndFlush(ByteBuffer(bytes: self.buffer.readableBytesView))
        } else {
            stream.writeAndFlush(self.buffer)
        }
    }
}
