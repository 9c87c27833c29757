package import NIOCore

/// Bytes in both directions between this process and a peer, plain or over TLS. Used on its loop.
package protocol ByteStream: AnyObject {
    /// False while too many bytes are queued.
    var isWritable: Bool { get }
    /// Whether bytes have arrived at the socket that were not read. It costs a system call.
    var hasUnreadBytes: Bool { get }
    /// The number of written bytes, and of an ended stream the end, that the peer's system has not acknowledged; when
    /// the stream has failed, of those that were lost. It costs a system call.
    var unacknowledgedBytes: Int { get }

    /// Begins to read. From now on the handler is told everything that happens. If the stream reads already, the handler
    /// replaces the former one.
    ///
    /// - Throws: An error, if the stream has closed already or cannot be read.
    func start(_ handler: any StreamHandler) throws

    /// Queues bytes until `flush`.
    func write(_ bytes: ByteBuffer)
    /// Queues bytes and sends everything that is queued.
    func writeAndFlush(_ bytes: ByteBuffer)
    /// Sends everything that is queued.
    func flush()

    /// Reads nothing more until `resume`.
    func pause()
    /// Continues reading.
    func resume()

    /// Sends the end of the stream after everything that is queued. Reading continues.
    func endOutput()
    /// Closes at once; bytes that the system has not taken are lost.
    func close()
}

/// The stream of a client, whose end is the end of answers.
package protocol ClientByteStream: ByteStream {
    /// Whether nothing is read until `resume`.
    var isPaused: Bool { get }
    /// The number of queued bytes that the system has not taken.
    var unsentBytes: Int { get }

    /// Closes with RST, so that the peer cannot take what it got for everything.
    func reset()
}
