import EndpointBench
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Blocks of users")
struct UserBlocksTests {
    private static let alice = SwitchedProvider.alice.identity.id
    private let bench = SignInBench()
    private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private var users: UserSessions { UserSessions(sessions: self.bench.sessions) }
    private var blocks: UserBlocks { self.bench.records.blocks }

    /// The blocks of another gateway with this store.
    private func otherGateway() -> UserBlocks {
        RecordAccess(
            store: self.bench.store,
            authority: self.bench.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: self.bench.time.clock
        ).blocks
    }

    /// Blocks a user.
    ///
    /// - Returns: True if a session has ended.
    @discardableResult
    private func block(
        _ own: [String] = [UserBlocksTests.alice],
        accounts: [String] = [],
        until end: UnixTime? = nil,
        isDeprovisioned: Bool = false
    ) async throws -> Bool {
        try await self.users.block(
            UserNames(own: own, accounts: accounts),
            as: own.first ?? accounts.first ?? "",
            of: nil,
            until: end,
            note: nil,
            by: "ops",
            isDeprovisioned: isDeprovisioned,
            for: try self.bench.requester()
        ).hasEnded
    }

    private func unblock(_ names: String...) async throws {
        try await self.users.unblock(UserNames(own: names, accounts: []), by: "ops")
    }

    private func after(_ seconds: Int) -> UnixTime { self.bench.time.now.advanced(by: .seconds(seconds)) }

    private func user(_ identity: Identity) -> Authentication {
        Authentication(identity: identity, aal: .aal1, methods: ["password"])
    }

    /// Why a sign-in of this user is refused; nil if it succeeds.
    private func refusal(
        _ authentication: Authentication = SwitchedProvider.alice,
        by sessions: SessionService? = nil
    ) async throws -> Reason? {
        let requester = try self.bench.requester()
        let sessions = sessions ?? self.bench.sessions
        return await Result(try await sessions.begin(authentication, SessionTerms(.web), for: requester)).error?.reason
    }

    private func stored(_ name: String = UserBlocksTests.alice) async throws -> UserBlock? {
        try await self.bench.store.document(name, as: UserBlock.self, on: self.loop).get()?.record
    }

    /// Loses the document of a block, as a failover does.
    private func lose(_ name: String = UserBlocksTests.alice) async throws {
        let key = DocumentKey(collection: UserBlock.collection, id: name)
        #expect(try await self.bench.store.delete(key, on: self.loop).get())
    }

    @Test("A blocked user is signed out and refused until the block is lifted, and signs in anew then")
    func walk() async throws {
        let requester = try self.bench.requester()
        let token = try await self.bench.sessions.begin(SwitchedProvider.alice, SessionTerms(.native), for: requester)
            .token
        _ = try await self.bench.sessions.native(token)
        #expect(try await self.block())
        await #expect(throws: NotDone(.sessionUnknown)) { try await self.bench.sessions.native(token) }
        #expect(try await self.refusal() == .signInBlocked)
        let record = try #require(self.bench.audit.records.last)
        #expect(record.act == .session(.refused(.signInBlocked), .web) && record.subject == Self.alice)
        #expect(record.auditEvent?.kind == .signInFailed)
        #expect(try await !self.block(), "nobody is signed in any more")
        #expect(try await self.refusal(self.user(Identity(id: "bob", traits: [:]))) == nil)
        try await self.unblock(Self.alice)
        #expect(try await self.refusal() == nil)
        await #expect(throws: NotDone(.sessionUnknown)) { try await self.bench.sessions.native(token) }
        try await self.unblock(Self.alice)
    }

    @Test("A block ends at its time, and a second one replaces the end of the first")
    func until() async throws {
        try await self.block(until: self.after(60))
        self.bench.time.advance(by: .milliseconds(59_999))
        #expect(try await self.refusal() == .signInBlocked)
        #expect(try await self.users.blocks().map(\.until) == [self.bench.time.now.advanced(by: .milliseconds(1))])
        self.bench.time.advance(by: .milliseconds(1))
        #expect(try await self.refusal() == nil)
        #expect(try await self.users.blocks().isEmpty)
        try await self.block(until: self.after(60))
        try await self.block()
        self.bench.time.advance(by: .seconds(86_400))
        #expect(try await self.refusal() == .signInBlocked)
        try await self.block(until: self.after(1))
        self.bench.time.advance(by: .seconds(1))
        #expect(try await self.refusal() == nil)
    }

    @Test("A linked user is blocked by the provider's id and by the account, and all names are lifted together")
    func names() async throws {
        let account = AccountID.id(String(repeating: "a", count: 32))
        let linked = self.user(Identity(id: "ada", traits: [:]).linked(to: account))
        let alone = self.user(Identity(id: "ada", traits: [:]))
        for (own, accounts, isAlone) in [([], [account], false), (["ada"], [], true), (["ada"], [account], true)] {
            try await self.block(own, accounts: accounts)
            #expect(try await self.refusal(linked) == .signInBlocked)
            #expect(try await self.refusal(alone) == (isAlone ? .signInBlocked : nil))
            #expect(try await self.users.blocks().map(\.subject) == [own.first ?? account])
            try await self.unblock(accounts.first ?? "ada")
            #expect(try await self.refusal(linked) == nil)
            #expect(try await self.refusal(alone) == nil)
        }
    }

    @Test("A block of an account has the names that the account's sessions have at every provider")
    func accountNames() async throws {
        let account = AccountID.id(String(repeating: "a", count: 32))
        #expect(try await self.refusal(self.user(Identity(id: "ada", traits: [:]).linked(to: account))) == nil)
        #expect(try await self.block([], accounts: [account]))
        let names = try #require(try await self.users.blocks().first?.names)
        #expect(names.contains(account) && names.contains("ada"))
        #expect(try await self.refusal(self.user(Identity(id: "ada", traits: [:]))) == .signInBlocked)
    }

    /// Blocks alice when the sign-in is checked for the last time, after its session was written.
    private struct LateBlock: UserDirectory {
        let store: MemoryStore
        let block: UserBlock
        let loop: any EventLoop

        func hasLostUser(of session: Session) -> Bool { false }

        func hasFormerPassword(_ session: Session) -> Bool {
            let attempt = AttemptID(value: "late")
            _ = self.store.put(self.block, id: session.subject, judged: nil, attempt: attempt, on: self.loop)
            return false
        }
    }

    @Test("A user who is blocked while signing in gets no session")
    func late() async throws {
        let block = UserBlock(
            subject: Self.alice,
            provider: nil,
            names: [Self.alice],
            until: nil,
            note: nil,
            changedAt: self.bench.time.now,
            changedBy: "ops"
        )
        let sessions = SessionService(
            records: self.bench.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            users: RealmUsers(.default, LateBlock(store: self.bench.store, block: block, loop: self.loop)),
            journal: self.bench.audit.journal
        )
        #expect(try await self.refusal(by: sessions) == .signInBlocked)
        #expect(self.bench.store.sessionCount == 0)
        #expect(self.bench.audit.records.map(\.act) == [.session(.refused(.signInBlocked), .web)])
    }

    @Test("While the store cannot tell whether a user is blocked, nobody signs in")
    func outage() async throws {
        let store = ScriptedStore(self.bench.store)
        let records = RecordAccess(
            store: store,
            authority: self.bench.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: self.bench.time.clock
        )
        let sessions = SessionService(
            records: records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            journal: self.bench.audit.journal
        )
        // The store is asked before the session is written, then to write it, then again.
        for calls in 0..<3 {
            store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            #expect(try await self.refusal(by: sessions) == .storeUnavailable, "\(calls)")
        }
        #expect(self.bench.audit.records.isEmpty)
        store.fail(with: nil)
        #expect(try await self.refusal(by: sessions) == nil)
    }

    // MARK: Failovers

    @Test("A block that the store loses stays in force where it is known, and is written again with the user's end")
    func lost() async throws {
        let other = self.otherGateway()
        for blocks in [self.blocks, other] { await blocks.refresh() }
        try await self.block()
        await other.refresh()
        try await self.lose()
        let user = SwitchedProvider.alice.identity
        for blocks in [self.blocks, other] { #expect(try await blocks.isBlocked(user, on: self.loop).get()) }
        let epoch = try await self.bench.store.epoch(of: Self.alice, on: self.loop).get()
        #expect(try await self.stored() == nil)
        await other.refresh()
        let restored = try #require(try await self.stored())
        #expect(restored.until == nil)
        #expect(try await self.bench.store.epoch(of: Self.alice, on: self.loop).get() > epoch)
        #expect(try await self.refusal() == .signInBlocked)
    }

    @Test("A change that the store loses is written again, and an earlier block does not come back")
    func lostChange() async throws {
        await self.blocks.refresh()
        try await self.block(until: self.after(1000))
        let former = try #require(try await self.stored())
        try await self.unblock(Self.alice)
        try await self.lose()
        let attempt = AttemptID(value: "former")
        _ = try await self.bench.store.put(former, id: Self.alice, judged: nil, attempt: attempt, on: self.loop).get()
        #expect(try await self.refusal() == nil)
        await self.blocks.refresh()
        #expect(try await self.stored()?.until == self.bench.time.now)
        // A block that was lifted, and is gone altogether, needs no document.
        try await self.lose()
        await self.blocks.refresh()
        #expect(try await self.stored() == nil)
    }

    @Test("A block that another gateway lifts stays lifted, whatever this one remembers")
    func lifted() async throws {
        let other = self.otherGateway()
        try await self.block()
        await other.refresh()
        try await self.unblock(Self.alice)
        let user = SwitchedProvider.alice.identity
        #expect(try await !other.isBlocked(user, on: self.loop).get())
        await other.refresh()
        #expect(try await self.stored()?.until != nil)
        // The other one has heard nothing for so long that the lifted block may have been forgotten meanwhile.
        let late = self.otherGateway()
        try await self.block()
        await late.refresh()
        try await self.lose()
        self.bench.time.advance(by: .seconds(900))
        #expect(try await !late.isBlocked(user, on: self.loop).get())
        await late.refresh()
        #expect(try await self.stored() == nil)
    }

    @Test("A block is deleted an hour after its end")
    func past() async throws {
        try await self.block(until: self.after(10))
        self.bench.time.advance(by: .seconds(3609))
        await self.blocks.refresh()
        #expect(try await self.stored() != nil)
        self.bench.time.advance(by: .seconds(1))
        await self.blocks.refresh()
        #expect(try await self.stored() == nil)
        #expect(try await self.refusal() == nil)
    }

    @Test("A block of a version without SCIM is read")
    func earlierVersion() throws {
        let block = UserBlock(
            subject: "a",
            provider: nil,
            names: ["a"],
            until: nil,
            note: nil,
            changedAt: self.bench.time.now,
            changedBy: "ops"
        )
        var writer = CompactWriter()
        block.write(to: &writer)
        var reader = CompactReader(Array(writer.bytes.dropLast()))
        #expect(try UserBlock.read(from: &reader) == block)
    }

    @Test("A block by SCIM survives a failover until it is lifted, and is no operator's block")
    func lostDeprovisioned() async throws {
        await self.blocks.refresh()
        try await self.block(until: self.bench.time.now, isDeprovisioned: true)
        try await self.lose()
        await self.blocks.refresh()
        let restored = try #require(try await self.stored())
        #expect(restored.isDeprovisioned && !restored.isOfOperator(at: self.bench.time.now))
        #expect(try await self.refusal() == .signInBlocked)
        self.bench.time.advance(by: .seconds(86_400))
        await self.blocks.refresh()
        #expect(try await self.refusal() == .signInBlocked)
        let blocks = try await self.blocks.deprovisioned([Self.alice])
        // The provider deactivates the user once more: this block is not lifted together with the one before.
        try await self.block(until: self.bench.time.now, isDeprovisioned: true)
        try await self.blocks.reinstate(blocks, by: "okta")
        #expect(try await self.refusal() == .signInBlocked)
        try await self.blocks.reinstate(try await self.blocks.deprovisioned([Self.alice]), by: "okta")
        #expect(try await self.refusal() == nil)
        #expect(try await self.blocks.deprovisioned([Self.alice]).isEmpty)
        // A gateway that still knows the block does not write it again.
        await self.blocks.refresh()
        #expect(try await self.stored()?.until == self.bench.time.now)
        self.bench.time.advance(by: .seconds(3600))
        await self.blocks.refresh()
        #expect(try await self.stored() == nil)
    }
}
