/// The client's side of one exchange: where the answer goes, and from where the request's body comes. A connection of
/// HTTP/1, or one stream of a connection that carries many.
///
/// It hands over what has come of the body by `Exchange.takeBody`, whenever something comes and `Exchange.bodyDemand` says
/// that it is wanted.
package protocol ClientStream: ByteSink {
    /// Bytes that wait for the client to take them.
    var unsentBytes: Int { get }

    /// Reads nothing more of the body until `resumeReading`. What has been read already may still be handed over.
    func pauseReading()
    /// Reads on.
    func resumeReading()
    /// Hands over what has come of the body, as far as the exchange wants it.
    func passBody()

    /// The request is one of a session that lives.
    func signedIn()

    /// The app agreed to an upgrade, and its answer has been written: hands over all bytes from now on by
    /// `Exchange.tunnelToUpstream`, those first that came behind the request.
    func beginTunnel()
    /// The answer has been written to its end. The exchange is over; the next one may begin from within this call.
    func answerEnded(_ end: AnswerEnd)
    /// The exchange is over, and its answer broke off: the client must not take what it has for the whole.
    func abort()
}

/// What is left of a request whose answer has been written.
package enum AnswerEnd {
    /// Nothing: the client may send another one.
    case next
    /// A body that is still coming, and is small enough to be read away.
    case body(BodyRelay)
    /// The client may send nothing more.
    case close
}

/// What an exchange does with the bytes of its request's body that have come.
package enum BodyDemand {
    /// They are to be handed over.
    case now
    /// They are to be kept until `passBody`.
    case soon
    /// The body has ended: they belong to the next request.
    case ended
    /// The exchange waits, and nothing more is to be read.
    case wait
}
