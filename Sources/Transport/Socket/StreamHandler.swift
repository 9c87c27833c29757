package import NIOCore

/// Handles the events of a stream. Called on the stream's loop. During each call the stream may be closed.
package protocol StreamHandler: AnyObject {
    /// Called with received bytes. The buffer is reused after the call: a handler copies bytes that it needs later, or
    /// takes a slice if they are many.
    func received(_ buffer: inout ByteBuffer)
    /// Called when `ByteStream.isWritable` becomes true again.
    func becameWritable()
    /// Called when the bytes that the system did not accept at first have all been sent.
    func allSent()
    /// Called when all bytes and then the end of the stream have been sent, as `ByteStream.endOutput` requested.
    func outputEnded()
    /// Called once, when the peer sends no more bytes and all its bytes have been read. The peer may still read, or it
    /// may be gone: a peer that has closed both sides answers further bytes with RST, and the stream fails (RFC 9293
    /// 3.10.7.1).
    ///
    /// - Returns: Whether the stream stays open, so that bytes can still be sent.
    func inputEnded() -> Bool
    /// Called once, when the stream has closed. This is the last call.
    ///
    /// - Parameter isClean: Whether the peer or this side closed the stream. False if it failed, for example because
    ///   the peer reset it, so that bytes may be missing.
    func closed(isClean: Bool)
}

extension StreamHandler {
    package func allSent() {}
    package func outputEnded() {}
    package func inputEnded() -> Bool { false }
}
