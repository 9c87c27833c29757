package import NIOCore

/// A client's connection as its loop sees it.
package protocol LoopConnection: AnyObject {
    /// The index in the loop's list, set by the loop.
    var listIndex: Int { get set }
    /// The time since which the connection has carried nothing or only an unfinished head; nil: it is in use.
    var quietSince: NIODeadline? { get }
    /// Whether it carries a request that has begun, or an answer that the client has not read yet. A connection that
    /// has just opened is busy too, because its first request may still arrive.
    var isBusy: Bool { get }
    /// The number of queued bytes that the client has not taken.
    var unsentBytes: Int { get }

    /// Calls a closure with each request that has begun, and with exchanges that have none now. The closure ends none.
    func eachRequest(_ body: (any LoopRequest) -> Void)
    /// Checks the deadlines; called four times a second.
    func sweep(_ now: NIODeadline)
    /// Closes the connection at once, even within an answer.
    func closeNow()
}

/// A connection with bytes that have to be sent at the end of the loop's turn.
package protocol TurnEndSender: AnyObject {
    /// Called at the end of the turn. Sends the written bytes.
    func send()
}
