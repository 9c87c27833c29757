import NIOCore
import Synchronization

/// Detects primaries that serve reads but refuse writes, for lack of memory, disk or replicas. A primary whose replicas
/// confirm nothing for `grace` is treated as refusing. Thread-safe.
///
/// Only test writes show that a primary accepts writes again. A script that finds nothing to write succeeds anyway, and
/// a gateway that is not ready gets no requests.
final class WriteWatch: Sendable {
    private struct State {
        var refusals: [RedisEndpoint: Refusal] = [:]
        /// The next round of test writes; `nil` while no primary refuses, or while a round is running.
        var next: Scheduled<Void>?
        var isTrying = false
        var isShutDown = false
    }

    private struct Refusal {
        var refusal: RedisStatus.WriteRefusal
        var isTold: Bool
    }

    /// The time without confirmations after which the gateway is not ready. A few late confirmations are tolerated.
    static let grace = Duration.seconds(2)
    /// The pause between two test writes.
    private static let pause = TimeAmount.milliseconds(500)

    private let loop: any EventLoop
    private let write: @Sendable (RedisEndpoint) -> EventLoopFuture<RedisReply>
    private let notify: @Sendable (RedisEvent) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - write: Writes a test key to this primary.
    ///   - notify: Called when a primary starts to refuse, when its reason changes, and when it accepts writes again.
    init(
        on loop: any EventLoop,
        write: @escaping @Sendable (RedisEndpoint) -> EventLoopFuture<RedisReply>,
        notify: @escaping @Sendable (RedisEvent) -> Void
    ) {
        self.loop = loop
        self.write = write
        self.notify = notify
    }

    /// Returns the reason and the start of the primary's refusal; `nil` if it accepts writes, as far as is known.
    func refusal(of endpoint: RedisEndpoint) -> RedisStatus.WriteRefusal? {
        self.state.withLock { state in
            state.refusals[endpoint].flatMap { $0.isTold ? $0.refusal : nil }
        }
    }

    /// Records that the primary refused a write with this error: one of `RedisServerError.writeRefusals`, or
    /// `unconfirmed`.
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
        if isNew { self.notify(.writesRefused(endpoint, error)) }
    }

    /// Drops servers that are no longer primaries.
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
            // Another error, such as a redirection, says nothing about writes.
            if let refusal = error.writeRefusal { self.refused(endpoint, refusal) }
        case .success:
            let wasTold = self.state.withLock { $0.refusals.removeValue(forKey: endpoint)?.isTold == true }
            if wasTold { self.notify(.writesAccepted(endpoint)) }
        }
    }
}
