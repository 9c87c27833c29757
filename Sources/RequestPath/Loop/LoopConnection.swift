package import NIOCore
package import Sessions

/// What a loop knows of a client's connection.
package protocol LoopConnection: AnyObject {
    /// The place in the loop's list; kept by the loop.
    var listIndex: Int { get set }
    /// Since when the connection carries nothing, or nothing but an unfinished head; nil: it is in use.
    var quietSince: NIODeadline? { get }
    /// It carries something: a request that has begun, or an answer that the client has not read yet. So does a connection
    /// that has just opened, as its first request may still arrive.
    var isBusy: Bool { get }
    /// Bytes that wait for the client to take them.
    var unsentBytes: Int { get }

    /// Ends what has reached its deadline; called four times a second.
    func sweep(_ now: NIODeadline)
    /// Closes the connection whatever it carries; an answer under way breaks off.
    func closeNow()

    /// Whether it carries a request of a session that has ended.
    func isEnded(by endings: Endings) -> Bool
    /// Ends the stream of a session that has ended.
    func sessionEnded()
    /// Ends the stream of a session that could not be read for too long.
    func sessionUnreadable()
}

/// What has written bytes that are to leave at the end of the loop's turn.
package protocol TurnEndSender: AnyObject {
    /// The turn has ended: what was written leaves.
    func send()
}
