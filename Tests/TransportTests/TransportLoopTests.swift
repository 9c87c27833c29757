import NIOCore
import Synchronization
import Testing
import Transport
import Vocabulary

/// Tasks and timers.
@Suite("The loop") struct TransportLoopTests {
    /// What has run, in order.
    private final class Journal: Sendable {
        private let entries = Mutex<[Int]>([])
        func note(_ entry: Int) { self.entries.withLock { $0.append(entry) } }
        var all: [Int] { self.entries.withLock { $0 } }
    }

    private final class TurnEnd: TurnEndTask {
        private let journal: Journal
        init(_ journal: Journal) { self.journal = journal }
        func turnEnded() { self.journal.note(-1) }
    }

    private struct Failure: Error {}

    @Test func runsTheTasksOfOtherThreadsInTheirOrder() async throws {
        try await SocketBench.with { bench in
            let journal = Journal()
            #expect(!bench.loop.inEventLoop)
            for entry in 0..<1000 {
                bench.loop.execute {
                    #expect(bench.loop.inEventLoop)
                    journal.note(entry)
                }
            }
            try await bench.onLoop {}
            #expect(journal.all == Array(0..<1000))
        }
    }

    @Test func tellsTheResultAndTheError() async throws {
        try await SocketBench.with { bench in
            let value = try await bench.loop.submit { 7 }.get()
            #expect(value == 7)
            await #expect(throws: Failure.self) { try await bench.loop.submit { throw Failure() }.get() }
            let later = try await bench.loop.scheduleTask(in: .nanoseconds(1)) { 8 }.futureResult.get()
            #expect(later == 8)
        }
    }

    @Test func timersRunInTheOrderOfTheirTimes() async throws {
        try await SocketBench.with { bench in
            let journal = Journal()
            let start = NIODeadline.now()
            let timers = [30, 10, 20, 10].enumerated().map { index, milliseconds in
                bench.loop.scheduleTask(deadline: start + .milliseconds(Int64(milliseconds))) { journal.note(index) }
            }
            for timer in timers { try await timer.futureResult.get() }
            #expect(journal.all == [1, 3, 2, 0] && NIODeadline.now() >= start + .milliseconds(30))
        }
    }

    @Test(arguments: [false, true]) func aCancelledTimerDoesNotRun(_ isOnLoop: Bool) async throws {
        try await SocketBench.with { bench in
            let journal = Journal()
            let timers = (0..<100).map { index in
                bench.loop.scheduleTask(in: .milliseconds(20)) { journal.note(index) }
            }
            let cancel = { @Sendable in for timer in timers[..<90] { timer.cancel() } }
            if isOnLoop { try await bench.onLoop(cancel) } else { cancel() }
            await #expect(throws: EventLoopError.cancelled) { try await timers[0].futureResult.get() }
            for timer in timers[90...] { try await timer.futureResult.get() }
            #expect(journal.all == Array(90..<100))
        }
    }

    @Test func repeatsATask() async throws {
        try await SocketBench.with { bench in
            let done = bench.loop.makePromise(of: Void.self)
            let journal = Journal()
            bench.loop.scheduleRepeatedTask(initialDelay: .milliseconds(1), delay: .milliseconds(1)) { task in
                journal.note(0)
                if journal.all.count == 3 { task.cancel(promise: done) }
            }
            try await done.futureResult.get()
            #expect(journal.all.count == 3)
        }
    }

    @Test func aTurnEndsAfterItsTasks() async throws {
        try await SocketBench.with { bench in
            let journal = Journal()
            try await bench.onLoop {
                bench.loop.atTurnEnd(TurnEnd(journal))
                bench.loop.execute { journal.note(1) }
                journal.note(0)
            }
            try await bench.onLoop {}
            #expect(journal.all == [0, 1, -1])
        }
    }

    @Test func anEndedLoopCancelsItsTimersAndIgnoresTasks() async throws {
        let group = try TransportGroup(count: 2)
        let failures = Mutex<[EventLoopError?]>([])
        group.loops[1].scheduleTask(in: .hours(1)) {}.futureResult.whenFailure { error in
            failures.withLock { $0.append(error as? EventLoopError) }
        }
        try await group.shutdownGracefully()
        #expect(failures.withLock { $0 } == [.cancelled])
        for loop in group.loops { loop.execute { Issue.record("the loop has ended") } }
    }

    @Test(.timeLimit(.minutes(5))) func anEndedLoopCancelsTheTimersOfItsLastTasks() async throws {
        let group = try TransportGroup(count: 1)
        let loop = group.loops[0]
        let ended = loop.makePromise(of: Void.self)
        loop.execute {
            loop.shutdownGracefully { _ in }
            // One turn later each, so that the last one runs when the loop ends.
            loop.execute {
                loop.execute {
                    loop.execute { loop.scheduleTask(in: .hours(1)) {}.futureResult.cascade(to: ended) }
                }
            }
        }
        await #expect(throws: EventLoopError.cancelled) { try await ended.futureResult.get() }
    }

    @Test func aTaskStaysOnItsLoop() async throws {
        try await SocketBench.with { bench in
            let loop = bench.loop
            let places = await Task(executorPreference: loop) {
                var places = [loop.inEventLoop]
                await Task.yield()
                places.append(loop.inEventLoop)
                try? await Task.sleep(for: .milliseconds(1))
                places.append(loop.inEventLoop)
                _ = await Task.detached {}.value
                places.append(loop.inEventLoop)
                return places + [await offLoop { !loop.inEventLoop }]
            }.value
            #expect(places == [true, true, true, true, true])
        }
    }

    @Test(.timeLimit(.minutes(5))) func aTaskOfAnEndedLoopRunsElsewhere() async throws {
        let group = try TransportGroup(count: 1)
        let loop = group.loops[0]
        try await group.shutdownGracefully()
        let hasRun = await Task(executorPreference: loop) { true }.value
        #expect(hasRun)
    }

    @Test func aGroupGivesTheLoopOfTheCaller() async throws {
        let group = try TransportGroup(count: 3)
        for loop in group.loops {
            let isSame = try await loop.submit { group.any() === loop }.get()
            #expect(isSame)
        }
        let others = (0..<3).map { _ in ObjectIdentifier(group.any()) }
        #expect(Set(others).count == 3)
        try await group.shutdownGracefully()
    }

    @Test func aGroupGivesItsLoopsInTurn() async throws {
        let group = try TransportGroup(count: 3)
        let loops = (0..<6).map { _ in ObjectIdentifier(group.next()) }
        #expect(Set(loops[..<3]).count == 3 && loops[..<3] == loops[3...])
        try await group.shutdownGracefully()
    }
}
