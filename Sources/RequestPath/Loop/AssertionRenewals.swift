import NIOCore
import Sessions
import Vocabulary

/// Signs the next assertions of sessions whose present ones have lost half of their life, after the requests of the
/// turn have been sent, so that no request waits for a signature. Confined to its loop.
///
/// A signature takes some 30 microseconds. When many are due at once, a few are made and the loop serves its
/// connections before the next few: there is a quarter of an assertion's life to make them.
final class AssertionRenewals {
    /// How many signatures are made before the loop continues.
    private static let batch = 4
    /// How long the loop serves its connections between two batches. A task without a delay would run before them.
    private static let pause = TimeAmount.milliseconds(1)

    private struct Due {
        let session: CachedSession
        let audience: Audience
        let configuration: PathConfiguration
    }

    private var due: [Due] = []
    /// The index of the next one in `due`.
    private var next = 0
    private var isPausing = false

    /// Adds a session whose assertion for this audience is to be renewed.
    func append(_ session: CachedSession, for audience: Audience, by configuration: PathConfiguration) {
        self.due.append(Due(session: session, audience: audience, configuration: configuration))
    }

    /// Called at the end of each turn.
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
