/// The client's side of one exchange: it takes the answer and gives the request's body. It is an HTTP/1 connection, or
/// one stream of a connection that carries many.
///
/// When bytes of the body arrive and `Exchange.bodyDemand` accepts them, the stream hands them over with
/// `Exchange.takeBody`.
package protocol ClientStream: ByteSink {
    /// The number of queued bytes that the system has not taken. When there are none any more, `Exchange.outputSent` is
    /// called.
    var unsentBytes: Int { get }
    /// The number of written bytes that the client has not acknowledged; when its connection has failed, of those that were
    /// lost. It costs a system call.
    var unacknowledgedBytes: Int { get }

    /// Reads nothing more of the body until `resumeReading`. Bytes that were read before may still be handed over.
    func pauseReading()
    /// Continues reading.
    func resumeReading()
    /// Hands over the received part of the body, as far as the exchange accepts it.
    func passBody()

    /// Called when the request belongs to a live session.
    func signedIn()

    /// Called when the app has agreed to an upgrade and its answer is written. From now on the stream hands over all
    /// bytes with `Exchange.tunnelToUpstream`, beginning with those that followed the request.
    func beginTunnel()
    /// Called when the whole answer has been sent. The exchange has ended; the next one may begin during this call.
    func answerEnded(_ end: AnswerEnd)
    /// Called when the exchange ended within its answer. The client must be able to see that the answer is incomplete.
    func abort()
}

/// How a request ends whose answer has been sent.
package enum AnswerEnd {
    /// The request is complete, and the client may send another one.
    case next
    /// The rest of the body is small enough to be discarded when it arrives.
    case body(BodyRelay)
    /// No further request is read.
    case close
}

/// What to do with received bytes of a request's body.
package enum BodyDemand {
    /// Hand them over.
    case now
    /// Keep them until `passBody`.
    case soon
    /// The body has ended, so they belong to the next request.
    case ended
    /// Keep them and read nothing more, because the exchange waits.
    case wait
    /// Discard them: no further request is read.
    case discard
}
