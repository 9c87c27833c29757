internal import NIOCore
internal import Synchronization

/// Which primaries refuse writes, though they can be read: for want of memory, of disk or of replicas. Those whose replicas
/// confirm nothing for `grace` are among them: what must outlive a failover is then refused by the gateway. For any thread.
///
/// That it refuses is seen in the answer to a request's script. That it does so no longer is not: a script that finds
/// nothing to write succeeds all along, and a gateway that is not ready, because nobody can sign in, is sent nothing. So
/// a primary that has refused is tried with a write of our own.
final class WriteWatch: Sendable {
    private struct State {
        var refusals: [RedisEndpoint: Refusal] = [:]
        /// The next round of tries; nil while nobody refuses, or while one is under way.
        var next: Scheduled<Void>?
        var isTrying = false
        var isShutDown = false
    }

    private struct Refusal {
        var refusal: RedisStatus.WriteRefusal
        var isTold: Bool
    }

    /// A replica that confirms a few writes too late does not make the gateway unfit to be sent requests.
    static let grace = Duration.seconds(2)
    /// Between two tries: Redis is in use again within a second.
    private static let pause = TimeAmount.milliseconds(500)

    private let loop: any EventLoop
    private let write: @Sendable (RedisEndpoint) -> EventLoopFuture<RedisReply>
    private let tell: @Sendable (RedisEvent) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - write: Writes to this primary what nobody misses.
    ///   - tell: Told when a primary begins to refuse, when it does so for another reason, and when it takes writes again.
    init(
        on loop: any EventLoop,
        write: @escaping @Sendable (RedisEndpoint) -> EventLoopFuture<RedisReply>,
        tell: @escaping @Sendable (RedisEvent) -> Void
    ) {
        self.loop = loop
        self.write = write
        self.tell = tell
    }

    /// Since when and why it refuses; nil: it does not, as far as is known.
    func refusal(of endpoint: RedisEndpoint) -> RedisStatus.WriteRefusal? {
        self.state.withLock { state in
            state.refusals[endpoint].flatMap { $0.isTold ? $0.refusal : nil }
        }
    }

    /// It has refused a write with this error: one of `RedisServerError.writeRefusals`, or `unconfirmed`.
    func refused(_ endpoint: RedisEndpoint, _ error: RedisServerError) {
        let isNew = self.state.withLock { state in
            guard !state.isShutDown else { return false }
            let known = state.refusals[endpoint]
            let refusal = RedisStatus.WriteRefusal(error: error, since: known?.refusal.since ?? .now)
            let isLasting = error != .unconfirmed || ContinuousClock.now - refusal.since >= Self.grace
            let isTold = isLasting || known?.isTold == true
            state.refusals[endpoint] = Refusal(refusal: refusal, isTold: isTold)
            self.scheduleTry(&state)
            return isTold && (known?.isTold != true || known?.refusal.error.code != error.code)
        }
        if isNew { self.tell(.writesRefused(endpoint, error)) }
    }

    /// Forgets what is a primary no longer.
    func keep(only endpoints: Set<RedisEndpoint>) {
        self.state.withLock { state in state.refusals = state.refusals.filter { endpoints.contains($0.key) } }
    }

    func shutDown() {
        self.state.withLock { state in
            state.isShutDown = true
            state.refusals = [:]
            state.next?.cancel()
            state.next = nil
        }
    }

    // MARK: Steps

    private func scheduleTry(_ state: inout State) {
        guard !state.isShutDown, !state.isTrying, state.next == nil, !state.refusals.isEmpty else { return }
        state.next = self.loop.scheduleTask(in: Self.pause) { self.tryAll() }
    }

    private func tryAll() {
        let endpoints = self.state.withLock { state in
            state.next = nil
            state.isTrying = true
            return Array(state.refusals.keys)
        }
        let tries = endpoints.map { endpoint in
            self.write(endpoint).always { self.settle($0, endpoint) }
        }
        EventLoopFuture.andAllComplete(tries, on: self.loop).whenComplete { _ in
            self.state.withLock { state in
                state.isTrying = false
                self.scheduleTry(&state)
            }
        }
    }

    private func settle(_ result: Result<RedisReply, any Error>, _ endpoint: RedisEndpoint) {
        switch result {
        case .failure(RedisError.unreplicated): self.refused(endpoint, .unconfirmed)
        case .failure: break
        case .success(.error(let error)):
            // Another error, a redirection for one, says nothing of writes.
            if let refusal = error.writeRefusal { self.refused(endpoint, refusal) }
        case .success:
            let wasTold = self.state.withLock { $0.refusals.removeValue(forKey: endpoint)?.isTold == true }
            if wasTold { self.tell(.writesTaken(endpoint)) }
        }
    }
}
