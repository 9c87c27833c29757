package import NIOCore
package import Sessions
package import Vocabulary

/// A free stream to an app. Only a permitted head can be sent on it. An HTTP/1 connection has one stream.
package protocol FreeStream: AnyObject {
    /// False if the stream has closed or carries a request.
    var isUsable: Bool { get }

    /// Sends the head at the end of the loop's turn. Content that is written to the returned stream follows it.
    ///
    /// - Parameter receiver: The receiver of the answer. Retained until the exchange ends or is abandoned.
    func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream

    /// Closes a stream that is not needed.
    func close()
}

/// The app's side of one exchange: sends the body of a permitted request, or the bytes of a tunnel, to the app.
package protocol AppStream: AnyObject {
    /// False while too many bytes are queued.
    var isWritable: Bool { get }
    /// True once the head has been sent. Nothing is sent before the head.
    var hasSent: Bool { get }
    /// True once a byte of the answer has arrived.
    var hasAnswered: Bool { get }
    /// The number of written bytes that the app has not acknowledged. Costs a system call.
    var unacknowledgedBytes: Int { get }
    /// The server to which the stream leads. The connection retains it.
    var server: Pinned<UpstreamServer> { get }
    /// True if the connection has carried other requests. The app may already be closing it.
    var isReused: Bool { get }
    /// Identifies the `AppRoom` that counts the stream.
    var room: ObjectIdentifier { get }
    /// The seat to give back to the room after the request. `nil` if the request is not counted.
    var seat: ClientShares.Seat? { get set }

    /// Appends the next `count` bytes of `content` to the body. They are sent with the next `flush` or `complete`.
    func write(_ count: Int, of content: inout ByteBuffer)
    /// Sends all written bytes. If the app has disconnected, the receiver is called during this call.
    func flush()
    /// Sends all written bytes and ends the body.
    func complete()
    /// Ends the body like `complete`, with trailers if the app can read them.
    func complete(with trailers: Trailers)
    /// Returns the head for another stream. `nil` if the app's final answer was passed to the receiver.
    func takeBack() -> PermittedHead?

    /// Stops reading the answer until `resume`.
    func pause()
    /// Continues reading.
    func resume()

    /// Sends bytes of a tunnel.
    func tunnel(_ bytes: ByteBuffer)
    /// Ends a tunnel's stream to the app after all written bytes. Reading continues.
    func endOutput()
    /// Ends a tunnel. Closes the connection when all written bytes have arrived. The receiver is not called again.
    func finish()
    /// Ends the exchange and closes the stream. The receiver is not called again.
    func abandon()
    /// Abandons the exchange because the app is too slow.
    func expire()
}

/// Receives an app's answer for the client. The exchange may end during each call.
package protocol AnswerReceiver: AnyObject {
    /// The method of the request.
    var method: KnownMethod { get }
    /// True if the request asks for a WebSocket.
    var awaitsUpgrade: Bool { get }
    /// True if the whole body of the request has been forwarded.
    var isRequestWhole: Bool { get }

    /// Called just before the head of a request with a body is sent. The received part of the body can now be written.
    func headLeaves()
    /// Called when the app accepts bytes again.
    func upstreamTakesBytes()

    /// Called with an interim answer other than 100 and 101. Its head is at the front of `buffer`.
    func answerIsAnnounced(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called when the answer's status allows a retry on another connection or at another server (`retry_on`). Returns
    /// true to retry. The stream then closes and calls `goElsewhere`.
    ///
    /// - Parameter servers: The servers that may get the request, as bits of `StreamWaiter.failedServers`.
    func mayGo(to servers: UInt64) -> Bool
    /// Sends the request again, on another stream. The last call of the exchange.
    ///
    /// - Parameter answer: Passed on if the other stream brings no answer. `nil` to report that failure instead.
    func goElsewhere(from stream: any AppStream, after status: Int, keeping answer: KeptAnswer?)
    /// Called with the head of the final answer at the front of `buffer`. `answerPauses` or `answerEnded` follows.
    func answerBegins(_ head: ResponseHead, _ buffer: ByteBuffer)
    /// Called with the next `count` bytes of `content` as part of the body. Removes them from `content`.
    func takeAnswer(_ count: Int, of content: inout ByteBuffer)
    /// Called when all received bytes have been passed on.
    ///
    /// - Returns: False if the client cannot accept more bytes now. The stream then pauses until `AppStream.resume`.
    func answerPauses() -> Bool
    /// Called when the body is complete. The last call for this stream.
    func answerEnded()
    /// Called instead of `answerEnded()` if the body has trailers.
    func answerEnded(with trailers: TrailerSection)

    /// Called when the app accepts the upgrade. `buffer` begins with the head. Returns false if the client is gone.
    func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool
    /// Called with bytes from the app in a tunnel.
    func tunnelled(_ bytes: ByteBuffer)
    /// Called when the app has ended the tunnel.
    func tunnelEnded()

    /// Called when the app does not answer, or its answer is incomplete or malformed. The last call for this stream.
    func upstreamFailed(_ reason: Reason)
    /// Called when the app sent bytes before the request's head. The last call for this stream.
    func upstreamSpokeFirst()
}

/// An exchange that waits for a stream to an app.
package protocol StreamWaiter: AnyObject {
    /// The number of the current exchange. Each exchange gets a new number.
    var exchangeNumber: UInt64 { get }
    /// The request's session. `nil` if there is none.
    var session: CachedSession? { get }
    /// True if the request waits for a connection.
    var isConnecting: Bool { get }
    /// True if the request waits in the pool's queue.
    var isQueued: Bool { get }
    /// The client and session of the request. Constant until the request ends.
    var requester: Requester { get }
    /// A key for choosing a server (`StickyKey`), equal for all requests of a session or, without one, of a client.
    var stickyKey: UInt64 { get }
    /// True if the request may be retried at another server: it is idempotent and has no body.
    var isRepeatable: Bool { get }
    /// The app's servers that have failed for this request, as bits assigned by the pool.
    var failedServers: UInt64 { get set }
    /// Called with the chosen server if the app has several.
    func upstreamChosen(_ server: UpstreamServer)
    /// Called when the request is queued, because all streams are in use or its client has used up its share. A queued
    /// request that ends must call `AppPool.waiterLeft`.
    func upstreamBusy()
    /// Called when the request leaves the queue, before it gets a stream or fails.
    func upstreamFree()
    /// Called with a stream for the request.
    ///
    /// - Parameter isReused: True if its connection has carried other requests. The app may already be closing it.
    func upstreamReady(_ free: any FreeStream, isReused: Bool)
    /// Called when connecting to this server begins.
    func upstreamTried(_ server: UpstreamServer)
    /// Called when connecting to a server has failed and another server is tried.
    func upstreamMissed(_ reason: Reason)
    /// Called when the request gets no stream.
    func upstreamFailed(_ reason: Reason)
}

/// A request as seen by code that goes through all requests of a loop.
package protocol LoopRequest: AnyObject {
    /// The client and session of the request.
    var requester: Requester { get }
    /// The stream to an app. `nil` if the request has none.
    var upstream: (any AppStream)? { get }
    /// Returns since when the client has been stalled (`ClientPace`). `nil` if it is not stalled.
    func stall(now: NIODeadline) -> ClientStall?
    /// Ends the request, because its client is stalled and other requests wait for the app.
    func endStalled()
}

/// One loop's streams to one app.
package protocol AppPool: AnyObject {
    /// Returns an idle stream for the request. `nil` if there is none or the client has used up its share of the app.
    func takeStream(for waiter: any StreamWaiter) -> (any FreeStream)?
    /// Gives `waiter` a stream as soon as one is available, if it still waits in the same exchange. Queues the request
    /// if no connection may be opened.
    func awaitStream(for waiter: any StreamWaiter)
    /// Gives a stream to a request that failed on another stream, at a different server if the app has several.
    func awaitStream(for waiter: any StreamWaiter, after failed: any AppStream)
    /// Called when a queued request ends.
    func waiterLeft(_ waiter: any StreamWaiter)
    /// True while the app has so many requests in flight that the pace of clients is measured.
    var isCrowded: Bool { get }

    /// True if the app has several servers. Retries then go to another server.
    var hasSeveralServers: Bool { get }
    /// Uses one retry at another server from the app's budget. Returns false if the budget is empty.
    func takeRetry() -> Bool

    /// The reports on the app's current servers.
    var reports: [ServerReport] { get }

    /// Closes connections whose idle timeout has passed.
    func sweep()
    /// Called when a reload keeps this pool under another index of its app.
    func moved(to index: Int)
    /// Adopts changed settings and a new index. Returns false if a new pool must replace this one.
    func adopt(_ target: UpstreamTarget, index: Int) -> Bool
    /// Closes idle connections, because a reload has replaced this pool.
    func retire()
}
