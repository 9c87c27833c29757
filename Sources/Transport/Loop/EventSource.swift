import CLinux

/// An object with a descriptor whose events a loop reports.
///
/// The loop retains a source from `TransportLoop.add` to the end of the turn in which it is removed. A late event of
/// that turn therefore reaches a valid object, which ignores it if it has closed.
package class EventSource {
    /// The index in the loop's list. The loop sets it.
    var listIndex = -1

    init() {}

    /// Called when the loop ends. Closes the descriptor.
    func loopEnds() {
        preconditionFailure("an event source closes with its loop")
    }

    /// Called with the events of epoll(7) since the last call. Each event is reported once.
    func ready(_ events: UInt32, on loop: TransportLoop) {
        preconditionFailure("an event source handles its events")
    }
}

/// The events of epoll(7).
enum Events {
    static let input = EPOLLIN.rawValue
    static let output = EPOLLOUT.rawValue
    /// The peer sends no more bytes; it may still read.
    static let peerClosed = EPOLLRDHUP.rawValue
    /// Both sides have closed, or the connection has failed.
    static let end = EPOLLHUP.rawValue | EPOLLERR.rawValue
    /// The connection has failed.
    static let failure = EPOLLERR.rawValue
    /// The flag that reports each event once, so that ignoring an event needs no system call.
    static let once = EPOLLET.rawValue
}
