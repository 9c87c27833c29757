package import NIOCore

/// Takes bytes for one peer: the client's or the app's side of an exchange. Used on its loop.
package protocol ByteSink: AnyObject {
    /// Queues bytes after those that were written before.
    func write(_ bytes: ByteBuffer)
    /// Queues bytes and sends everything that is queued.
    func writeAndFlush(_ bytes: ByteBuffer)
    /// Sends everything that is queued. If the peer turns out to be gone, the exchange ends during this call.
    func flush()
    /// False while too many bytes are queued.
    var isWritable: Bool { get }
}

/// Collects the bytes that one event sends to one peer. Small runs are copied together, large ones are passed as
/// slices, and one flush sends everything. Each loop has one stage, which one event at a time uses.
package final class Stage {
    private var buffer: ByteBuffer
    private static let copyLimit = 8192

    package init(allocator: ByteBufferAllocator) {
        self.buffer = allocator.buffer(capacity: 32_768)
    }

    /// Begins a new collection. A sink that has not sent the bytes of an earlier one keeps them itself.
    @inline(__always)
    package func begin() {
        self.buffer.clear(minimumCapacity: 16_384)
    }

    /// Lets `body` append to the collection directly.
    @inline(__always)
    package func append(_ body: (inout ByteBuffer) -> Void) {
        body(&self.buffer)
    }

    /// Adds the next `count` bytes of `source`.
    @inline(__always)
    package func take(_ count: Int, from source: inout ByteBuffer, to sink: any ByteSink) {
        if count <= Self.copyLimit {
            source.withUnsafeReadableBytes { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                self.buffer.append(atMost: count) { $0.write(start, count) }
            }
            source.moveReaderIndex(forwardBy: count)
        } else if let slice = source.readSlice(length: count) {
            self.pass(to: sink)
            sink.write(slice)
            self.buffer.clear(minimumCapacity: 16_384)
        }
    }

    private func pass(to sink: any ByteSink) {
        if self.buffer.readableBytes > 0 { sink.write(self.buffer) }
    }

    /// Sends everything collected.
    ///
    /// - Parameter exactly: Copies a small collection into a buffer of its own size. Otherwise each small piece of a
    ///   stream that waits for a slow reader would keep 16 KiB. An answer that is sent in one event does not need this.
    @inline(__always)
    package func flush(to sink: any ByteSink, exactly: Bool) {
        if self.buffer.readableBytes > 0 {
            if exactly, self.buffer.readableBytes < 4096 {
                sink.writeAndFlush(ByteBuffer(bytes: self.buffer.readableBytesView))
            } else {
                sink.writeAndFlush(self.buffer)
            }
        } else {
            sink.flush()
        }
    }

    @inline(__always)
    package var byteCount: Int { self.buffer.readableBytes }
}
