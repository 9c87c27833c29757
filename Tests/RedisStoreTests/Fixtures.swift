import AddressIntelligence
import Cryptography
import Foundation
import NIOCore
import RedisServers
import RedisStore
import Sessions
import Vocabulary

/// Whether the tests run in their long form.
let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"

/// A store over a client, with short forms of what the tests do.
struct RedisStoreBench: Sendable {
    let store: RedisStore
    let authority = TokenAuthority(secret: Secret("the secret of the tests"))
    let clock: Clock

    init(_ client: RedisClient, ring: SealingKeyRing = Self.ring, clock: Clock = .system) {
        self.store = RedisStore(
            client: client,
            ring: ring,
            clock: clock,
            caches: SessionCaches(),
            readBackPatience: .seconds(10),
            formerLists: self.authority
        )
        self.clock = clock
    }

    static let ring = SealingKeyRing(current: Secret("the sealing secret of the tests"))

    func draft(
        subject: String = "alice",
        lineage: Lineage? = nil,
        life: Duration = .seconds(86_400),
        idle: Duration = .milliseconds(3_600_500)
    ) -> NewSession {
        let lineage = lineage ?? self.authority.newLineage()
        let now = self.clock.now()
        var session = Self.session(subject: subject, lineage: lineage, now: now)
        session.expiresAt = now.advanced(by: life)
        session.idleLifetime = idle
        return NewSession(key: self.authority.make(.session, in: lineage).key, session: session)
    }

    /// A session with a value in every field.
    static func session(subject: String, lineage: Lineage, now: UnixTime) -> Session {
        Session(
            id: "ses_\(subject)",
            kind: .web,
            origin: .transfer,
            lineage: lineage,
            identity: Identity(
                id: subject,
                schemaID: "person",
                traits: [
                    "email": .string("\(subject)@example.org"), "age": -7, "height": .number(1.875), "none": .null,
                    "tags": ["a", true, false, ["deep": [1, .integer(.min), .integer(.max)]]],
                ],
                metadataPublic: ["groups": ["staff"]]
            ),
            clientID: "web",
            host: "app.example.org:8443",
            aal: .aal2,
            methods: ["password", "totp"],
            scopes: ["openid"],
            authenticatedAt: now.advanced(by: .seconds(-5)),
            issuedAt: now,
            expiresAt: now.advanced(by: .seconds(86_400)),
            idleLifetime: .milliseconds(3_600_500),
            device: DeviceFacts(address: IPAddress(v4: 0xC000_0201), asn: 64_500, userAgent: "Mozilla/5.0 (ü)"),
            sourceKey: RecordKey(kind: .transfer, lineage: lineage, digest: SHA256.digest([])),
            epoch: 0
        )
    }

    static func transfer(from parent: NewSession, now: UnixTime) -> TransferToken {
        TransferToken(
            parent: parent.session,
            parentKey: parent.key,
            clientID: "app",
            device: DeviceFacts(address: IPAddress(v6High: 0x2001_0DB8 << 32, v6Low: 1), asn: nil, userAgent: nil),
            scopes: ["a", "b"],
            issuedAt: now,
            expiresAt: now.advanced(by: .seconds(60))
        )
    }

    func signIn(subject: String = "alice") async throws -> NewSession {
        let draft = self.draft(subject: subject)
        try await self.store.create(draft, on: loops.next()).get()
        return draft
    }

    func session(_ key: RecordKey) async throws -> Session? {
        try await self.store.session(key, on: loops.next()).get()?.record
    }

    func mint(from parent: NewSession) async throws -> RecordKey {
        let key = self.authority.make(.transfer, in: parent.key.lineage).key
        let token = Self.transfer(from: parent, now: self.clock.now())
        try await self.store.create(token, key: key, on: loops.next()).get()
        return key
    }

    func transfer(_ key: RecordKey) async throws -> SingleUseLookup<TransferToken> {
        try await self.store.singleUse(key, as: TransferToken.self, on: loops.next()).get()
    }

    /// Reads the token and consumes it; nil when it was not live.
    func consume(_ key: RecordKey, creating draft: NewSession, attempt: AttemptID) async throws -> Consumption? {
        guard case .live(let stored) = try await self.transfer(key) else { return nil }
        return try await self.store.consume(
            key,
            judged: stored.version,
            marker: .used(attempt, session: draft.key),
            creating: draft,
            on: loops.next()
        ).get()
    }
}
