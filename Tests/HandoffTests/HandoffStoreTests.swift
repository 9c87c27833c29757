import AddressIntelligence
import Handoff
import NIOCore
import NIOPosix
import Observability
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Consuming against a store that races, changes or goes away")
struct HandoffStoreTests {
    @Test("T4: of 64 consumers exactly one is signed in, and exactly one session is made")
    func race() async throws {
        let world = try World()
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 4)
        for _ in 0..<20 {
            let token = try await world.minted(world.signIn()).bytes
            let device = DeviceFacts(address: try #require(IPAddress("1.128.0.1")), asn: nil, userAgent: nil)
            let consumer = world.consumer()
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
                        try await loop.flatSubmit { consumer.consume(request, on: loop) }.get()
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0.signedIn != nil } == 1)
            #expect(outcomes.count { $0.refusal == .handoffReplayed } == 63)
            let web = try #require(outcomes.compactMap(\.signedIn).first)
            #expect(try await world.session(world.key(web.token))?.id == web.session.id)
        }
        try await loops.shutdownGracefully()
    }

    @Test("T4: a consumer that judged too late meets a replay, not a second session")
    func lostRace() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change {
            $0.beforeConsume = { _ = try await world.consume(token) }
        }
        #expect(try await world.consume(token).refusal == .handoffReplayed)
        #expect(world.records.all.count { $0.outcome == .signedIn } == 1)
    }

    @Test("T4: one that would have burned the token leaves the winner's session alone")
    func lateBurn() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change {
            $0.beforeConsume = { _ = try await world.consume(token) }
        }
        #expect(try await world.consume(token, from: "12.0.0.1").refusal == .handoffReplayed)
        let record = try #require(world.records.last)
        #expect(record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))
    }

    @Test("a parent that ends between the judgement and the act leaves no session behind")
    func parentEndsMeanwhile() async throws {
        let world = try World()
        let app = try await world.signIn()
        let token = try await world.minted(app)
        world.store.change {
            $0.beforeConsume = { try await world.store.end(app.session.lineage, on: world.loop).get() }
        }
        #expect(try await world.consume(token).refusal == .handoffUnknown)
    }

    @Test("a parent that alone was signed out between the judgement and the act refuses, and burns nothing")
    func parentSignsOutMeanwhile() async throws {
        let world = try World()
        let app = try await world.signIn()
        let token = try await world.minted(app)
        world.store.change {
            $0.beforeConsume = { _ = try await world.store.end(app.key, on: world.loop).get() }
        }
        #expect(try await world.consume(token).refusal == .sessionRevoked)
        #expect(world.records.last?.burns == false)
        #expect(world.records.all.allSatisfy { $0.outcome != .signedIn })
    }

    @Test("a token of another reign is refused, ends nothing and burns nothing", arguments: ["1.128.0.1", "12.0.0.1"])
    func quarantined(address: String) async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        world.store.change { $0.consumptions = [.quarantined] }
        let outcome = try await world.consume(token, from: address, existing: (old.key, old.session))
        #expect(outcome.refusal == .handoffQuarantined)
        #expect(!outcome.endsExisting)
        #expect(try await world.session(old.key) != nil)
        let record = try #require(world.records.last)
        #expect(record.outcome == .refused(.handoffQuarantined))
        #expect(record.result == .quarantined)
        #expect(record.code?.rawValue == "w")
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))
        #expect(!record.burns && record.endedSessionID == nil && record.sessionID == nil)
        let event = try #require(record.auditEvents.first)
        #expect(event.kind == .transferTokenRejected && event.reason == .handoffQuarantined)
        // The script's answer was about one store; where the reign is the token's own, it is as good as before.
        #expect(try await world.consume(token).signedIn != nil)
    }

    @Test("a record that changed is judged once more")
    func changedOnce() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change { $0.consumptions = [.changed] }
        #expect(try await world.consume(token).signedIn != nil)
    }

    @Test("a record that keeps changing is refused, and not burned")
    func changedTwice() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change { $0.consumptions = [.changed, .changed] }
        #expect(try await world.consume(token).refusal == .handoffUnknown)
        #expect(try await world.consume(token).signedIn != nil)
    }

    @Test("a store that is away is no refusal and leaves the token as it is", arguments: 0..<3)
    func storeAway(callsBefore: Int) async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        // The lookup fails, then the look at the parent, then the act.
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, callsBefore) }
        #expect(try await world.consume(token).storeError == .unavailable)
        #expect(world.records.last?.outcome == .unavailable)
        #expect(world.records.last?.code == nil)
        world.store.change { $0.failure = nil }
        #expect(try await world.consume(token).signedIn != nil)
    }

    @Test("a mismatch that cannot be burned is no refusal: nobody may learn to try elsewhere")
    func burnNeedsTheStore() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        #expect(try await world.consume(token, from: "12.0.0.1").storeError == .unavailable)
    }

    @Test("no room for the session leaves the token as it is")
    func storeFull() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.full, 2) }
        #expect(try await world.consume(token).storeError == .full)
        world.store.change { $0.failure = nil }
        #expect(try await world.consume(token).signedIn != nil)
    }

    @Test("the browser's old session that cannot be ended does not undo the sign-in")
    func oldSessionCannotBeEnded() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(600))
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 3) }
        #expect(try await world.consume(token, existing: (old.key, old.session)).signedIn != nil)
        #expect(world.records.last?.outcome == .signedIn)
        #expect(world.records.last?.endedSessionID == nil)
    }

    @Test("a revocation that cannot be done does not pass for one")
    func revocationNeedsTheStore() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        #expect(try await world.consume(token, client: client).signedIn != nil)
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).storeError == .unavailable)
    }
}
