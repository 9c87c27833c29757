import NIOCore
import RedisStore
import Testing

@Suite struct LookPaceTests {
    /// A pace at one moment, without random shortening; results are pauses from that moment.
    private final class Rounds {
        private var pace = LookPace(interval: .seconds(10))
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000)

        func want(isNews: Bool = false) -> TimeAmount? {
            self.pace.want(isNews: isNews, at: self.now, chance: 1).map { $0 - self.now }
        }

        func begin() -> Bool { self.pace.begin() }

        func end(_ outcome: LookPace.Outcome, chance: Double = 1) -> TimeAmount {
            self.pace.end(outcome, at: self.now, chance: chance) - self.now
        }

        /// A whole round, which takes no time.
        @discardableResult
        func round(_ outcome: LookPace.Outcome) -> TimeAmount? {
            self.begin() ? self.end(outcome) : nil
        }
    }

    @Test("The first round begins at once, later ones at the interval")
    func unasked() {
        let rounds = Rounds()
        #expect(rounds.want() == .zero)
        #expect(rounds.round(.new) == .seconds(10))
        #expect(rounds.round(.same) == .seconds(10))
        // Long after the last round there is no pause.
        rounds.now = rounds.now + .seconds(5)
        #expect(rounds.want() == .zero)
    }

    @Test("There is one round at a time: a request during a round gets the next one")
    func oneAtATime() {
        let rounds = Rounds()
        #expect(rounds.want() == .zero)
        #expect(rounds.begin())
        #expect(rounds.want() == nil)
        #expect(!rounds.begin())
        #expect(rounds.end(.new) == .milliseconds(50))
        // That round is scheduled already.
        #expect(rounds.want() == nil)
    }

    @Test("Rounds that find nothing are repeated with growing pauses")
    func failing() {
        let rounds = Rounds()
        let pauses = (0..<6).map { _ in rounds.round(.nothing) }
        #expect(pauses == [100, 200, 400, 500, 500, 500].map { .milliseconds($0) })
        #expect(rounds.round(.new) == .seconds(10))
        #expect(rounds.round(.nothing) == .milliseconds(100))
    }

    @Test("Repeated requests without a change get growing pauses; an announced change is looked for soon")
    func insisting() {
        let rounds = Rounds()
        rounds.round(.new)
        let pauses = (0..<6).map { _ in
            let pause = rounds.want()
            rounds.round(.same)
            return pause
        }
        #expect(pauses == [50, 100, 200, 400, 500, 500].map { .milliseconds($0) })
        #expect(rounds.want() == .milliseconds(500))
        #expect(rounds.want() == nil)
        #expect(rounds.want(isNews: true) == .milliseconds(50))
    }

    @Test("A pause is shortened by at most half")
    func jitter() {
        let rounds = Rounds()
        #expect(rounds.begin())
        #expect(rounds.end(.nothing, chance: 0) == .milliseconds(50))
    }
}
