import NIOCore
import Sessions
import Vocabulary

/// Renews assertions at half of their lifetime, at the end of a turn, so that no request waits for a renewal. Confined
/// to its loop.
///
/// A signature takes some 30 microseconds. The loop makes a few at a time and serves its connections in between. Old
/// assertions are sent in the meantime.
final class AssertionRenewals {
    /// The number of signatures made before the loop continues.
    private static let batch = 4
    /// The pause between two batches. Without a delay, the next batch would run before the waiting connections.
    private static let pause = TimeAmount.milliseconds(1)

    private struct Due {
        let session: CachedSession
        let audience: Audience
        let configuration: PathConfiguration
    }

    private var due: [Due] = []
    /// The index of the next element of `due`.
    private var next = 0
    private var isPausing = false

    /// Adds a session whose assertion for an audience must be renewed.
    func append(_ session: CachedSession, for audience: Audience, by configuration: PathConfiguration) {
        self.due.append(Due(session: session, audience: audience, configuration: configuration))
    }

    /// Signs a batch of due assertions. Called at the end of each turn.
    @inline(__always)
    func turnEnded(_ loop: PathLoop) {
        if !self.due.isEmpty, !self.isPausing { self.signSome(loop) }
    }

    private func signSome(_ loop: PathLoop) {
        let end = min(self.next + Self.batch, self.due.count)
        for due in self.due[self.next..<end] {
            let signer = due.configuration.judging?.identity.assertion
            let signed = signer?.sign(
                due.session.session,
                for: due.audience,
                now: loop.sessionNow,
                wallNow: loop.wallNow
            )
            guard let signed else { continue }
            due.session.setAssertion(signed, at: loop.wallNow, generation: due.configuration.generation)
        }
        self.next = end
        guard end == self.due.count else { return self.continueLater(loop) }
        self.due.removeAll(keepingCapacity: true)
        self.next = 0
    }

    private func continueLater(_ loop: PathLoop) {
        self.isPausing = true
        let bound = NIOLoopBound((renewals: self, loop: loop), eventLoop: loop.eventLoop)
        loop.eventLoop.scheduleTask(in: Self.pause) {
            let (renewals, loop) = bound.value
            renewals.isPausing = false
            renewals.signSome(loop)
        }
    }
}
