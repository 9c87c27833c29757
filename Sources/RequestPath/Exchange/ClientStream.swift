package import NIOCore

/// The client's side of one exchange: an HTTP/1 connection or an HTTP/2 stream. It frames the messages and decides
/// whether the connection is kept.
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
    /// True if any 2xx opens the requested WebSocket (HTTP/2, RFC 8441 5). False if only 101 does (HTTP/1).
    var opensBySuccess: Bool { get }
    /// True if more bytes may be written. When this becomes true again, the stream calls `Exchange.clientTakesBytes`.
    var isWritable: Bool { get }
    /// The number of written bytes that the client has not acknowledged, or that were lost when the connection failed.
    /// Costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The number of this answer's bytes that wait for the client. May cost a system call.
    var waitingBytes: Int { get }

    // MARK: The request's body

    /// Asks the client to send the body if it waits for "100 Continue" (RFC 9110 10.1.1).
    func askForBody()
    /// Stops reading the body until `resumeReading`. Bytes that are already read may still be delivered.
    func pauseReading()
    /// Continues reading.
    func resumeReading()
    /// Delivers the received part of the body, as far as the exchange accepts it.
    func passBody()

    // MARK: The answer

    /// Sends an interim answer of the app if the client can read it.
    func announce(_ head: AnswerHead, _ changes: borrowing AnswerChanges)
    /// Begins the app's answer. The head is sent with the next `flush` or `complete`.
    func begin(_ head: AnswerHead, _ changes: borrowing AnswerChanges)
    /// Appends the next `count` bytes of `content` to the answer. They are sent with the next `flush` or `complete`.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends all written bytes. If the client turns out to be gone, the exchange ends during this call.
    func flush()
    /// Sends all written bytes and ends the answer. The stream calls `Exchange.answerSent` when the system has accepted
    /// them, possibly during this call, and the next exchange may begin.
    func complete()
    /// Ends the answer like `complete`, with trailers if the client accepts them.
    func complete(with trailers: Trailers)
    /// Sends an answer by the gateway and ends it like `complete`, perhaps after reading the rest of the request's
    /// body. `hasContent` is false if only the head is sent.
    func answer(_ head: LocalAnswerHead, hasContent: Bool)
    /// Ends the exchange during the answer, so that the client notices the incomplete answer.
    func abort()

    // MARK: Sessions and tunnels

    /// Reports that the request belongs to a live session.
    func signedIn()
    /// Begins the tunnel after an upgrade. From then on, the stream passes all bytes to `Exchange.tunnelToUpstream`,
    /// including received bytes after the request.
    func beginTunnel()
    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
}

/// What to do with received bytes of a request's body.
package enum BodyDemand {
    /// Deliver them.
    case now
    /// Keep them until `passBody`.
    case soon
    /// Keep them and stop reading.
    case wait
}

extension ClientStream {
    package var waitingBytes: Int { self.unacknowledgedBytes }

    /// True if the stream is one of several on its connection. The test relies on the length of `HTTP/2`.
    var isHTTP2: Bool { self.version.utf8CodeUnitCount == "HTTP/2".utf8.count }
}
