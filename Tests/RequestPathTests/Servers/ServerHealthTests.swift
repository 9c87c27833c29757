import NIOCore
import RequestPath
import Settings
import Testing

@Suite("The health of a server") struct ServerHealthTests {
    private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(1000 + seconds) }

    /// A server that was left out at second 0.
    private static func leftOut() -> ServerHealth {
        var health = ServerHealth()
        health.leave(now: Self.time(0), percent: 0)
        return health
    }

    @Test func fiveFailuresInARowAreTooMany() {
        var health = ServerHealth()
        for _ in 0..<4 { #expect(health.failed(isSuspect: false) == .none) }
        #expect(health.answered(200) == .none)
        for _ in 0..<4 { #expect(health.failed(isSuspect: false) == .none) }
        #expect(health.failed(isSuspect: false) == .unfit)
        #expect(health.isServing)
    }

    @Test func oneFailureIsEnoughIfAnotherLoopLeavesItOut() {
        var health = ServerHealth()
        #expect(health.failed(isSuspect: true) == .unfit)
    }

    /// An app's own failure says nothing of whether the server is there.
    @Test func tenAnswersOfAGatewayInARowAreTooMany() {
        for status in [502, 503, 504] {
            var health = ServerHealth()
            for _ in 0..<9 { #expect(health.answered(status) == .none) }
            #expect(health.answered(500) == .none)
            for _ in 0..<9 { #expect(health.answered(status) == .none) }
            #expect(health.answered(status) == .unfit)
        }
    }

    @Test func itIsLeftOutForLongerEachTime() {
        var health = ServerHealth()
        var now = Self.time(0)
        for (times, seconds) in [10, 20, 30, 40].enumerated() {
            health.leave(now: now, percent: 0)
            #expect(!health.isServing && !health.awaitsProbe(now: now + .seconds(Int64(seconds) - 1)), "\(times)")
            now = now + .seconds(Int64(seconds))
            #expect(health.awaitsProbe(now: now))
            health.probe(now: now)
            #expect(!health.awaitsProbe(now: now))
            #expect(health.failed(isSuspect: false) == .stillOut)
        }
        for _ in 0..<100 { health.leave(now: now, percent: 0) }
        #expect(!health.awaitsProbe(now: now + .seconds(299)) && health.awaitsProbe(now: now + .seconds(300)))
    }

    @Test func theWhileIsNotTheSameForAll() {
        var health = ServerHealth()
        health.leave(now: Self.time(0), percent: 19)
        #expect(!health.awaitsProbe(now: Self.time(11)) && health.awaitsProbe(now: Self.time(12)))
    }

    @Test func anAnswerToTheProbeBringsItBack() {
        var health = Self.leftOut()
        // The answer to an earlier request.
        #expect(health.answered(200) == .none && !health.isServing)
        health.probe(now: Self.time(10))
        #expect(health.answered(204) == .back)
        health.comeBack(now: Self.time(10))
        #expect(health.isServing)
        // It fails again soon: the second time.
        health.leave(now: Self.time(20), percent: 0)
        #expect(!health.awaitsProbe(now: Self.time(39)) && health.awaitsProbe(now: Self.time(40)))
    }

    @Test func afterALongTimeItIsTheFirstTimeAgain() {
        var health = Self.leftOut()
        health.comeBack(now: Self.time(10))
        health.leave(now: Self.time(311), percent: 0)
        #expect(health.awaitsProbe(now: Self.time(321)))
    }

    @Test func aProbeWithoutAnEndDoesNotKeepItOut() {
        var health = Self.leftOut()
        health.probe(now: Self.time(10))
        #expect(!health.awaitsProbe(now: Self.time(19)) && health.awaitsProbe(now: Self.time(20)))
    }

    @Test func whatAnotherLoopHasHeardIsTriedNext() {
        var health = Self.leftOut()
        health.heard(Self.time(-1))
        #expect(!health.awaitsProbe(now: Self.time(2)))
        health.heard(Self.time(2))
        #expect(health.awaitsProbe(now: Self.time(2)))
    }

    // MARK: Without a request that tells

    @Test func aServerThatCanBeConnectedToServesOnTrial() {
        for fails in [true, false] {
            var health = Self.leftOut()
            #expect(health.found(true) == .none && !health.isServing)
            health.probe(now: Self.time(15))
            #expect(health.found(true) == .back)
            health.comeBack(now: Self.time(15))
            #expect(health.isServing)
            if fails {
                #expect(health.failed(isSuspect: false) == .unfit)
            } else {
                #expect(health.answered(503) == .unfit)
                #expect(health.answered(200) == .none)
                #expect(health.failed(isSuspect: false) == .none)
            }
        }
    }

    @Test func aServerThatCannotBeConnectedToStaysOut() {
        var health = Self.leftOut()
        health.probe(now: Self.time(15))
        #expect(health.found(false) == .stillOut)
    }

    @Test func anAnswerThatDisappointsLeavesNoneOutAndBringsNoneBack() {
        var health = ServerHealth()
        for _ in 0..<100 { #expect(health.disappointed() == .none) }
        health = Self.leftOut()
        #expect(health.disappointed() == .none)
        health.probe(now: Self.time(10))
        #expect(health.disappointed() == .stillOut)
    }

    // MARK: Second tries

    @Test func aTenthOfTheRequestsAndThreeASecondMayBeRepeated() {
        var budget = RetryBudget()
        #expect((0..<100).count { _ in budget.take(now: Self.time(0)) } == 30)
        for _ in 0..<500 { budget.count() }
        #expect((0..<100).count { _ in budget.take(now: Self.time(1)) } == 50)
        // What is older than ten seconds does not count any more, requests and tries alike.
        #expect((0..<100).count { _ in budget.take(now: Self.time(10)) } == 0)
        #expect((0..<100).count { _ in budget.take(now: Self.time(11)) } == 30)
        #expect((0..<100).count { _ in budget.take(now: Self.time(100)) } == 30)
    }

    // MARK: Checks

    @Test func oneCheckRunsAtATime() {
        var count = HealthCount()
        let health = HealthSettings()
        #expect(count.begin(now: Self.time(0), every: .seconds(10)) == true)
        #expect(count.begin(now: Self.time(20), every: .seconds(10)) == false)
        #expect(count.end(true, health) == nil)
        #expect(count.begin(now: Self.time(20), every: .seconds(10)) == true)
        #expect(count.end(true, health) == false)
        #expect(count.begin(now: Self.time(29), every: .seconds(10)) == false)
        #expect(count.begin(now: Self.time(30), every: .seconds(10)) == true)
        // It has no result, which neither breaks a row of results nor keeps the next check from running.
        count.skip()
        #expect(count.begin(now: Self.time(40), every: .seconds(10)) == true)
    }

    @Test func checksDecideWhenSeveralInARowAgree() {
        var (count, health) = (HealthCount(), HealthSettings())
        health.passes = 2
        health.fails = 3
        let found = [false, false, true, false, false, false, false, true, true].map { count.end($0, health) }
        #expect(found == [nil, nil, nil, nil, nil, true, true, nil, false])
    }

    @Test func aGoodAnswerHasTheStatusOfTheSettings() {
        var health = HealthSettings()
        #expect([199, 200, 204, 302, 399, 400, 503].filter(health.isGood) == [200, 204, 302, 399])
        health.status = 401
        #expect([200, 401].filter(health.isGood) == [401])
    }

    @Test func aServerThatIsBackStartsSlowly() {
        var load = ServerLoad(share: 3, hash: 0)
        let weights = ([0, 1, 5, 15, 29, 30] as [Int64]).map { second -> Int in
            let grows = load.grow(.seconds(second), of: .seconds(30))
            #expect(grows == (second < 30))
            return load.weight
        }
        #expect(weights == [30, 30, 48, 150, 288, 300])
        // Without slow_start it has its whole share at once.
        #expect(!load.grow(.zero, of: nil) && load.weight == 300)
    }
}
