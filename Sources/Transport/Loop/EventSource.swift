import CLinux

/// An object that owns a descriptor and handles its events on a loop.
///
/// The loop retains a source until the end of the turn in which it is removed, because an event of that turn may still
/// reach it. A closed source ignores events.
package class EventSource {
    /// The index in the loop's list of sources. The loop sets it.
    var listIndex = -1

    init() {}

    /// Called when the loop ends. Closes the descriptor.
    func loopEnds() {
        preconditionFailure("an event source closes with its loop")
    }

    /// Called with the events of epoll(7) since the last call.
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
    /// Edge-triggered reporting: each event is reported once, so that ignoring an event needs no system call.
    static let once = EPOLLET.rawValue
}
