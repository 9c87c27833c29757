package import NIOCore

/// Bytes in both directions between this process and a peer, plain or over TLS. Used on its loop only.
package protocol ByteStream: AnyObject {
    /// True while the write queue has room.
    var isWritable: Bool { get }
    /// True if unread bytes have arrived. Costs a system call.
    var hasUnreadBytes: Bool { get }
    /// The number of written bytes, including a sent end of the stream, that the peer's system has not acknowledged.
    /// After a failure, the number of bytes that were lost. Costs a system call.
    var unacknowledgedBytes: Int { get }

    /// Begins to read, and reports all further events to `handler`. If the stream reads already, `handler` replaces the
    /// current handler.
    ///
    /// - Throws: An error if the stream has closed already or cannot be read.
    func start(_ handler: any StreamHandler) throws

    /// Queues bytes until `flush`.
    func write(_ bytes: ByteBuffer)
    /// Queues bytes and sends everything that is queued.
    func writeAndFlush(_ bytes: ByteBuffer)
    /// Sends everything that is queued.
    func flush()

    /// Stops reading until `resume`.
    func pause()
    /// Continues reading.
    func resume()

    /// Sends the end of the stream after everything that is queued. Reading continues.
    func endOutput()
    /// Closes at once. Bytes that the system has not accepted are lost.
    func close()
}

/// The stream of a client.
package protocol ClientByteStream: ByteStream {
    /// True while reading is paused until `resume`.
    var isPaused: Bool { get }
    /// The number of queued bytes that the system has not accepted.
    var unsentBytes: Int { get }

    /// Closes with RST, so that the peer cannot mistake a partial answer for a complete one.
    func reset()
}
