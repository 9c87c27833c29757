import Synchronization

/// Lets few tests at a time run servers of their own.
///
/// Swift Testing starts all tests of a process at once. Without turns some hundred servers share two cores, so that
/// connections time out, and Foundation's `Process.run`, which copies the entries of `/proc/self/fd` whole, reads past
/// the end of more than about 1,300 of them.
enum ServerTurns {
    private struct State {
        var free = 16
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let state = Mutex(State())

    /// Set in a test that has its turn: further servers of it do not wait, or tests would wait for each other.
    @TaskLocal private static var hasTurn = false

    /// Runs `body` when it is this test's turn.
    static func take<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        if self.hasTurn { return try await body() }
        await withCheckedContinuation { continuation in
            let starts = self.state.withLock { state in
                if state.free == 0 {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if starts { continuation.resume() }
        }
        defer { self.pass() }
        return try await self.$hasTurn.withValue(true) { try await body() }
    }

    /// Gives the turn to the next one.
    private static func pass() {
        let next = self.state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
