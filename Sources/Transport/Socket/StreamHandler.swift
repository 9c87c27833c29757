package import NIOCore

/// Handles what happens on a stream. Called on the stream's loop; during each call the stream may be closed.
package protocol StreamHandler: AnyObject {
    /// Called with received bytes. The buffer is used again after the call: bytes that are needed later are copied, or
    /// taken as a slice if they are many.
    func received(_ buffer: inout ByteBuffer)
    /// Called when the stream takes bytes again after `ByteStream.isWritable` was false.
    func becameWritable()
    /// Called when everything was sent that the system did not take at once.
    func allSent()
    /// Called when everything was sent and then the end of the stream, as `ByteStream.endOutput` asked.
    func outputEnded()
    /// Called once, when everything was read that the peer has sent and it sends nothing more. It may still read, or be
    /// gone: the first bytes that arrive at a peer that has closed both sides are answered with RST, and then the stream
    /// fails (RFC 9293 3.10.7.1).
    ///
    /// - Returns: Whether the stream stays open, so that bytes can still be sent.
    func inputEnded() -> Bool
    /// Called once, when the stream has closed; it is the last call.
    ///
    /// - Parameter isClean: Whether the peer or this side closed it. False: it has failed, for example because the peer
    ///   reset it, so that bytes may be missing.
    func closed(isClean: Bool)
}

extension StreamHandler {
    package func allSent() {}
    package func outputEnded() {}
    package func inputEnded() -> Bool { false }
}
