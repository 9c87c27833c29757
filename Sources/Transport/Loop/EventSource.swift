import CLinux

/// Something with a descriptor whose events a loop reports.
///
/// The loop keeps it from `TransportLoop.add` to the end of the turn in which it is removed. So an event of the same turn
/// finds the object, which ignores it when it has closed.
package class EventSource {
    /// The index in the loop's list, set by the loop.
    var listIndex = -1

    init() {}

    /// Called when the loop ends. Closes the descriptor.
    func loopEnds() {
        preconditionFailure("an event source closes with its loop")
    }

    /// Called with the events of epoll(7) that have occurred since the last call: each is reported once.
    func ready(_ events: UInt32, on loop: TransportLoop) {
        preconditionFailure("an event source handles its events")
    }
}

/// The events of epoll(7).
enum Events {
    static let input = EPOLLIN.rawValue
    static let output = EPOLLOUT.rawValue
    /// The peer sends nothing more; it may still read.
    static let peerClosed = EPOLLRDHUP.rawValue
    /// Both sides have closed, or the connection has failed.
    static let end = EPOLLHUP.rawValue | EPOLLERR.rawValue
    /// The connection has failed.
    static let failure = EPOLLERR.rawValue
    /// Reports each event once, so that no system call is needed to ignore it.
    static let once = EPOLLET.rawValue
}
