package import NIOCore
package import SignOn
import Synchronization

/// Notifies no client, and remembers who was to be notified.
package final class NoticeLog: ClientNotifier {
    /// One notice.
    package struct Notice: Sendable, Equatable {
        /// The sessions that ended.
        package let ended: Set<ClientSession>
        package let isWholeUser: Bool
    }

    private struct State {
        var notices: [Notice] = []
        var isHeld = false
        var held: [EventLoopPromise<Void>] = []
    }

    package let isNeeded = true
    package let longestWait: TimeAmount
    private let state = Mutex(State())

    /// An empty log.
    ///
    /// - Parameter longestWait: Of a sign-out; by default longer than any test takes on a busy machine.
    package init(longestWait: TimeAmount = .minutes(10)) {
        self.longestWait = longestWait
    }

    /// From now on no notice gets through until `release`.
    package func hold() { self.state.withLock { $0.isHeld = true } }

    package func release() {
        let held = self.state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for notice in held { notice.succeed() }
    }

    /// The notices that do not get through.
    package var heldCount: Int { self.state.withLock { $0.held.count } }

    /// The notices that concern anyone, in order.
    package var notices: [Notice] { self.state.withLock { $0.notices } }

    /// All sessions that ended as `client sid`, sorted; one that was notified twice is there twice.
    package var sessions: [String] {
        self.notices.flatMap { $0.ended.map { "\($0.clientID) \($0.sessionID ?? "-")" } }.sorted()
    }

    package func notify(
        _ ended: [ClientSession],
        isWholeUser: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let notice = loop.makePromise(of: Void.self)
        let isHeld = self.state.withLock { state in
            if !ended.isEmpty { state.notices.append(Notice(ended: Set(ended), isWholeUser: isWholeUser)) }
            if state.isHeld { state.held.append(notice) }
            return state.isHeld
        }
        if !isHeld { notice.succeed() }
        return notice.futureResult
    }
}
