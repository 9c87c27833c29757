import NIOCore

/// Looks for the primaries repeatedly, at the pace of `LookPace`, and reports each change. Its functions may be called
/// from any thread; its state is confined to its loop.
final class Lookout: Sendable {
    /// Performs one round, which must end even if no server answers. Returns the topology that was found, or `nil`.
    typealias Look = @Sendable (_ current: Topology?) async -> Topology?

    private struct Running {
        let look: Look
        let client: RedisClient
        var pace: LookPace
        var timer: Scheduled<Void>?
        var round: Task<Void, Never>?
        var current: Topology?
    }

    private let loop: any EventLoop
    private let interval: Duration
    /// The running state; `nil` before the start and after the end.
    private let running: NIOLoopBoundBox<Running?>

    /// - Parameter interval: The interval between rounds that nothing triggers.
    init(every interval: Duration, on loop: any EventLoop) {
        self.loop = loop
        self.interval = interval
        self.running = NIOLoopBoundBox.makeEmptyBox(eventLoop: loop)
    }

    /// Starts to look. Topologies are reported to `client` on the loop.
    func start(for client: RedisClient, look: @escaping Look) {
        self.loop.execute {
            self.running.value = Running(look: look, client: client, pace: LookPace(interval: self.interval))
            self.lookAgain()
        }
    }

    /// Looks at once, or as soon as the pace allows.
    ///
    /// - Parameter isNews: True if a server has announced that the primaries have changed.
    func lookAgain(isNews: Bool = false) {
        self.loop.execute {
            let due = self.running.value?.pace.want(isNews: isNews, at: .now(), chance: Double.random(in: 0...1))
            if let due { self.schedule(due) }
        }
    }

    /// Waits for the current round, drops its result, and stops.
    func shutDown() async {
        let round = try? await self.loop.submit {
            defer { self.running.value = nil }
            self.running.value?.timer?.cancel()
            self.running.value?.round?.cancel()
            return self.running.value?.round
        }.get()
        await round?.value
    }

    // MARK: Steps, on the loop

    private func schedule(_ due: NIODeadline) {
        self.running.value?.timer?.cancel()
        self.running.value?.timer = self.loop.scheduleTask(deadline: due) { self.begin() }
    }

    private func begin() {
        guard self.running.value?.pace.begin() == true, let running = self.running.value else { return }
        self.running.value?.round = Task {
            let found = await running.look(running.current)
            self.loop.execute { self.end(found) }
        }
    }

    private func end(_ found: Topology?) {
        guard let running = self.running.value else { return }
        let outcome: LookPace.Outcome = found == nil ? .nothing : found == running.current ? .same : .new
        if let found, outcome == .new {
            self.running.value?.current = found
            running.client.adopt(found)
        }
        self.running.value?.round = nil
        let due = self.running.value?.pace.end(outcome, at: .now(), chance: Double.random(in: 0...1))
        if let due { self.schedule(due) }
    }
}
