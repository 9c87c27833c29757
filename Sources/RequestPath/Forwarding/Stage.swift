package import NIOCore
package import Transport

/// The framing of an HTTP/1 message's content when it is sent.
package enum OutgoingFraming: Equatable, Sendable {
    /// With the length in its head, or without content.
    case asIs
    /// In the gateway's own chunks.
    case chunked
    /// As raw bytes until the connection closes, for an HTTP/1.0 client and an unknown length.
    case untilClose
}

/// Collects the bytes that one event sends on one connection. Small runs of bytes are copied together, and large runs
/// are passed as slices. One flush sends everything. The connections of a loop use its stage one after another.
package final class Stage {
    /// The bytes that one connection collects. A collection ends when it is flushed or another connection begins one.
    package struct Collection {
        fileprivate var number: UInt64 = 0

        package init() {}
    }

    private var buffer: ByteBuffer
    /// The number of the last collection.
    private var number: UInt64 = 1
    private static let copyLimit = 8192

    package init(allocator: ByteBufferAllocator) {
        self.buffer = allocator.buffer(capacity: 32_768)
    }

    /// Begins a new collection, unless `collection` is current. The stream itself keeps unsent bytes of an earlier
    /// collection.
    @inline(__always)
    private func hold(_ collection: inout Collection) {
        if collection.number == self.number { return }
        self.number &+= 1
        collection.number = self.number
        self.buffer.clear(minimumCapacity: 16_384)
    }

    /// Lets `body` append to the collection directly.
    @inline(__always)
    package func append(_ collection: inout Collection, _ body: (inout ByteBuffer) -> Void) {
        self.hold(&collection)
        body(&self.buffer)
    }

    /// Adds the next `count` bytes of `content` in this framing.
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

    /// Adds the end of a message in this framing.
    @inline(__always)
    package func end(_ collection: inout Collection, as framing: OutgoingFraming) {
        if framing == .chunked { self.append(&collection) { $0.writeStaticString("0\r\n\r\n") } }
    }

    /// Adds the end of a message that is sent in chunks, and its trailers.
    package func end(_ collection: inout Collection, with trailers: Trailers) {
        self.append(&collection) { buffer in
            buffer.writeStaticString("0\r\n")
            buffer.writeBytes(trailers.lines)
            buffer.writeStaticString("\r\n")
        }
    }

    /// Sends everything collected.
    ///
    /// - Parameter exactly: Whether a small collection is copied into a buffer of its own size. Otherwise, each small
    ///   piece that waits for a slow reader would occupy 16 KiB. An answer that is sent in one event needs no copy.
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
