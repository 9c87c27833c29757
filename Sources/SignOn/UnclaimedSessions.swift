import Sessions
import Synchronization

/// Ends sessions that were written but are never handed out, because their sign-in failed. Nobody can use such a
/// session, but it would count against its user's limit (`session.max_per_user`) until it expires.
final class UnclaimedSessions: Sendable {
    /// The maximum number of sessions whose ends are retried at once. Further sessions stay until they expire.
    private static let capacity = 1024
    private static let tries = 200
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)

    private let count = Mutex(0)

    /// Retries `end` in the background until it succeeds, at most `tries` times.
    func retry(_ end: @escaping @Sendable () async throws -> Void) {
        let hasPlace = self.count.withLock { count in
            guard count < Self.capacity else { return false }
            count += 1
            return true
        }
        guard hasPlace else { return }
        Task.detached {
            var pause = Self.firstPause
            for _ in 0..<Self.tries {
                try? await Task.sleep(for: pause)
                if (try? await end()) != nil { break }
                pause = min(pause * 2, Self.longestPause)
            }
            self.count.withLock { $0 -= 1 }
        }
    }
}

extension RecordCaller {
    /// Ends a session that may have been written and is never handed out. Retries in the background while the store
    /// fails.
    func endUnclaimed(_ unclaimed: NewSession) async {
        let end: @Sendable () async throws -> Void = {
            try await self.ask { store, loop in unclaimed.session.end(unclaimed.key, in: store, on: loop) }
        }
        if (try? await end()) == nil { self.records.unclaimed.retry(end) }
    }
}
