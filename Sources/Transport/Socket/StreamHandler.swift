package import NIOCore

/// Handles the events of a stream. Called on the stream's loop. A handler may close the stream during each call.
package protocol StreamHandler: AnyObject {
    /// Called with received bytes. The buffer is reused after the call: a handler that needs bytes later copies them
    /// or, if they are many, takes a slice.
    func received(_ buffer: inout ByteBuffer)
    /// Called when `ByteStream.isWritable` becomes true again.
    func becameWritable()
    /// Called when the system has accepted all bytes that it did not accept at first.
    func allSent()
    /// Called when all bytes and then the end of the stream have been sent, as `ByteStream.endOutput` requested.
    func outputEnded()
    /// Called once, when the peer has ended its output and all its bytes have been read. The peer may still read. If
    /// the peer has closed both sides instead, it answers further bytes with RST, and the stream fails (RFC 9293
    /// 3.10.7.1).
    ///
    /// - Returns: True if the stream stays open, so that bytes can still be sent.
    func inputEnded() -> Bool
    /// Called once, when the stream has closed. This is the last call.
    ///
    /// - Parameter isClean: True if the peer or this side closed the stream. False if the stream failed, for example
    ///   because the peer reset it, so that bytes may be missing.
    func closed(isClean: Bool)
}

extension StreamHandler {
    package func allSent() {}
    package func outputEnded() {}
    package func inputEnded() -> Bool { false }
}
