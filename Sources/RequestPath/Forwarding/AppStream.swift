package import NIOCore
package import Sessions
package import Vocabulary

/// A stream to an app that carries no request yet. Only a permitted head can be sent on a free stream. An HTTP/1
/// connection has one stream.
package protocol FreeStream: AnyObject {
    /// False if the stream has closed or carries a request.
    var isUsable: Bool { get }

    /// Sends the head of a request at the end of the loop's turn. Content that is written to the returned stream
    /// follows.
    ///
    /// - Parameter receiver: The receiver of the answer, kept until the exchange ends or is abandoned.
    func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream

    /// Closes a stream that is not needed.
    func close()
}

/// The app's side of one exchange. Accepts the body of a request whose head was permitted, or the bytes of a tunnel,
/// and frames them for the app.
package protocol AppStream: AnyObject {
    /// False while too many bytes are queued.
    var isWritable: Bool { get }
    /// Whether the head was sent. Nothing is sent before the head.
    var hasSent: Bool { get }
    /// Whether a byte of the answer has arrived.
    var hasAnswered: Bool { get }
    /// The number of written bytes that the app has not acknowledged. Reading this number costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The server of the stream's app. The connection keeps a reference to it.
    var server: Pinned<UpstreamServer> { get }
    /// Whether the connection has carried other requests. The app may then be closing the connection already.
    var isReused: Bool { get }
    /// Identifies the room (`AppRoom`) in which the stream is counted.
    var room: ObjectIdentifier { get }
    /// The seat that the stream's request gives back to the room. `nil` if the request is not counted.
    var seat: ClientShares.Seat? { get set }

    /// Takes the next `count` bytes of `content` as part of the body. `flush` or `complete` sends them.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends everything that was written. If the app has disconnected, the receiver is called during this call.
    func flush()
    /// Sends everything that was written and the end of the body.
    func complete()
    /// Ends the body as `complete` does, with these trailers. The trailers are dropped if the stream cannot carry them,
    /// or if the app could not read them.
    func complete(with trailers: Trailers)
    /// Returns the head, to be sent on another stream. `nil` if the app has begun its answer.
    func takeBack() -> PermittedHead?

    /// Stops reading the answer until `resume`.
    func pause()
    /// Continues reading.
    func resume()

    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
    /// Sends the end of a tunnel's stream after everything that was written. Reading continues.
    func endOutput()
    /// Ends a tunnel from the client's side. The connection closes after the app has received everything that was
    /// written. The receiver is not called again.
    func finish()
    /// Ends the exchange from the client's side. The stream closes, and the receiver is not called again.
    func abandon()
    /// Abandons the exchange because the app takes too long.
    func expire()
}

extension AppStream {
    package func complete(with trailers: Trailers) { self.complete() }
}

/// The client's side of one exchange with an app. It receives the answer. The exchange may end during each call.
package protocol AnswerReceiver: AnyObject {
    /// The method of the request.
    var method: KnownMethod { get }
    /// Whether the request asked for a WebSocket.
    var awaitsUpgrade: Bool { get }
    /// Whether the request's body has been passed on completely.
    var isRequestWhole: Bool { get }

    /// Called just before the head of a request with a body is sent. The received part of the body can then be written.
    func headLeaves()
    /// Called when the app accepts bytes again.
    func upstreamTakesBytes()

    /// Called with an interim answer other than 100 and 101. Its head is at the front of `buffer`.
    func answerIsAnnounced(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called with an answer whose status allows a retry, at another server (`retry_on`) or on another connection.
    /// Returns true if the request is to be retried. The stream is then closed, and `goElsewhere` is called.
    ///
    /// - Parameter servers: The app's servers that may get the request, as bits of `StreamWaiter.failedServers`.
    func mayGo(to servers: UInt64) -> Bool
    /// Sends the request again, on another stream. The last call of the exchange.
    func goElsewhere(from stream: any AppStream, after status: Int)
    /// Called with the final answer's head, which is at the front of `buffer`. `answerPauses` or `answerEnded` follows.
    func answerBegins(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called with the next `count` bytes of `content` as part of the body. Removes them from `content`.
    func takeAnswer(_ count: Int, of content: inout ByteBuffer)
    /// Called when all received bytes were handed over.
    ///
    /// - Returns: False if the client accepts no more bytes for now. The stream then pauses until `AppStream.resume`.
    func answerPauses() -> Bool
    /// Called when the body is complete and the stream is no longer needed. The last call of the exchange.
    func answerEnded()
    /// Called instead of `answerEnded()` if trailers follow the body.
    func answerEnded(with trailers: TrailerSection)

    /// Called when the app accepted the upgrade. The head is at the front of `buffer`. Returns false if the client has
    /// left.
    func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool
    /// Called with bytes of the app in a tunnel.
    func tunnelled(_ bytes: ByteBuffer)
    /// Called when the app has closed the tunnel.
    func tunnelEnded()

    /// Called when the app cannot be reached, does not answer, cuts its answer off, or sends a malformed answer. The
    /// last call of the exchange.
    func upstreamFailed(_ reason: Reason)
    /// Called when the app sent bytes before the request's head was sent. The last call of the exchange.
    func upstreamSpokeFirst()
}

extension AnswerReceiver {
    package func answerEnded(with trailers: TrailerSection) { self.answerEnded() }
}

/// An exchange that waits for a stream to an app.
package protocol StreamWaiter: AnyObject {
    /// The number of the current exchange. Each exchange of the waiter gets a new number.
    var exchangeNumber: UInt64 { get }
    /// The session of the request. `nil` if there is no session.
    var session: CachedSession? { get }
    /// Whether the request waits for a connection.
    var isConnecting: Bool { get }
    /// Whether the request waits in the queue of the pool.
    var isQueued: Bool { get }
    /// The client and session of the request. Constant while the request waits or is in flight.
    var requester: Requester { get }
    /// A key that is equal for all requests of the session, or of the client if there is no session (`StickyKey`).
    var stickyKey: UInt64 { get }
    /// True if the request may be retried at another server, because it is idempotent and has no body.
    var isRepeatable: Bool { get }
    /// The servers of the app that have failed for the request, as bits assigned by the pool.
    var failedServers: UInt64 { get set }
    /// Called with the server that is to handle the request, if the app has several.
    func upstreamChosen(_ server: UpstreamServer)
    /// Called when the request is queued: all streams are in use, or its client has used up its share. A request that
    /// ends while it is queued calls `AppPool.waiterLeft`.
    func upstreamBusy()
    /// Called when the request leaves the queue. A stream follows, or `upstreamFailed` if a full queue dropped the
    /// request.
    func upstreamFree()
    /// Called with the stream, which now belongs to the waiter.
    ///
    /// - Parameter isReused: Whether its connection has carried other requests. The app may then be closing it.
    func upstreamReady(_ free: any FreeStream, isReused: Bool)
    /// Called when a connect to this server begins for the request.
    func upstreamTried(_ server: UpstreamServer)
    /// Called when a connect to a server has failed for this reason and another server is tried.
    func upstreamMissed(_ reason: Reason)
    /// Called when the request gets no stream, for this reason.
    func upstreamFailed(_ reason: Reason)
}

/// A request, as seen by passes over all requests of its loop.
package protocol LoopRequest: AnyObject {
    /// The client and session of the request.
    var requester: Requester { get }
    /// The stream to an app that the request uses. `nil` if it uses no stream.
    var upstream: (any AppStream)? { get }
    /// Returns the time since which the client has been stalled (`ClientPace`). `nil` if the client is not stalled.
    func stall(now: NIODeadline) -> ClientStall?
    /// Ends the request because its client is stalled and others wait for the app.
    func endStalled()
}

/// One loop's streams to one app.
package protocol AppPool: AnyObject {
    /// Returns a stream of an idle connection that may serve the request's session. `nil` if none exists, or if the
    /// client has used up its share of the app's streams.
    func takeStream(for waiter: any StreamWaiter) -> (any FreeStream)?
    /// Hands a free or new stream to `waiter` as soon as there is one, if `waiter` still waits in the same exchange.
    /// Queues the request if no more connections may be made.
    func awaitStream(for waiter: any StreamWaiter)
    /// Hands a stream to a waiter whose request failed on another stream. The new stream leads to a different server if
    /// the app has several servers.
    func awaitStream(for waiter: any StreamWaiter, after failed: any AppStream)
    /// Called when a queued request has ended.
    func waiterLeft(_ waiter: any StreamWaiter)
    /// True while so many requests are in flight that the pace of their clients is measured.
    var isCrowded: Bool { get }

    /// Whether the app has several servers. If so, a retry goes to another server.
    var hasSeveralServers: Bool { get }
    /// Takes one retry at another server from the app's budget. Returns false if the budget is used up.
    func takeRetry() -> Bool

    /// The reports on the app's current servers.
    var reports: [ServerReport] { get }

    /// Closes connections that exceed the idle timeout.
    func sweep()
    /// Called when a reload keeps this pool and its app now has this index.
    func moved(to index: Int)
    /// Adopts changed settings of the app and its index. Returns false if another pool must replace this one.
    func adopt(_ target: UpstreamTarget, index: Int) -> Bool
    /// Called when a reload has replaced this pool. Idle connections are closed.
    func retire()
}
