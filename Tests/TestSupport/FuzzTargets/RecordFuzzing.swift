import AddressIntelligence
import Cryptography
import Providers
import RedisStore
import Sessions
import SignOn
import TestSupport
import Vocabulary

/// What Redis gives back: the first byte says of which kind of record the others are. They are the record that was written,
/// or are refused.
enum RecordFuzzing {
    private typealias Reader = @Sendable ([UInt8]) -> String?

    private static let readers: [Reader] = [
        { Self.session($0) }, { Self.reading($0, TransferToken.self) },
        { Self.reading($0, AuthorizationCode.self) }, { Self.reading($0, PushedRequest.self) },
        { Self.reading($0, RefreshFamily.self) ?? Self.place($0) },
        { Self.reading($0, ProviderGrant.self) ?? Self.renewal($0) },
        { Self.reading($0, ProviderSessionRecord.self) }, { Self.reading($0, LogoutReceipt.self) },
        { Self.reading($0, KeptFlow.self) }, { Self.reading($0, ReturnCode.self) },
        { Self.reading($0, HostTicket.self) },
        { Self.reading($0, HandoffFamily.self) }, { Self.reading($0, SuccessorToken.self) },
        { Self.reading($0, ForeignSessionRecord.self) ?? Self.verdict($0) },
        { Self.reading($0, ExchangeClaim.self) }, { Self.reading($0, ClientChange.self) },
        { Self.reading($0, SigningKeyDocument.self) }, { Self.marker($0) }, { Self.envelopes($0) }, { Self.names($0) },
        { Self.reading($0, ClientSessions.self) },
        { Self.reading($0, UserBlock.self) }, { Self.reading($0, ProvisioningPage.self) },
    ]

    static func record(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        return self.readers[Int(first) % self.readers.count](Array(bytes.dropFirst()))
    }

    // MARK: Records

    /// Whoever reads the bytes that a record writes gets the same record.
    private static func reading<Record: RecordCodable>(_ bytes: [UInt8], _ kind: Record.Type) -> String? {
        var reader = CompactReader(bytes)
        guard let record = try? Record.read(from: &reader) else { return nil }
        if let stored = record as? any StoredRecord {
            _ = stored.terms
            _ = stored.end(writtenAt: self.now)
        }
        let written = self.bytes(of: record)
        var again = CompactReader(written)
        guard let same = try? Record.read(from: &again), (try? again.finish()) != nil, self.bytes(of: same) == written
        else { return "\(kind) is not read as it was written" }
        return nil
    }

    private static func bytes(of record: some RecordCodable) -> [UInt8] {
        var writer = CompactWriter()
        record.write(to: &writer)
        return writer.bytes
    }

    /// A session that was read is judged, rendered and kept.
    private static func session(_ bytes: [UInt8]) -> String? {
        guard let session = try? Session.decoded(bytes) else { return nil }
        guard let same = try? Session.decoded(session.encoded), same.encoded == session.encoded else {
            return "a session is not read as it was written"
        }
        let key = RecordKey(kind: .session, lineage: session.lineage, digest: SHA256.digest([]))
        for usedAt in [nil, session.issuedAt, session.expiresAt] {
            let stored = Stored(record: session, version: RecordVersion(value: 1), usedAt: usedAt)
            _ = stored.isUseDue(at: self.now)
        }
        _ = session.cookieAge(at: self.now)
        _ = session.familyRoot(key)
        _ = session.expiresAt.rfc3339
        _ = self.authority.make(.session, in: session.lineage)
        return ClaimsFuzzing.violation(of: session.identity)
    }

    private static func place(_ bytes: [UInt8]) -> String? {
        guard let family = try? RefreshFamily.decoded(bytes) else { return nil }
        for generation in [0, 1, .max] as [UInt32] {
            _ = family.place(of: generation, leeway: .seconds(60), at: self.now)
            _ = family.rotated(from: generation, at: self.now)
        }
        return nil
    }

    private static func renewal(_ bytes: [UInt8]) -> String? {
        guard let grant = try? ProviderGrant.decoded(bytes) else { return nil }
        _ = grant.renewalStep(of: "h", at: self.now) { _, _ in true }
        _ = grant.resting(for: nil, jitter: 1, at: self.now)
        _ = grant.lost(at: self.now)
        _ = grant.renewed(grant.tokens, identity: nil, at: self.now)
        return nil
    }

    private static func verdict(_ bytes: [UInt8]) -> String? {
        guard let record = try? ForeignSessionRecord.decoded(bytes) else { return nil }
        let verdict = record.foreign.verdict
        let isInOrder = verdict.givenAt <= verdict.askAgainAt && verdict.askAgainAt <= verdict.usableUntil
        return isInOrder ? nil : "a verdict is asked for again outside its life"
    }

    private static func marker(_ bytes: [UInt8]) -> String? {
        guard let marker = try? Marker.decoded(bytes) else { return nil }
        return (try? Marker.decoded(marker.encoded)) == marker ? nil : "a marker is not read as it was written"
    }

    private static func envelopes(_ bytes: [UInt8]) -> String? {
        _ = try? ReplaceableEnvelope(bytes).record(as: ProviderGrant.self)
        _ = try? DocumentEnvelope(bytes).document(as: ClientChange.self)
        var reader = CompactReader(bytes)
        guard let document = try? JSONDocument(from: &reader) else { return nil }
        var json = JSONWriter()
        document.write(to: &json)
        _ = document.value(at: [Array("a".utf8), Array("b".utf8)])
        // Compared as documents, because a number that is none does not equal itself.
        let again = JSONDocument(document.value)
        return JSONDocument(again.value) == again ? nil : "a document is not read as it was written"
    }

    /// What Redis says in texts.
    private static func names(_ bytes: [UInt8]) -> String? {
        _ = Keyspace.ended(byChangeOf: bytes)
        _ = Keyspace.isCertainEnd(bytes)
        _ = HashSlot.of(bytes)
        _ = RedisFacts(.bulk(bytes))
        let text = String(decoding: bytes, as: UTF8.self)
        _ = SecretRegister(text)
        let asked = RedisEndpoint.tcp(host: "a", port: 6379)
        _ = Redirection(RedisServerError(line: text), from: asked)
        _ = RedisEndpoint(sentinelReply: .array([.bulk(bytes), .bulk(bytes)]))
        var replies: [RedisReply] = []
        bytes.withUnsafeBytes { bytes in
            try? ReplyReader().feed(bytes) { reply in
                replies.append(reply)
                return true
            }
        }
        for reply in replies { _ = ClusterSlots.topology(reply, from: asked) }
        return nil
    }

    // MARK: Samples

    private static let now = ClaimsFuzzing.now
    private static let authority = TokenAuthority(secret: Secret("fuzzing"))
    private static let lineage = Lineage(tag: "0123456789")

    private static func key(_ kind: RecordKind) -> RecordKey {
        RecordKey(kind: kind, lineage: self.lineage, digest: SHA256.digest([1]))
    }

    private static let native = Session(
        id: "ses_1",
        kind: .native,
        origin: .transfer,
        lineage: Self.lineage,
        identity: Identity(
            id: "user-1",
            traits: ["groups": ["staff", ""], "n": .number(1.5)],
            metadataPublic: ["a": .null]
        ),
        clientID: "web",
        host: "app.example.com",
        aal: .aal2,
        methods: ["password"],
        scopes: ["read"],
        authenticatedAt: Self.now,
        issuedAt: Self.now,
        expiresAt: Self.now.advanced(by: .seconds(3600)),
        idleLifetime: .seconds(900),
        device: DeviceFacts(address: IPAddress(v4: 1), asn: 64496, userAgent: "x"),
        sourceKey: Self.key(.transfer),
        epoch: 7,
        provider: ProviderSession(name: "p", sessionID: "s", grant: Self.key(.grant), renewAt: Self.now),
        access: AccessTerms(audience: "a"),
        keyThumbprint: "k",
        actor: "user-2"
    )

    /// A record of each kind in the order of `readers`; those without one begin as noise.
    private static let records: [[UInt8]] = {
        let token = TransferToken(
            parent: Self.native,
            parentKey: Self.key(.session),
            clientID: "native",
            device: DeviceFacts(address: IPAddress(v4: 1), asn: nil, userAgent: nil),
            scopes: ["read"],
            issuedAt: Self.now,
            expiresAt: Self.now
        )
        let code = AuthorizationCode(
            session: Self.native,
            audience: "a",
            scopes: ["openid"],
            hasRefresh: true,
            redirectURI: "https://a",
            challenge: "c",
            nonce: "n",
            keyThumbprint: nil,
            issuedAt: Self.now,
            parent: Self.key(.session)
        )
        let grant = ProviderGrant(
            provider: "p",
            owner: RecordOwner(subject: "user-1", epoch: 7),
            since: Self.now,
            expiresAt: Self.now,
            tokens: ProviderTokenSet(accessToken: Secret("a"), refreshToken: Secret("r"), expiresAt: Self.now),
            session: Self.key(.session)
        )
        let ticket = HostTicket(
            parent: Self.key(.session),
            owner: RecordOwner(subject: "user-1", epoch: 7),
            host: "b.example.com",
            challenge: SHA256.digest([2]),
            issuedAt: Self.now,
            expiresAt: Self.now
        )
        let flow = KeptFlow(
            wish: FlowWish(
                kind: .login,
                returnTo: "app://x",
                demand: SignInDemand(isAgain: true, aal: .aal2),
                schema: nil
            ),
            code: Self.key(.session),
            failure: KeptFlow.Failure(reason: .signInRefused, explanation: "no"),
            issuedAt: Self.now,
            expiresAt: Self.now
        )
        let verdict = ForeignVerdict(givenAt: Self.now, usableUntil: Self.now.advanced(by: .seconds(5)))
        let foreign = ForeignSessionRecord(
            foreign: ForeignSession(session: Self.native, verdict: verdict),
            providerSessionEpoch: 1,
            acceptedAt: Self.now
        )
        let change = ClientChange(
            RuntimeClient(patch: ["callbacks": ["https://a"]], isDeleted: false, secret: Secret("s"), marks: []),
            id: "web",
            ring: SealingKeyRing(current: Secret("fuzzing"))
        )
        let family = RefreshFamily(
            clientID: "native",
            session: NewSession(key: Self.key(.session), session: Self.native),
            audience: "a",
            scopes: ["read"],
            keyThumbprint: nil
        )
        let members = ProviderSessionRecord(
            since: Self.now,
            expiresAt: Self.now,
            lineage: Self.lineage,
            subject: "user-1"
        )
        var clients = ClientSessions(of: Self.native, since: Self.now)
        let entry = ClientSessions.Entry(clientID: "web", sessionID: "ses_1", root: Self.key(.session))
        clients.add(entry, until: Self.now)
        let returned = ReturnCode(
            code: SHA256.digest([3]),
            flow: "f",
            session: Self.native,
            issuedAt: Self.now,
            expiresAt: Self.now
        )
        let successor = SuccessorToken(
            session: Self.key(.session),
            number: 1,
            issuedAt: Self.now,
            expiresAt: Self.now
        )
        let block = UserBlock(
            subject: "user-1",
            provider: "staff",
            names: ["user-1", "staff|user-1"],
            until: Self.now,
            note: "left",
            changedAt: Self.now,
            changedBy: "ops",
            isDeprovisioned: true
        )
        var page = ProvisioningPage()
        page.users = [ProvisionedUser(id: "u", externalID: "user-1", userName: "ada@example.com", isActive: false)]
        page.ids = ["k": "u", "l": "u"]
        let slots = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\na\r\n:6379\r\n"
        return [
            Self.native.encoded, Self.bytes(of: token), Self.bytes(of: code),
            Self.bytes(of: PushedRequest(clientID: "web", query: "a=b", issuedAt: Self.now)), Self.bytes(of: family),
            Self.bytes(of: grant), Self.bytes(of: members),
            Self.bytes(of: LogoutReceipt(since: Self.now, expiresAt: Self.now)), Self.bytes(of: flow),
            Self.bytes(of: returned), Self.bytes(of: ticket), [], Self.bytes(of: successor), Self.bytes(of: foreign),
            Self.bytes(of: ExchangeClaim(device: "d", claimedAt: Self.now, expiresAt: Self.now)),
            Self.bytes(of: change),
            [], Marker.used(AttemptID(value: "a"), session: Self.key(.session)).encoded,
            (try? change.encoded(id: "web", attempt: AttemptID(value: "a"))) ?? [], Array(slots.utf8),
            Self.bytes(of: clients),
            Self.bytes(of: block), Self.bytes(of: page),
        ]
    }()

    /// A record of one of the kinds, changed as chance has it.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        let kind = chance.number(below: self.readers.count)
        let record = self.records[kind]
        let bytes =
            if record.isEmpty || chance.happens(in: 8) {
                chance.noise(upTo: 200)
            } else if chance.happens(in: 8) {
                record
            } else {
                chance.changed(record)
            }
        return [UInt8(truncatingIfNeeded: kind)] + bytes
    }
}
