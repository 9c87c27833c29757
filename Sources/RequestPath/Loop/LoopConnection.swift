package import NIOCore

/// A client's connection, as seen by its loop.
package protocol LoopConnection: AnyObject {
    /// The index in the loop's list, set by the loop.
    var listIndex: Int { get set }
    /// The time since which the connection has been idle, or has received only part of a head. `nil` while it is in
    /// use.
    var quietSince: NIODeadline? { get }
    /// True if a request or an unread answer is on the connection. Also true for a new connection, because its first
    /// request may still arrive.
    var isBusy: Bool { get }
    /// The number of queued bytes that the system has not accepted.
    var unsentBytes: Int { get }

    /// Calls `body` with each request that has begun, and with idle exchanges. `body` must not end any of them.
    func eachRequest(_ body: (any LoopRequest) -> Void)
    /// Checks the deadlines. Called four times a second.
    func sweep(_ now: NIODeadline)
    /// Closes the connection at once, even during an answer.
    func closeNow()
}

/// A connection with bytes to be sent at the end of the loop's turn.
package protocol TurnEndSender: AnyObject {
    /// Sends the written bytes. Called at the end of the turn.
    func send()
}
