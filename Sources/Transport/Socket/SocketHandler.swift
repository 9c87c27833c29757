package import NIOCore

/// Handles what happens on a stream socket. Called on the socket's loop; during each call the socket may be closed.
package protocol SocketHandler: AnyObject {
    /// Called with received bytes. The buffer is used again after the call: bytes that are needed later are copied, or
    /// taken as a slice if they are many.
    func received(_ buffer: inout ByteBuffer)
    /// Called when the socket takes bytes again after `StreamSocket.isWritable` was false.
    func becameWritable()
    /// Called when everything was sent and then the end of the stream, as `StreamSocket.endOutput` asked.
    func outputEnded()
    /// Called once, when the socket has closed; it is the last call.
    ///
    /// - Parameter isClean: Whether the peer or this side closed it. False: it has failed, for example because the peer
    ///   reset it, so that bytes may be missing.
    func closed(isClean: Bool)
}
