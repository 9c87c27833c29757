import AddressIntelligence
import NIOCore
import NIOPosix
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Consuming while the store races, changes or fails")
struct HandoffStoreTests {
    @Test("T4: of 64 consumers exactly one is signed in, and exactly one session is created")
    func race() async throws {
        let bench = try HandoffBench()
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 4)
        for _ in 0..<20 {
            let token = try await bench.minted(bench.signIn()).bytes
            let device = DeviceFacts(address: try #require(IPAddress("1.128.0.1")), asn: nil, userAgent: nil)
            let consumer = bench.consumer()
            let outcomes = try await withThrowingTaskGroup(of: HandoffOutcome.self) { group in
                for _ in 0..<64 {
                    let loop = loops.next()
                    let request = HandoffRequest(
                        token: token,
                        transport: .query,
                        authority: "app.example.com",
                        client: .web,
                        device: device,
                        existing: nil,
                        attempt: AttemptSecret(),
                        requestID: "race"
                    )
                    group.addTask {
                        try await loop.flatSubmit { consumer.consume(request, on: loop) }.get().outcome
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0.signedIn != nil } == 1)
            #expect(outcomes.count { $0.refusal == .handoffReplayed } == 63)
            let web = try #require(outcomes.compactMap(\.signedIn).first)
            #expect(try await bench.session(bench.key(web.token))?.id == web.session.id)
        }
        try await loops.shutdownGracefully()
    }

    @Test("T4: a consumer that judged too late is refused as a replay and creates no second session")
    func lostRace() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change {
            $0.beforeConsume = { _ = try await bench.consume(token) }
        }
        #expect(try await bench.consume(token).refusal == .handoffReplayed)
        #expect(bench.records.all.count { $0.outcome == .signedIn } == 1)
    }

    @Test("T4: a consumer that judged too late to burn the token leaves the winner's session alone")
    func lateBurn() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change {
            $0.beforeConsume = { _ = try await bench.consume(token) }
        }
        #expect(try await bench.consume(token, from: "12.0.0.1").refusal == .handoffReplayed)
        let record = try #require(bench.records.last)
        #expect(record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))
    }

    @Test("a parent that ends between the judgement and the consumption leaves no session behind")
    func parentEndsMeanwhile() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        bench.store.change {
            $0.beforeConsume = { try await bench.store.end(app.session.lineage, on: bench.loop).get() }
        }
        #expect(try await bench.consume(token).refusal == .handoffUnknown)
    }

    @Test("a parent that alone was signed out between the judgement and the consumption causes a refusal, and no burn")
    func parentSignsOutMeanwhile() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        bench.store.change {
            $0.beforeConsume = { _ = try await bench.store.end(app.key, on: bench.loop).get() }
        }
        #expect(try await bench.consume(token).refusal == .sessionRevoked)
        #expect(bench.records.last?.burns == false)
        #expect(bench.records.all.allSatisfy { $0.outcome != .signedIn })
    }

    @Test("a token of another reign is refused, and nothing is ended or burned", arguments: ["1.128.0.1", "12.0.0.1"])
    func quarantined(address: String) async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        bench.store.change { $0.consumptions = [.quarantined] }
        let outcome = try await bench.consume(token, from: address, existing: (old.key, old.session))
        #expect(outcome.refusal == .handoffQuarantined)
        #expect(!outcome.endsExisting)
        #expect(try await bench.session(old.key) != nil)
        let record = try #require(bench.records.last)
        #expect(record.outcome == .refused(.handoffQuarantined))
        #expect(record.outcome?.result == .quarantined)
        #expect(record.code?.rawValue == "w")
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))
        #expect(!record.burns && record.endedSessionID == nil && record.sessionID == nil)
        let event = try #require(record.auditEvents.first)
        #expect(event.kind == .transferTokenRejected && event.reason == .handoffQuarantined)
        // Only that one answer was scripted. In its own reign the token is still valid.
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("if the record has changed, the token is judged once more")
    func changedOnce() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change { $0.consumptions = [.changed] }
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("if the record keeps changing, the token is refused and not burned")
    func changedTwice() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change { $0.consumptions = [.changed, .changed] }
        #expect(try await bench.consume(token).refusal == .handoffUnknown)
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("an unavailable store is not a refusal and leaves the token as it is", arguments: 0..<3)
    func storeAway(callsBefore: Int) async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        // The lookup fails, then the read of the parent, then the consumption.
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, callsBefore) }
        #expect(try await bench.consume(token).storeError == .unavailable)
        #expect(bench.records.last?.outcome == .unavailable)
        #expect(bench.records.last?.code == nil)
        bench.store.change { $0.failure = nil }
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("a mismatch that cannot be burned is not reported as a refusal, so that no client learns to try elsewhere")
    func burnNeedsTheStore() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        #expect(try await bench.consume(token, from: "12.0.0.1").storeError == .unavailable)
    }

    @Test("without room for the session the token stays as it is")
    func storeFull() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.full, 2) }
        #expect(try await bench.consume(token).storeError == .full)
        bench.store.change { $0.failure = nil }
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("if the browser's old session cannot be ended, the sign-in still succeeds")
    func oldSessionCannotBeEnded() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(600))
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 3) }
        #expect(try await bench.consume(token, existing: (old.key, old.session)).signedIn != nil)
        #expect(bench.records.last?.outcome == .signedIn)
        #expect(bench.records.last?.endedSessionID == nil)
    }

    @Test("a revocation that fails is not recorded as done")
    func revocationNeedsTheStore() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        #expect(try await bench.consume(token, client: client).signedIn != nil)
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        #expect(try await bench.consume(token, from: "12.0.0.1", client: client).storeError == .unavailable)
    }
}
