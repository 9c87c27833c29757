import Cryptography
import NIOCore
import NIOPosix
import Sessions
import StoreBench
import Testing
import Vocabulary

/// The records of one sign-in for many hosts, as stores keep them.
@Suite("Records of tickets and of handoff families")
struct HostRecordTests {
    private static let now = UnixTime(milliseconds: 1_800_000_000_123)
    private let time = MovableClock(startingAt: Self.now)
    private let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    private let lineage = Lineage(tag: "0123456789")
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    private func key(_ number: Int, _ kind: RecordKind = .session) -> RecordKey {
        RecordKey(kind: kind, lineage: self.lineage, digest: SHA256.digest(Array("\(number)".utf8)))
    }

    private var ticket: HostTicket {
        HostTicket(
            parent: self.key(1),
            owner: RecordOwner(subject: "ada", epoch: 7),
            host: "app.example.com:8443",
            challenge: SHA256.digest([2]),
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: HostTicket.lifetime)
        )
    }

    /// A web session that a transfer token has made.
    private var root: Session {
        Session(
            id: "ses_1",
            kind: .web,
            origin: .transfer,
            lineage: self.lineage,
            identity: Identity(id: "ada", traits: [:]),
            host: "app.example.com",
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: Self.now,
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(900)
        )
    }

    /// A family with these members, in a store of its own that has the sessions.
    private func family(_ members: [RecordKey]) async throws -> (HandoffFamily, MemoryStore) {
        let store = MemoryStore(maxSessions: 100, maxMarkers: 100, clock: self.time.clock, caches: SessionCaches())
        let rootKey = self.key(0)
        try await store.create(NewSession(key: rootKey, session: self.root), on: self.loop).get()
        for member in members {
            try await store.create(NewSession(key: member, session: self.root), on: self.loop).get()
            try await HandoffFamily.add(
                member,
                root: rootKey,
                parent: self.root,
                former: nil,
                to: store,
                on: self.loop
            ).get()
        }
        let key = RecordKey(kind: HandoffFamily.kind, lineage: self.lineage, digest: rootKey.digest)
        let stored = try await store.replaceable(key, as: HandoffFamily.self, on: self.loop).get()
        return (try #require(stored).record, store)
    }

    private func isReadExactly<Record: StoredRecord & Equatable>(_ record: Record) throws {
        let bytes = try record.encoded()
        #expect(try Record.decoded(bytes) == record)
        for count in bytes.indices {
            #expect(throws: CompactFormatError.self) { try Record.decoded(Array(bytes[..<count])) }
        }
        #expect(throws: CompactFormatError.self) { try Record.decoded(bytes + [0]) }
        // Another record or an error, and no crash.
        for index in bytes.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[index] = value
                _ = try? Record.decoded(changed)
            }
        }
    }

    @Test("They are read as they were written; a part of one, or one with a byte more, is an error")
    func roundTrip() async throws {
        try self.isReadExactly(self.ticket)
        for count in [1, 3] { try self.isReadExactly(try await self.family((1...count).map { self.key($0) }).0) }
    }

    /// Written part by part: what lies in a Redis today must be read by every later version.
    @Test("They have the bytes that they always had")
    func stable() async throws {
        func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
        func key(_ number: Int) -> [UInt8] { [1] + text("0123456789") + text(self.key(number).digest.base64URL) }
        func time(_ seconds: Int64) -> [UInt8] {
            var writer = CompactWriter()
            writer.write(Self.now.advanced(by: .seconds(seconds)).milliseconds)
            return writer.bytes
        }
        let ticket: [[UInt8]] = [
            key(1), text("ada"), [7], text("app.example.com:8443"), text(SHA256.digest([2]).base64URL), time(0),
            time(60),
        ]
        #expect(try self.ticket.encoded() == ticket.flatMap { $0 })
        let family: [[UInt8]] = [[2], key(1), key(2), time(0), time(3600), [1], text("ada"), [0]]
        #expect(try await self.family([self.key(1), self.key(2)]).0.encoded() == family.flatMap { $0 })
    }

    @Test("A family remembers 64 sessions; for each that is added then, the oldest ends")
    func capacity() async throws {
        let members = (1...66).map { self.key($0) }
        let (family, store) = try await self.family(members)
        #expect(family.members == Array(members.suffix(64)))
        try self.isReadExactly(family)
        for (number, member) in members.enumerated() {
            let isThere = try await store.session(member, on: self.loop).get() != nil
            #expect(isThere == (number >= 2))
        }
        #expect(try await store.session(self.key(0), on: self.loop).get() != nil, "the first of all stays")
        try await HandoffFamily.end(root: self.key(0), in: store, on: self.loop).get()
        for member in [self.key(0)] + members {
            #expect(try await store.session(member, on: self.loop).get() == nil)
        }
    }
}
