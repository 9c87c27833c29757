import Cryptography
import RedisStore
import Sessions
import Testing
import Vocabulary

@Suite struct RecordTests {
    private let session = RedisStoreBench.session(
        subject: "alice",
        lineage: Lineage(tag: "0123456789"),
        now: UnixTime(milliseconds: 1_800_000_000_123)
    )
    private var transfer: TransferToken {
        let key = RecordKey(kind: .session, lineage: self.session.lineage, digest: SHA256.digest([1]))
        let parent = NewSession(key: key, session: self.session)
        return RedisStoreBench.transfer(from: parent, now: UnixTime(milliseconds: 1_800_000_000_123))
    }

    private func readBack(_ session: Session) throws -> Session {
        try Session.decoded(session.encoded)
    }

    @Test("A session is read as it was written, every field of it")
    func sessions() throws {
        #expect(try self.readBack(self.session) == self.session)
        var bare = self.session
        bare.clientID = nil
        bare.host = nil
        bare.device = nil
        bare.sourceKey = nil
        bare.methods = []
        bare.epoch = .max
        bare.kind = .native
        bare.idleLifetime = .nanoseconds(-1)
        bare.issuedAt = UnixTime(milliseconds: -1 << 52)
        bare.identity.traits = .object([:])
        #expect(try self.readBack(bare) == bare)
        var delegated = self.session
        delegated.actor = "bob"
        #expect(try self.readBack(delegated) == delegated)
        var lasting = self.session
        lasting.isPersistent = true
        #expect(try self.readBack(lasting) == lasting)
        for realm in [Realm.default, Realm("google")] {
            var linked = self.session
            linked.identity = linked.identity.inRealm(realm).linked(to: AccountID.id(String(repeating: "a", count: 32)))
            let read = try self.readBack(linked)
            #expect(read == linked && read.identity.subjectAtProvider == realm.subject("alice"))
            #expect(AccountID.isOne(read.identity.id) && read.subject == read.identity.id)
        }
        var plain = self.session
        plain.identity.id = "alice|7"
        plain.identity = plain.identity.called("alice|7")
        let read = try self.readBack(plain)
        #expect(read == plain && read.identity.ownID == "alice|7" && read.identity.id == "alice|7")
        delegated.kind = .native
        delegated.endsAlone = true
        delegated.access = AccessTerms(audience: nil)
        delegated.keyThumbprint = "key"
        #expect(try self.readBack(delegated) == delegated)
        var certified = self.session
        certified.kind = .native
        certified.certificateHash = SHA256.digest(Array("certificate".utf8))
        #expect(try self.readBack(certified) == certified)
        certified.keyThumbprint = "key"
        #expect(try self.readBack(certified) == certified)
    }

    @Test("What no gateway writes is refused: times without bounds, tags of another length, keys of another kind")
    func foreign() throws {
        func expectRefusal(_ change: (inout Session) -> Void) {
            var session = self.session
            change(&session)
            #expect(throws: CompactFormatError.self) { try self.readBack(session) }
        }
        for milliseconds in [Int64.min, (-1 << 52) - 1, (1 << 52) + 1, .max] {
            let time = UnixTime(milliseconds: milliseconds)
            expectRefusal { $0.issuedAt = time }
            expectRefusal { $0.expiresAt = time }
            expectRefusal { $0.provider = ProviderSession(name: "p", renewAt: time) }
            expectRefusal { $0.idleLifetime = .milliseconds(milliseconds) * 1000 }
        }
        for tag in ["", "012345678", "0123456789a", "01234567é9"] { expectRefusal { $0.lineage = Lineage(tag: tag) } }
        let other = RecordKey(kind: .transfer, lineage: self.session.lineage, digest: SHA256.digest([1]))
        expectRefusal { $0.provider = ProviderSession(name: "p", grant: other) }
        var bounds = self.session
        bounds.expiresAt = UnixTime(milliseconds: 1 << 52)
        bounds.idleLifetime = .milliseconds(Int64(1) << 52)
        #expect(try self.readBack(bounds) == bounds)
        // Both parts of a duration, of which together no standard library keeps the seconds.
        var writer = CompactWriter()
        writer.write(Int64.max)
        writer.write(Int64.max)
        var reader = CompactReader(writer.bytes)
        #expect(throws: CompactFormatError.self) { try reader.duration() }
    }

    @Test("A session of a named realm is read as it was written, and one that names none is of the default realm")
    func realms() throws {
        let plain = self.session.encoded
        #expect(try Session.decoded(plain).identity.realm == .default)
        for kind in [Session.Kind.web, .native] {
            var staff = self.session
            staff.kind = kind
            staff.endsAlone = true
            staff.identity.realm = Realm("staff")
            let read = try self.readBack(staff)
            #expect(read == staff && read.identity.realm.name == "staff" && read.subject != self.session.subject)
            #expect(read.identity.id == self.session.identity.id)
            #expect(throws: (any Error).self) { try Session.decoded(Array(staff.encoded.dropLast())) }
        }
    }

    @Test("An assurance level is stored under its name; a name that is unknown is read as less than any level")
    func assuranceLevels() throws {
        var bytes = self.session.encoded
        let name = Array("aal2".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
        #expect(try Session.decoded(bytes).aal == .aal2)
        bytes.replaceSubrange(place..<place + name.count, with: "urn:".utf8)
        let foreign = try Session.decoded(bytes)
        #expect(foreign.aal == .aal0 && AssuranceLevel.demandable.allSatisfy { foreign.aal < $0 })
    }

    @Test("A transfer token is read as it was written")
    func transfers() throws {
        let read = try TransferToken.decoded(self.transfer.encoded())
        #expect(read == self.transfer)
        var bound = self.transfer
        bound.host = "app.example.com:8443"
        #expect(try TransferToken.decoded(bound.encoded()) == bound)
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
        let read = try Marker.decoded(marker.encoded)
        #expect(read == marker)
    }

    @Test("The same record has the same bytes")
    func deterministic() {
        for _ in 0..<20 { #expect(self.session.encoded == self.session.encoded) }
    }

    @Test("A truncated or too long record is an error")
    func cut() throws {
        let bytes = try self.transfer.encoded()
        for count in bytes.indices {
            #expect(throws: CompactFormatError.self) { try TransferToken.decoded(Array(bytes[..<count])) }
        }
        #expect(throws: CompactFormatError.self) { try TransferToken.decoded(bytes + [0]) }
    }

    @Test("Changed bytes are read as another record or are an error, and never crash")
    func changed() throws {
        let bytes = try self.transfer.encoded()
        for index in bytes.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[index] = value
                _ = try? TransferToken.decoded(changed)
            }
        }
        #expect(throws: CompactFormatError.self) { try Session.decoded([UInt8](repeating: 0xFF, count: 100)) }
    }

    /// Written part by part: what lies in a Redis today must be read by every later version.
    @Test("Markers and transfer tokens have the bytes that they always had")
    func stable() throws {
        let text = { (text: String) in [UInt8(text.utf8.count)] + Array(text.utf8) }
        let digest = SHA256.digest([1])
        func key(_ kind: UInt8) -> [UInt8] { [kind] + text("0123456789") + text(digest.base64URL) }
        let session = RecordKey(kind: .session, lineage: Lineage(tag: "0123456789"), digest: digest)
        let transfer = RecordKey(kind: .transfer, lineage: Lineage(tag: "0123456789"), digest: digest)
        let attempt = AttemptID(value: "an attempt")
        let markers: [(Marker, [UInt8])] = [
            (.used(attempt, session: session), [1] + text("an attempt") + [1] + key(1)),
            (.used(attempt, session: transfer), [1] + text("an attempt") + [1] + key(2)),
            (.used(attempt, session: nil), [1] + text("an attempt") + [0]),
            (.burned(attempt, .bindingIPMismatch), [2] + text("an attempt") + text("binding.ip_mismatch")),
        ]
        for (marker, bytes) in markers {
            #expect(marker.encoded == bytes)
            #expect(try Marker.decoded(bytes) == marker)
        }
        let token = self.transfer
        var writer = CompactWriter()
        writer.write(token.issuedAt.milliseconds)
        writer.write(token.expiresAt.milliseconds)
        let parts: [[UInt8]] = [
            token.parent.encoded, [1] + text(token.parentKey.lineage.tag) + text(digest.base64URL), text("app"), [0],
            // 2001:db8::1 as two numbers, neither network nor user agent.
            [0x80, 0x80, 0x80, 0x80, 0x80, 0xB7, 0xC3, 0x80, 0x20, 1, 0, 0], [2] + text("a") + text("b"), writer.bytes,
        ]
        #expect(try token.encoded() == parts.flatMap { $0 })
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
