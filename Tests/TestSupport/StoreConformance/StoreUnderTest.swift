import AddressIntelligence
import NIOCore
import Sessions
import StoreBench
import Vocabulary

/// A store with short forms of the calls that the cases make, each on the next loop of the group.
struct StoreUnderTest: Sendable {
    let store: any RecordStore
    let bench: ConformanceBench
    let authority = TokenAuthority(secret: Secret("the conformance suite's secret"))

    var loop: any EventLoop { self.bench.group.next() }
    var now: UnixTime { self.bench.clock.now }

    // MARK: Sessions

    /// A session that is not written yet.
    func draft(
        subject: String = "alice",
        lineage: Lineage? = nil,
        life: Duration = .seconds(86_400),
        idle: Duration = .seconds(3600)
    ) -> NewSession {
        let lineage = lineage ?? self.authority.newLineage()
        let session = Session(
            id: self.authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: lineage,
            identity: Identity(id: subject, traits: ["email": .string("\(subject)@example.org")]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: self.now,
            issuedAt: self.now,
            expiresAt: self.now.advanced(by: life),
            idleLifetime: idle
        )
        return NewSession(key: self.authority.make(.session, in: lineage).key, session: session)
    }

    /// A session that was written and read back, so that it has its epoch.
    func signIn(
        subject: String = "alice",
        lineage: Lineage? = nil,
        life: Duration = .seconds(86_400),
        idle: Duration = .seconds(3600)
    ) async throws -> NewSession {
        let draft = self.draft(subject: subject, lineage: lineage, life: life, idle: idle)
        try await self.create(draft)
        guard let stored = try await self.session(draft.key) else {
            throw ConformanceFailure(description: "a session was written and is not there")
        }
        return NewSession(key: draft.key, session: stored.record)
    }

    func create(_ session: NewSession) async throws {
        try await self.store.create(session, on: self.loop).get()
    }

    func session(_ key: RecordKey) async throws -> Stored<Session>? {
        try await self.store.session(key, on: self.loop).get()
    }

    func isLive(_ key: RecordKey) async throws -> Bool {
        try await self.session(key) != nil
    }

    func touch(_ key: RecordKey) async throws {
        try await self.store.touch(key, on: self.loop).get()
    }

    func end(_ key: RecordKey) async throws -> Bool {
        try await self.store.end(key, on: self.loop).get()
    }

    func end(_ lineage: Lineage) async throws {
        try await self.store.end(lineage, on: self.loop).get()
    }

    func end(subject: String) async throws {
        try await self.store.end(subject: subject, on: self.loop).get()
    }

    // MARK: Single-use records

    /// The state of a single-use record.
    enum Look {
        case live(RecordVersion)
        case spent(Marker)
        case absent
    }

    /// A key of the case's kind with no record.
    func newKey(in lineage: Lineage) -> RecordKey {
        self.authority.make(self.bench.specimen.token, in: lineage).key
    }

    /// A record of the case's kind that descends from `parent`.
    func mint(from parent: NewSession, life: Duration = .seconds(60)) async throws -> RecordKey {
        let key = self.newKey(in: parent.key.lineage)
        try await self.mint(self.bench.specimen, key: key, from: parent, life: life)
        return key
    }

    private func mint<Specimen: SingleUseSpecimen>(
        _ kind: Specimen.Type,
        key: RecordKey,
        from parent: NewSession,
        life: Duration
    ) async throws {
        try await self.store.create(Specimen.made(from: parent, now: self.now, life: life), key: key, on: self.loop)
            .get()
    }

    func look(_ key: RecordKey) async throws -> Look { try await self.look(key, as: self.bench.specimen) }

    func look<Record: SingleUseRecord>(_ key: RecordKey, as kind: Record.Type) async throws -> Look {
        switch try await self.store.singleUse(key, as: kind, on: self.loop).get() {
        case .live(let stored): .live(stored.version)
        case .spent(let marker): .spent(marker)
        case .absent: .absent
        }
    }

    /// The version of a token. Throws unless the token is live.
    func judge(_ key: RecordKey) async throws -> RecordVersion {
        guard case .live(let version) = try await self.look(key) else {
            throw ConformanceFailure(description: "a minted token is not live")
        }
        return version
    }

    /// The marker of a token. Throws unless the token is spent.
    func marker(_ key: RecordKey) async throws -> Marker {
        guard case .spent(let marker) = try await self.look(key) else {
            throw ConformanceFailure(description: "a token that was used or burned has no marker")
        }
        return marker
    }

    func isAbsent(_ key: RecordKey) async throws -> Bool {
        if case .absent = try await self.look(key) { true } else { false }
    }

    func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        attempt: AttemptID,
        creating session: NewSession
    ) async throws -> Consumption {
        let marker = Marker.used(attempt, session: session.key)
        return try await self.store
            .consume(
                key,
                judged: judged,
                marker: marker,
                creating: self.bench.specimen.offspring(with: session, now: self.now),
                on: self.loop
            ).get()
    }

    /// Uses a token up and keeps an existing session.
    func useUp(
        _ key: RecordKey,
        judged: RecordVersion,
        attempt: AttemptID,
        for session: NewSession
    ) async throws -> Consumption {
        let marker = Marker.used(attempt, session: session.key)
        return try await self.store.consume(key, judged: judged, marker: marker, creating: [], on: self.loop).get()
    }

    /// Whether the store confirms that it will remember this marker.
    func isConfirmed(_ marker: Marker, of key: RecordKey) async throws -> Bool {
        do {
            try await self.store.confirm(marker, of: key, on: self.loop).get()
            return true
        } catch StoreError.unavailable {
            return false
        }
    }

    func burn(_ key: RecordKey, judged: RecordVersion, attempt: AttemptID) async throws -> Consumption {
        let marker = Marker.burned(attempt, .bindingIPMismatch)
        return try await self.store.consume(key, judged: judged, marker: marker, creating: [], on: self.loop).get()
    }
}

/// True if `body` fails with `.full`; every other error is rethrown.
func isFull<Answer>(_ body: () async throws -> Answer) async throws -> Bool {
    do {
        _ = try await body()
        return false
    } catch StoreError.full {
        return true
    }
}
