import Cryptography
import RedisStore
import Sessions
import Testing
import Vocabulary

@Suite struct RecordTests {
    private let session = StoreFixture.session(
        subject: "alice",
        lineage: Lineage(tag: "0123456789"),
        now: UnixTime(milliseconds: 1_800_000_000_123)
    )
    private var transfer: TransferToken {
        let key = RecordKey(kind: .session, lineage: self.session.lineage, digest: SHA256.digest([1]))
        let parent = NewSession(key: key, session: self.session)
        return StoreFixture.transfer(from: parent, now: UnixTime(milliseconds: 1_800_000_000_123))
    }

    private func readBack(_ session: Session) throws -> Session {
        try Records.session(Records.encode(session))
    }

    @Test("A session is read as it was written, every field of it")
    func sessions() throws {
        #expect(try self.readBack(self.session) == self.session)
        var bare = self.session
        bare.clientID = nil
        bare.host = nil
        bare.device = nil
        bare.bornOf = nil
        bare.methods = []
        bare.epoch = .max
        bare.kind = .native
        bare.idleLifetime = .nanoseconds(-1)
        bare.issuedAt = UnixTime(milliseconds: .min)
        bare.identity.traits = .object([:])
        #expect(try self.readBack(bare) == bare)
    }

    @Test("An assurance level is stored under its name; a name that is unknown is read as less than any level")
    func assuranceLevels() throws {
        var bytes = Records.encode(self.session)
        let name = Array("aal2".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
        #expect(try Records.session(bytes).aal == .aal2)
        bytes.replaceSubrange(place..<place + name.count, with: "urn:".utf8)
        let foreign = try Records.session(bytes)
        #expect(foreign.aal == .aal0 && AssuranceLevel.demandable.allSatisfy { foreign.aal < $0 })
    }

    @Test("A transfer token is read as it was written")
    func transfers() throws {
        let read = try Records.transfer(Records.encode(self.transfer))
        #expect(read == self.transfer)
        var bound = self.transfer
        bound.host = "app.example.com:8443"
        #expect(try Records.transfer(Records.encode(bound)) == bound)
    }

    @Test(
        "A marker is read as it was written",
        arguments: [
            Marker.used(AttemptID(value: "a"), session: nil),
            .used(
                AttemptID(value: "b"),
                session: RecordKey(kind: .session, lineage: Lineage(tag: "0123456789"), digest: SHA256.digest([2]))
            ),
            .burned(AttemptID(value: "c"), .bindingIPMismatch),
        ]
    )
    func marker(_ marker: Marker) throws {
        let read = try Records.marker(Records.encode(marker))
        #expect(read == marker)
    }

    @Test("The same record has the same bytes")
    func deterministic() {
        for _ in 0..<20 { #expect(Records.encode(self.session) == Records.encode(self.session)) }
    }

    @Test("A record that is cut, or longer than it should be, is an error")
    func cut() {
        let bytes = Records.encode(self.transfer)
        for count in bytes.indices {
            #expect(throws: CompactFormatError.self) { try Records.transfer(Array(bytes[..<count])) }
        }
        #expect(throws: CompactFormatError.self) { try Records.transfer(bytes + [0]) }
    }

    @Test("Changed bytes are read as something or are an error, but never a crash")
    func changed() {
        let bytes = Records.encode(self.transfer)
        for index in bytes.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[index] = value
                _ = try? Records.transfer(changed)
            }
        }
        #expect(throws: CompactFormatError.self) { try Records.session([UInt8](repeating: 0xFF, count: 100)) }
    }

    @Test("Keys of one lineage share a hash slot and hold no part of a token")
    func keys() {
        let digest = SHA256.digest([])
        let key = RecordKey(kind: .transfer, lineage: Lineage(tag: "0123456789"), digest: digest)
        #expect(Keyspace.record(key) == Array("sp:t:{0123456789}:\(digest.base64URL)".utf8))
        #expect(Keyspace.marker(key) == Array("sp:m:{0123456789}:\(digest.base64URL)".utf8))
        #expect(Keyspace.idle(key) == Array("sp:i:{0123456789}:\(digest.base64URL)".utf8))
        #expect(Keyspace.lineage(key.lineage) == Array("sp:g:{0123456789}".utf8))
        #expect(Keyspace.ending(key.lineage) == Array("sp:f:{0123456789}".utf8))
        #expect(Keyspace.epoch("name") == Array("sp:e:{name}".utf8))
    }
}
