package import NIOCore

/// The client's side of one exchange: an HTTP/1 connection, or one stream of a connection that carries many. It alone
/// knows how messages are framed and whether the connection is kept.
///
/// ```
///   request    Exchange.begin(head) ─▶ takeBody ... bodyCame(.end)         as far as Exchange.bodyDemand accepts it
///   answer     announce(head) ... ─▶ begin(head) ─▶ write, flush ... ─▶ complete
///              answer(head, hasContent:)                                   the gateway's own
///   tunnel     begin(101) ─▶ flush ─▶ beginTunnel ─▶ tunnel ... ─▶ complete        bytes instead of messages
/// ```
/// At any time the exchange may `abort`, and the client may leave (`Exchange.clientLeft`).
package protocol ClientStream: AnyObject {
    /// The protocol of the request, for the log: `HTTP/1.1`.
    var version: StaticString { get }
    /// Whether any 2xx opens what the request asks for: a WebSocket over HTTP/2 (RFC 8441 5). Over HTTP/1 only 101 does.
    var opensBySuccess: Bool { get }
    /// False while too many bytes are queued. Then `Exchange.clientTakesBytes` is called later.
    var isWritable: Bool { get }
    /// The number of written bytes that the client has not acknowledged; when its connection has failed, of those that were
    /// lost. It costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The number of written bytes of this answer that wait for the client. It may cost a system call.
    var waitingBytes: Int { get }

    // MARK: The request's body

    /// Asks a client that waits for it to send the body (RFC 9110 10.1.1).
    func askForBody()
    /// Reads nothing more of the body until `resumeReading`. Bytes that were read before may still be handed over.
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
    /// Takes the next `count` bytes of `content`, which are the answer's, until `flush` or `complete`.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends everything that was written. If the client turns out to be gone, the exchange ends during this call.
    func flush()
    /// The same when nothing more is written. The stream calls `Exchange.answerSent` when the system has taken everything,
    /// and then handles the rest of the request. The next exchange may begin during this call.
    func complete()
    /// Ends the answer as `complete` does, with these trailers. They are dropped if the answer cannot carry them, or its
    /// client has not asked for them.
    func complete(with trailers: Trailers)
    /// Gives one of the gateway's own answers, with its body or, if it has no content or its head alone was asked for,
    /// without. The end of it is that of `complete`. The stream may read the rest of the request's body first.
    func answer(_ head: LocalAnswerHead, hasContent: Bool)
    /// Ends within the answer. The client must be able to see that the answer is incomplete.
    func abort()

    // MARK: Beside the messages

    /// Called when the request belongs to a live session.
    func signedIn()
    /// Called when the app has agreed to an upgrade and its answer is sent. From now on the stream hands over all bytes
    /// with `Exchange.tunnelToUpstream`, beginning with those that followed the request.
    func beginTunnel()
    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
}

/// What to do with received bytes of a request's body.
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

    /// Whether it is one of several of a connection. HTTP/2 has no minor version.
    var isHTTP2: Bool { self.version.utf8CodeUnitCount == "HTTP/2".utf8.count }
}
