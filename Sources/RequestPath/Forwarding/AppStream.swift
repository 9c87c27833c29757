package import NIOCore
package import Sessions
package import Vocabulary

/// A stream to an app that carries no request yet. Only a permitted head can be sent on it. An HTTP/1 connection is a
/// connection with one stream.
package protocol FreeStream: AnyObject {
    /// False if it has closed or carries a request.
    var isUsable: Bool { get }

    /// Sends the head of a request at the end of the loop's turn. Content that is written to the returned stream follows
    /// it.
    ///
    /// - Parameter receiver: Gets the answer; kept until the exchange ends or is abandoned.
    func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream

    /// Closes the stream, which is not needed.
    func close()
}

/// The app's side of one exchange: takes the body of a request whose head was permitted, or the bytes of a tunnel. It
/// frames them as the app reads them.
package protocol AppStream: AnyObject {
    /// False while too many bytes are queued.
    var isWritable: Bool { get }
    /// Whether the head was sent. Nothing is sent before it.
    var hasSent: Bool { get }
    /// Whether a byte of the answer has arrived.
    var hasAnswered: Bool { get }
    /// The number of written bytes that the app has not acknowledged. It costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The server of the app that it leads to, which the connection keeps.
    var server: Pinned<UpstreamServer> { get }
    /// Whether the connection has carried other requests, so that the app may have been closing it.
    var isReused: Bool { get }
    /// Identifies the room of the app whose streams are counted together with this one.
    var room: ObjectIdentifier { get }
    /// What the request that it carries gives back to the room. `nil` if the request is not counted.
    var seat: ClientShares.Seat? { get set }

    /// Takes the next `count` bytes of `content`, which are the body's, until `flush` or `complete`.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends everything that was written. If the app turns out to be gone, its receiver is told during this call.
    func flush()
    /// The same at the end of the body.
    func complete()
    /// Ends the body as `complete` does, with these trailers. They are dropped by a stream that cannot carry them, or whose
    /// app could not read them.
    func complete(with trailers: Trailers)
    /// Returns the head if the app has not begun its answer. It can be sent on another stream.
    func takeBack() -> PermittedHead?

    /// Reads no more of the answer until `resume`.
    func pause()
    /// Continues reading.
    func resume()

    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
    /// In a tunnel: sends the end of the stream after everything that was written. Reading continues.
    func endOutput()
    /// Ends a tunnel from the client's side: the app gets everything that was written, and then the connection closes. Its
    /// receiver is not called again.
    func finish()
    /// Ends the exchange from the client's side: the stream closes, and its receiver is not called again.
    func abandon()
    /// The same because the app takes too long.
    func expire()
}

extension AppStream {
    package func complete(with trailers: Trailers) { self.complete() }
}

/// The client's side of one exchange with an app: gets the answer. The exchange may end during each of the calls.
package protocol AnswerReceiver: AnyObject {
    /// The method of the request.
    var method: KnownMethod { get }
    /// Whether the request asked for a WebSocket.
    var awaitsUpgrade: Bool { get }
    /// Whether the request's body has been passed on completely.
    var isRequestWhole: Bool { get }

    /// Called just before the head of a request with a body is sent. The received part of the body can be written after it.
    func headLeaves()
    /// Called when the app takes bytes again.
    func upstreamTakesBytes()

    /// Called with an interim answer other than 100 and 101; its head is at the front of `buffer`.
    func answerIsAnnounced(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called with an answer that need not be passed on, since another server may have a better one (`retry_on`). True: the
    /// stream is closed, and `goElsewhere` is called.
    ///
    /// - Parameter servers: Those that serve, as bits of `StreamWaiter.failedServers`.
    func mayGo(to servers: UInt64) -> Bool
    /// Sends the request to another server. It is the last call.
    func goElsewhere(from stream: any AppStream, after status: Int)
    /// Called with the final answer's head, which is at the front of `buffer`. `answerPauses` or `answerEnded` follows.
    func answerBegins(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called with the next `count` bytes of `content`, which are the body's. They are taken from it.
    func takeAnswer(_ count: Int, of content: inout ByteBuffer)
    /// Called when nothing more has arrived for now.
    ///
    /// - Returns: False: the client takes no more bytes now, and nothing more is read until `AppStream.resume`.
    func answerPauses() -> Bool
    /// Called instead when the body is complete. The stream is not needed any more; it is the last call.
    func answerEnded()
    /// Called instead of `answerEnded` when trailers came behind the body.
    func answerEnded(with trailers: TrailerSection)

    /// Called when the app agreed to the upgrade; the head is at the front of `buffer`. False: the client is gone.
    func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool
    /// Called with bytes of the app in a tunnel.
    func tunnelled(_ bytes: ByteBuffer)
    /// Called when the app has closed the tunnel.
    func tunnelEnded()

    /// Called when the app cannot be reached, did not answer, cut its answer off, or sent one that cannot be passed on. It
    /// is the last call.
    func upstreamFailed(_ reason: Reason)
    /// Called when the app sent bytes before the head was sent. It is the last call.
    func upstreamSpokeFirst()
}

extension AnswerReceiver {
    package func answerEnded(with trailers: TrailerSection) { self.answerEnded() }
}

/// An exchange that waits for a stream to an app.
package protocol StreamWaiter: AnyObject {
    /// Differs from one exchange to the next.
    var exchangeNumber: UInt64 { get }
    /// The session of its request; nil: it has none.
    var session: CachedSession? { get }
    /// Whether it waits for a connection that can carry it.
    var isConnecting: Bool { get }
    /// Whether it waits in the queue of the pool.
    var isQueued: Bool { get }
    /// Whose request it is. It does not change while the request waits or is in flight.
    var requester: Requester { get }
    /// The same for all requests of its session, or of its client where there is none (`StickyKey`).
    var stickyKey: UInt64 { get }
    /// Whether it may be sent to another server if the first one fails: it is idempotent and has no body.
    var isRepeatable: Bool { get }
    /// The servers of the app that have failed for it, as bits that its pool knows.
    var failedServers: UInt64 { get set }
    /// Called with the server of the app that is to serve it, if the app has several.
    func upstreamChosen(_ server: UpstreamServer)
    /// Called when all streams are in use, or its client has its share of them: the request is queued. If it ends before
    /// its turn comes, it calls `AppPool.waiterLeft`.
    func upstreamBusy()
    /// Called when the request leaves the queue: its turn has come and a stream follows, or `upstreamFailed` does, because
    /// it has lost its place.
    func upstreamFree()
    /// Called with the stream, which now belongs to the waiter.
    ///
    /// - Parameter isReused: Its connection has carried other requests, so the app may be closing it.
    func upstreamReady(_ free: any FreeStream, isReused: Bool)
    /// Called when a connection to this server is begun for it.
    func upstreamTried(_ server: UpstreamServer)
    /// Called when that server cannot be connected to, for this reason, and another one is looked for.
    func upstreamMissed(_ reason: Reason)
    /// Called when there is no stream for it.
    func upstreamFailed(_ reason: Reason)
}

/// A request as its loop sees it among all others.
package protocol LoopRequest: AnyObject {
    /// Whose request it is.
    var requester: Requester { get }
    /// What it uses of an app. `nil` if it uses nothing.
    var upstream: (any AppStream)? { get }
    /// Since when its client has neither read nor sent what it could have (`ClientPace`). `nil` if it reads or sends.
    func stall(now: NIODeadline) -> ClientStall?
    /// Ends the request because its client is stalled and others wait for the app.
    func endStalled()
}

/// One loop's streams to one app.
package protocol AppPool: AnyObject {
    /// A stream on a kept connection that may serve this request: one for its session, or for requests without a session.
    /// `nil` if there is none, or the client has its share of the app's streams.
    func takeStream(for waiter: any StreamWaiter) -> (any FreeStream)?
    /// Hands a stream to `waiter`, if that still waits in the same exchange when there is one: on a new connection, or on
    /// one that has become free. If no more connections may be made, the waiter is queued.
    func awaitStream(for waiter: any StreamWaiter)
    /// Hands a stream to a waiter whose request has failed on another one: a stream to another server, if the app has one.
    func awaitStream(for waiter: any StreamWaiter, after failed: any AppStream)
    /// Called when a queued request has ended.
    func waiterLeft(_ waiter: any StreamWaiter)
    /// Whether so many requests are in flight that it is watched how fast their clients read and send.
    var isCrowded: Bool { get }

    /// Whether the app has several servers: after a failed stream, another one is of another server.
    var hasSeveralServers: Bool { get }
    /// Takes one of the second tries that idempotent requests have on another server; false: none is left.
    func takeRetry() -> Bool

    /// Its servers as they are now.
    var reports: [ServerReport] { get }

    /// Closes connections that have been idle too long.
    func sweep()
    /// Called when a reload keeps this pool, whose app has this index now.
    func moved(to index: Int)
    /// Goes on with other settings of the app, and this index. False: it cannot, and another pool replaces it.
    func adopt(_ target: UpstreamTarget, index: Int) -> Bool
    /// Called when a reload has replaced this pool. It keeps no connection any more.
    func retire()
}
