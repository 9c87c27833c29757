import NIOCore
import Synchronization

/// The number of servers that choose the primary (sentinels or a cluster's primaries), and how many of them answer.
package struct Quorum: Sendable, Hashable {
    package let heard: Int
    package let count: Int

    package init(heard: Int, count: Int) {
        self.heard = heard
        self.count = count
    }

    /// Creates the quorum of the subscribed servers, with the number of servers heard within `time`.
    init(at subscriptions: some Collection<RedisSubscription>, within time: Duration) {
        let since = NIODeadline.now() - TimeAmount(time)
        self.init(heard: subscriptions.count { $0.lastHeard >= since }, count: subscriptions.count)
    }

    /// True if so many servers are silent that they may have chosen another primary unnoticed.
    package var isLost: Bool { self.heard <= self.count / 2 }
}

/// Detects that this gateway may be cut off together with a primary that was replaced. A replaced primary still has
/// sessions that have ended, and writes to it will be lost. Thread-safe.
final class QuorumWatch: Sendable {
    /// The time without a sign of life after which a server is silent. Servers are asked for a sign of life every
    /// second (`SubscriptionPlan`).
    static let silence = Duration.seconds(5)
    private static let interval = TimeAmount.milliseconds(250)

    private struct State {
        var cutOff: RedisStatus.CutOff?
        var timer: RepeatedTask?
    }

    /// True while `State.cutOff` is not `nil`. Read before each command, without the lock.
    private let isLost = Atomic(false)
    private let state = Mutex(State())
    private let quorum: @Sendable () -> Quorum?
    private let notify: @Sendable (RedisEvent) -> Void

    /// - Parameters:
    ///   - quorum: Called on the loop. Returns `nil` if no other servers choose the primary.
    ///   - notify: Called when a majority of the servers is no longer heard, and when it is heard again.
    init(quorum: @escaping @Sendable () -> Quorum?, notify: @escaping @Sendable (RedisEvent) -> Void) {
        self.quorum = quorum
        self.notify = notify
    }

    var isCutOff: Bool { self.isLost.load(ordering: .relaxed) }
    var cutOff: RedisStatus.CutOff? { self.state.withLock { $0.cutOff } }

    func start(on loop: any EventLoop) {
        let timer = loop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { [weak self] _ in
            self?.look()
        }
        self.state.withLock { $0.timer = timer }
    }

    func shutDown() {
        self.state.withLock { $0.timer }?.cancel()
    }

    private func look() {
        guard let quorum = self.quorum() else { return }
        let event: RedisEvent? = self.state.withLock { state in
            guard quorum.isLost != (state.cutOff != nil) else { return nil }
            state.cutOff = quorum.isLost ? RedisStatus.CutOff(quorum: quorum, since: .now) : nil
            self.isLost.store(quorum.isLost, ordering: .relaxed)
            return quorum.isLost ? .cutOff(quorum) : .rejoined
        }
        if let event { self.notify(event) }
    }
}
