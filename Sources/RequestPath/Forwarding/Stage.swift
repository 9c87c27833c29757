package import NIOCore

/// Where bytes go: one client's or one app's side of an exchange. Used on its loop.
package protocol ByteSink: AnyObject {
    /// Queues bytes behind those that were written before.
    func write(_ bytes: ByteBuffer)
    /// Queues bytes, and lets all that is queued leave.
    func writeAndFlush(_ bytes: ByteBuffer)
    /// Lets all that is queued leave. The peer may turn out to be gone, which ends the exchange from within this call.
    func flush()
    /// False while more is queued than the peer has taken lately.
    var isWritable: Bool { get }
}

/// Collects what one event sends to one peer: small runs are copied together, large ones pass as slices, and all leave
/// with one flush. One per loop, used by one event at a time.
package final class Stage {
    private var buffer: ByteBuffer
    private static let copyLimit = 8192

    package init(allocator: ByteBufferAllocator) {
        self.buffer = allocator.buffer(capacity: 32_768)
    }

    /// Begins a collection; what an earlier one wrote has left or is kept by the sink that could not send it yet.
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
                _ = self.buffer.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
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
    /// - Parameter exactly: little is sent in a buffer of its own size. A stream's small pieces may wait long for a slow
    ///   reader, and each would keep 16 KiB of ours; the one answer of one event does not wait.
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
