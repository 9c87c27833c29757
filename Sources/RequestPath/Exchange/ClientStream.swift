package import NIOCore

/// The client's side of one exchange: an HTTP/1 connection, or a stream of a connection with many streams. Only this
/// side knows how messages are framed and whether the connection is kept.
///
/// ```
///   request    Exchange.begin(head) ─▶ takeBody ... bodyCame(.end)         as far as Exchange.bodyDemand accepts it
///   answer     announce(head) ... ─▶ begin(head) ─▶ write, flush ... ─▶ complete
///              answer(head, hasContent:)                                   the gateway's own
///   tunnel     begin(101) ─▶ flush ─▶ beginTunnel ─▶ tunnel ... ─▶ complete        bytes instead of messages
/// ```
/// At any time the exchange may `abort`, and the client may leave (`Exchange.clientLeft`).
package protocol ClientStream: AnyObject {
    /// The protocol of the request for the log, such as `HTTP/1.1`.
    var version: StaticString { get }
    /// True if any 2xx opens the requested WebSocket, as over HTTP/2 (RFC 8441 5). Over HTTP/1, only 101 does.
    var opensBySuccess: Bool { get }
    /// True if more bytes may be written. Otherwise, `Exchange.clientTakesBytes` is called later.
    var isWritable: Bool { get }
    /// The number of written bytes that the client has not acknowledged. After a failure of the connection, the number
    /// of lost bytes. Costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The number of written bytes of this answer that wait for the client. May cost a system call.
    var waitingBytes: Int { get }

    // MARK: The request's body

    /// Asks the client to send the body, if the client waits for this (RFC 9110 10.1.1).
    func askForBody()
    /// Stops reading the body until `resumeReading`. Bytes that were read before may still be handed over.
    func pauseReading()
    /// Continues reading.
    func resumeReading()
    /// Hands over the received part of the body, as far as the exchange accepts it.
    func passBody()

    // MARK: The answer

    /// Sends an interim answer of the app, unless the client could not read it.
    func announce(_ head: AnswerHead, _ changes: borrowing AnswerChanges)
    /// Begins the app's answer. It is sent with the next `flush` or `complete`.
    func begin(_ head: AnswerHead, _ changes: borrowing AnswerChanges)
    /// Queues the next `count` bytes of `content` as part of the answer, until `flush` or `complete`.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends everything that was written. If the client turns out to be gone, the exchange ends during this call.
    func flush()
    /// Sends everything that was written and ends the answer. The stream calls `Exchange.answerSent` when the system
    /// has accepted everything, and then handles the rest of the request. The next exchange may begin during this call.
    func complete()
    /// Ends the answer as `complete` does, with these trailers. The trailers are dropped if the answer cannot carry
    /// them or the client has not asked for trailers.
    func complete(with trailers: Trailers)
    /// Sends one of the gateway's own answers and ends it as `complete` does. `hasContent` is false if there is no
    /// content or only the head was requested. The stream may read the rest of the request's body first.
    func answer(_ head: LocalAnswerHead, hasContent: Bool)
    /// Ends the exchange in the middle of the answer. The client must be able to see that the answer is incomplete.
    func abort()

    // MARK: Sessions and tunnels

    /// Called when the request belongs to a live session.
    func signedIn()
    /// Called when the app has agreed to an upgrade and its answer has been sent. From now on, the stream hands over
    /// all bytes with `Exchange.tunnelToUpstream`, beginning with bytes that followed the request.
    func beginTunnel()
    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
}

/// The treatment of received bytes of a request's body.
package enum BodyDemand {
    /// Hand them over.
    case now
    /// Keep them until `passBody`.
    case soon
    /// Keep them and read nothing more, because the exchange waits.
    case wait
}

extension ClientStream {
    package var waitingBytes: Int { self.unacknowledgedBytes }

    package func complete(with trailers: Trailers) { self.complete() }

    /// True if the stream is one of several on its connection. The version of HTTP/2 has no minor number.
    var isHTTP2: Bool { self.version.utf8CodeUnitCount == "HTTP/2".utf8.count }
}
