import CLinux
import Glibc
import NIOCore

/// A queue of bytes to send on a stream socket.
struct WriteQueue {
    enum Outcome {
        /// Everything that was flushed has been sent.
        case sent
        /// The socket accepts no more bytes now.
        case full
        /// The call failed with the system's error.
        case failed(Int32)
    }

    /// The maximum number of buffers that one system call sends.
    private static let gatherLimit = 64

    private var buffers: [ByteBuffer] = []
    /// The index of the first buffer that has not been sent.
    private var next = 0
    private(set) var byteCount = 0
    /// The number of bytes that may be sent. Later bytes wait for `flush`.
    private var flushedCount = 0

    var isEmpty: Bool { self.byteCount == 0 }

    mutating func append(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        guard count > 0 else { return }
        self.buffers.append(bytes)
        self.byteCount += count
    }

    /// Adds the rest of partly sent bytes. A small rest is copied, so that it does not retain a large buffer.
    mutating func appendRest(_ bytes: ByteBuffer) {
        let isSmall = bytes.readableBytes < bytes.storageCapacity / 2
        self.append(isSmall ? ByteBuffer(bytes: bytes.readableBytesView) : bytes)
    }

    /// Allows all appended bytes to be sent.
    mutating func flush() {
        self.flushedCount = self.byteCount
    }

    /// Sends as many of the flushed bytes as the socket accepts.
    mutating func send(to descriptor: Int32) -> Outcome {
        while self.flushedCount > 0 {
            let (asked, result) = self.sendOnce(to: descriptor)
            guard result >= 0 else {
                let error = errno
                if error == EINTR { continue }
                return error == EAGAIN ? .full : .failed(error)
            }
            self.drop(result)
            if result < asked { return .full }
        }
        return .sent
    }

    /// Makes one system call. Returns the number of bytes to send and the result of the call.
    private func sendOnce(to descriptor: Int32) -> (asked: Int, result: Int) {
        let first = self.buffers[self.next]
        if first.readableBytes >= self.flushedCount {
            return first.withUnsafeReadableBytes {
                ($0.count, Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)))
            }
        }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.gatherLimit) { vectors in
            var count = 0
            var asked = 0
            while count < Self.gatherLimit, asked < self.flushedCount {
                // The buffers stay in the queue during the call, so their memory does not move.
                self.buffers[self.next + count].withUnsafeReadableBytesWithStorageManagement { bytes, _ in
                    vectors[count] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                        iov_len: bytes.count
                    )
                    asked += bytes.count
                }
                count += 1
            }
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = count
            return (asked, sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)))
        }
    }

    /// Removes sent bytes from the front of the queue.
    private mutating func drop(_ count: Int) {
        self.byteCount -= count
        self.flushedCount -= count
        if self.byteCount == 0 { return self.removeAll() }
        var left = count
        while left > 0 {
            let size = self.buffers[self.next].readableBytes
            if left < size {
                self.buffers[self.next].moveReaderIndex(forwardBy: left)
                break
            }
            left -= size
            self.buffers[self.next] = ByteBuffer()
            self.next += 1
        }
        // Otherwise, a queue that is never empty would retain an entry for every buffer ever sent.
        if self.next >= Self.gatherLimit, self.next * 2 >= self.buffers.count {
            self.buffers.removeFirst(self.next)
            self.next = 0
        }
    }

    mutating func removeAll() {
        // An array of one buffer is reused. A larger array is freed, so that idle connections do not retain it.
        if self.buffers.count == 1 { self.buffers.removeLast() } else { self.buffers.removeAll() }
        self.next = 0
        self.byteCount = 0
        self.flushedCount = 0
    }
}
