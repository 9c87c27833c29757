import AddressIntelligence
import Synchronization

/// Hashes passwords on background threads: a few jobs run at once, and a limited number wait.
///
/// No source can fill all places. A quarter of them is reserved for familiar sources. A source gets a place only while
/// it has fewer places than are free (the dynamic threshold of Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998). So one
/// source gets at most half of the places. Sources take turns.
package final class PasswordWorkers: Sendable {
    /// Does the work, and returns a closure that passes the result to the caller.
    private typealias Job = @Sendable () -> @Sendable () -> Void

    private struct Waiting {
        let turn: Int
        let share: CIDRBlock
        let job: Job
    }

    /// The places that one source has.
    private struct Share {
        var places = 0
        /// The turn of the source's newest job.
        var lastTurn = 0
    }

    private struct State {
        var running = 0
        /// The waiting jobs in order of arrival.
        var waiting: [Waiting] = []
        var shares: [CIDRBlock: Share] = [:]
        /// The turn of the job that began last.
        var turn = 0
    }

    private let state = Mutex(State())
    private let atOnce: Int
    private let places: Int
    /// The number of places for familiar sources only.
    private let reserved: Int

    /// - Parameters:
    ///   - atOnce: The number of jobs that run at once. scrypt and Argon2 need tens of mebibytes for each.
    ///   - waitingLimit: The number of jobs that may wait. Further jobs are rejected.
    package init(atOnce: Int = 2, waitingLimit: Int = 126) {
        precondition(atOnce > 0 && waitingLimit >= 0, "there must be at least one worker")
        self.atOnce = atOnce
        self.places = atOnce + waitingLimit
        self.reserved = self.places / 4
    }

    /// The number of jobs that run or wait.
    package var occupiedPlaces: Int { self.state.withLock { $0.running + $0.waiting.count } }

    /// Returns whether a job of this source would be accepted now.
    package func hasPlace(for source: SignInSource) -> Bool {
        self.state.withLock { self.hasPlace(for: source, $0) }
    }

    /// Runs `work` and returns its result; `nil` if there was no place and `work` did not run.
    package func run<Value: Sendable>(for source: SignInSource, _ work: @escaping @Sendable () -> Value) async -> Value?
    {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let isTaken = self.submit(for: source) {
                let value = work()
                return { continuation.resume(returning: value) }
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    private func submit(for source: SignInSource, _ job: @escaping Job) -> Bool {
        enum Place { case now, later, none }
        let place: Place = self.state.withLock { state in
            guard self.hasPlace(for: source, state) else { return .none }
            var share = state.shares[source.share] ?? Share()
            share.places += 1
            share.lastTurn = max(share.lastTurn, state.turn) + 1
            state.shares[source.share] = share
            if state.running < self.atOnce {
                state.running += 1
                state.turn = share.lastTurn
                return .now
            }
            state.waiting.append(Waiting(turn: share.lastTurn, share: source.share, job: job))
            return .later
        }
        if place == .now { BackgroundThread.run { self.work(job, of: source.share) } }
        return place != .none
    }

    /// Runs the job, and then waiting jobs until none is left.
    private func work(_ job: @escaping Job, of share: CIDRBlock) {
        var (job, share) = (job, share)
        while true {
            let answer = job()
            let next = self.state.withLock { state in
                Self.free(share, &state)
                return Self.next(&state)
            }
            // The place is freed before the caller gets the result.
            answer()
            guard let next else { return }
            (job, share) = (next.job, next.share)
        }
    }

    private func hasPlace(for source: SignInSource, _ state: borrowing State) -> Bool {
        let left = self.places - state.running - state.waiting.count - (source.isFamiliar ? 0 : self.reserved)
        return (state.shares[source.share]?.places ?? 0) < left
    }

    private static func free(_ share: CIDRBlock, _ state: inout State) {
        guard var held = state.shares[share] else { return }
        held.places -= 1
        state.shares[share] = held.places > 0 ? held : nil
    }

    /// Removes and returns the waiting job with the lowest turn; `nil` if none waits.
    private static func next(_ state: inout State) -> Waiting? {
        guard let first = state.waiting.indices.min(by: { state.waiting[$0].turn < state.waiting[$1].turn }) else {
            state.running -= 1
            return nil
        }
        let next = state.waiting.remove(at: first)
        state.turn = next.turn
        return next
    }
}
