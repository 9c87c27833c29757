package import NIOCore
package import Sessions
package import Vocabulary

/// A connection to an app that carries no request. Nothing can be sent on it but a permitted head.
package protocol AppConnection: AnyObject {
    /// False once it has closed or carries a request.
    var isUsable: Bool { get }

    /// Sends the head of a request at the end of the loop's turn. What is written to the stream that is returned goes to the
    /// app behind it.
    ///
    /// - Parameter receiver: Gets the answer; kept until the exchange ends or is abandoned.
    func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream

    /// Closes the connection, which was not used or is of no more use.
    func close()
}

/// The app's side of one exchange: takes the body of a request whose head was permitted, or the bytes of a tunnel.
package protocol AppStream: ByteSink {
    /// The head has left; before that, nothing has.
    var hasSent: Bool { get }
    /// A byte of the answer has come.
    var hasAnswered: Bool { get }
    /// In a WebSocket: the app's last frame is whole, so that a frame of the gateway's may follow it.
    var isBetweenFrames: Bool { get }

    /// The head, if the app has not begun its answer: to be sent on another connection, or to be let go of.
    func takeBack() -> PermittedHead?

    /// Reads no more of the answer until `resume`.
    func pause()
    /// Reads on.
    func resume()

    /// Ends the exchange from the client's side: the connection closes, and its receiver is told nothing more.
    func abandon()
}

/// What becomes of a part of an answer.
package enum AnswerProgress {
    case more
    /// There is more to come, and the client does not take it at present: read no more until `resume`.
    case full
    /// The body has ended as its framing says.
    case end
    case malformed
    /// The exchange has ended meanwhile.
    case over
}

/// The client's side of one exchange with an app: gets the answer. Each call may end the exchange from within.
package protocol AnswerReceiver: AnyObject {
    /// The method of the request.
    var method: KnownMethod { get }
    /// The request asked for a WebSocket.
    var awaitsUpgrade: Bool { get }
    /// The request's body has been passed on to its end.
    var isRequestWhole: Bool { get }

    /// The head is about to leave: what has come of the body can be written behind it.
    func headLeaves()
    /// The app takes bytes again.
    func upstreamTakesBytes()

    /// The final answer's head, which lies at the front of `buffer`, and what has come of its body. Both are taken out.
    func answerBegins(_ head: ResponseHead, _ buffer: inout ByteBuffer) -> AnswerProgress
    /// More of the body.
    func answerContinues(_ buffer: inout ByteBuffer) -> AnswerProgress
    /// The body has ended, and the connection is not needed any more.
    func answerEnded()
    /// The connection ended within the body.
    ///
    /// - Parameter isClean: False: with an error, so that what has come is not whole, whatever its framing allows.
    func answerCut(isClean: Bool)

    /// The app agreed to the upgrade; the head lies at the front of `buffer`. False: the client is gone.
    func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool
    /// Bytes of the app in a tunnel.
    func tunnelled(_ bytes: ByteBuffer)
    /// The app has closed the tunnel.
    func tunnelEnded()

    /// The app cannot be reached, did not answer, or answered what cannot be passed on. Nothing more comes.
    func upstreamFailed(_ reason: Reason)
    /// The app sent something before the head had left. Nothing more comes.
    func upstreamSpokeFirst()
}

/// What waits for a connection to an app.
package protocol ConnectionWaiter: AnyObject {
    /// Differs from one exchange to the next.
    var exchangeNumber: UInt64 { get }
    /// It still waits.
    var isConnecting: Bool { get }
    /// The connection is made, and the waiter's.
    func upstreamConnected(_ connection: any AppConnection)
    /// No connection can be made.
    func upstreamFailed(_ reason: Reason)
}

/// One loop's connections to one app.
package protocol AppPool: AnyObject {
    /// The app's own origin, as it may stand in `Location`.
    var origin: [UInt8] { get }

    /// A kept connection that may serve requests of this session, or of none; nil: there is none.
    func takeIdle(for session: CachedSession?) -> (any AppConnection)?
    /// Makes a new connection and hands it to `waiter`, if it still waits in the same exchange by then.
    func connect(for waiter: any ConnectionWaiter)

    /// Closes connections that have been idle too long.
    func sweep()
    /// The turn of the loop has ended that was asked for by `PathLoop.tellTurnEnd`.
    func turnEnded()
    /// A reload has put another pool in this one's place: no connection is kept any more.
    func retire()
}
