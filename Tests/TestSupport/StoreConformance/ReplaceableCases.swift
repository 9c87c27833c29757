import NIOCore
import Sessions
import Vocabulary

extension StoreUnderTest {
    /// A key for a family in the session's lineage.
    func newFamilyKey(in lineage: Lineage) -> RecordKey {
        self.authority.make(TokenKind(prefix: "spy_", record: TestFamily.kind), in: lineage).key
    }

    func family(_ key: RecordKey) async throws -> Stored<TestFamily>? {
        try await self.store.replaceable(key, as: TestFamily.self, on: self.loop).get()
    }

    /// Writes a family of the session.
    func newFamily(of session: NewSession, life: Duration = .seconds(3600)) async throws -> RecordKey {
        let key = self.newFamilyKey(in: session.key.lineage)
        let terms = RecordTerms(of: session, now: self.now, life: life, hasParent: false)
        let family = TestFamily(generation: 1, terms: terms)
        let answer = try await self.create(family, key: key)
        try expect(answer == .done, "`done`, not \(answer)")
        return key
    }

    func create(
        _ family: TestFamily,
        key: RecordKey,
        attempt: AttemptID? = nil
    ) async throws -> Replacement {
        let attempt = attempt ?? self.authority.newAttempt()
        return try await self.store.create(family, key: key, attempt: attempt, on: self.loop).get()
    }

    /// Replaces the judged record with its next generation.
    func replace(
        _ key: RecordKey,
        _ stored: Stored<TestFamily>?,
        generation: UInt64,
        attempt: AttemptID? = nil
    ) async throws -> Replacement {
        guard let stored else { throw ConformanceFailure(description: "a family that was written is not there") }
        var next = stored.record
        next.generation = generation
        return try await self.store.replace(
            key,
            judged: stored.version,
            with: next,
            attempt: attempt ?? self.authority.newAttempt(),
            on: self.loop
        ).get()
    }
}

extension StoreConformance {
    static let replaceableCases: [StoreConformance] = [
        StoreConformance(
            "a replaceable record is read as it was written, and replaced if it is unchanged since it was judged"
        ) { bench in
            let store = try await bench.store()
            let key = try await store.newFamily(of: try await store.signIn())
            for generation in UInt64(2)...5 {
                let stored = try await store.family(key)
                try expect(stored?.record.generation == generation - 1, "the last generation")
                let again = try await store.family(key)
                try expect(stored?.version == again?.version, "the same version again")
                let answer = try await store.replace(key, stored, generation: generation)
                try expect(answer == .done, "`done`, not \(answer)")
                let next = try await store.family(key)
                try expect(next?.record.generation == generation, "the next generation")
                try expect(next?.version != stored?.version, "another version")
            }
        },
        StoreConformance("a record that was replaced since it was judged is not replaced again") { bench in
            let store = try await bench.store()
            let key = try await store.newFamily(of: try await store.signIn())
            let stale = try await store.family(key)
            try expect(try await store.replace(key, stale, generation: 2) == .done, "`done`")
            let answer = try await store.replace(key, stale, generation: 3)
            try expect(answer == .changed, "`changed`, not \(answer)")
            _ = try await store.family(key)
            let later = try await store.replace(key, stale, generation: 3)
            try expect(later == .changed, "`changed`, not \(later)")
            try expect(try await store.family(key)?.record.generation == 2, "the second generation")
        },
        StoreConformance("a record is created only where there is none") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let key = try await store.newFamily(of: session)
            let terms = RecordTerms(of: session, now: store.now, life: .seconds(60), hasParent: false)
            let other = TestFamily(generation: 9, terms: terms)
            let answer = try await store.create(other, key: key)
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await store.family(key)?.record.generation == 1, "what stood there")
            let unknown = store.newFamilyKey(in: session.key.lineage)
            try expect(try await store.family(unknown) == nil, "nothing")
            let judged = try await store.family(key)
            let replaced = try await store.replace(unknown, judged, generation: 2)
            try expect(replaced == .absent, "`absent`, not \(replaced)")
            try expect(try await store.family(unknown) == nil, "nothing")
        },
        StoreConformance("a repeated attempt is reported as done, whatever it judged, and writes nothing twice") {
            bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let key = store.newFamilyKey(in: session.key.lineage)
            let terms = RecordTerms(of: session, now: store.now, life: .seconds(60), hasParent: false)
            let first = store.authority.newAttempt()
            for _ in 0..<2 {
                let family = TestFamily(generation: 1, terms: terms)
                let answer = try await store.create(family, key: key, attempt: first)
                try expect(answer == .done, "`done`, not \(answer)")
            }
            let judged = try await store.family(key)
            let attempt = store.authority.newAttempt()
            for _ in 0..<2 {
                let answer = try await store.replace(key, judged, generation: 2, attempt: attempt)
                try expect(answer == .done, "`done`, not \(answer)")
            }
            // The attempt has read its own result and would replace that.
            let own = try await store.family(key)
            let answer = try await store.replace(key, own, generation: 3, attempt: attempt)
            try expect(answer == .done, "`done`, not \(answer)")
            try expect(try await store.family(key)?.record.generation == 2, "the second generation")
            // Once another attempt has replaced the record, this one is no longer done.
            try expect(try await store.replace(key, own, generation: 3) == .done, "`done`")
            let late = try await store.replace(key, judged, generation: 2, attempt: attempt)
            try expect(late == .changed, "`changed`, not \(late)")
        },
        StoreConformance("of many that race to replace a record exactly one succeeds") { bench in
            let store = try await bench.store()
            let key = try await store.newFamily(of: try await store.signIn())
            for round in UInt64(1)...20 {
                let judged = try await store.family(key)
                let answers = try await withThrowingTaskGroup(of: Replacement.self) { group in
                    for runner in UInt64(0)..<32 {
                        group.addTask { try await store.replace(key, judged, generation: round * 100 + runner) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                try expect(answers.count { $0 == .done } == 1, "one winner")
                try expect(answers.count { $0 == .changed } == 31, "`changed` for all others")
            }
        },
        StoreConformance("ending a replaceable record ends it, and may be repeated") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let key = try await store.newFamily(of: session)
            let other = try await store.newFamily(of: session)
            let judged = try await store.family(key)
            for _ in 0..<2 { try await store.store.end(replaceable: key, on: store.loop).get() }
            try expect(try await store.family(key) == nil, "the end")
            let answer = try await store.replace(key, judged, generation: 2)
            try expect(answer == .absent, "`absent`, not \(answer)")
            try expect(try await store.family(key) == nil, "the end")
            try expect(try await store.family(other) != nil, "the life of another record")
            try expect(try await store.isLive(session.key), "the life of the session")
        },
        StoreConformance(
            "a replaceable record ends with its lineage and with its subject, and none is written afterwards"
        ) {
            bench in
            let store = try await bench.store()
            for ending in ["lineage", "subject"] {
                let session = try await store.signIn()
                let key = try await store.newFamily(of: session)
                let judged = try await store.family(key)
                if ending == "lineage" {
                    try await store.end(session.key.lineage)
                } else {
                    try await store.end(subject: "alice")
                }
                try expect(try await store.family(key) == nil, "its end with the \(ending)")
                let answer = try await store.replace(key, judged, generation: 2)
                try expect(answer == .absent, "`absent` after the end of the \(ending), not \(answer)")
                let late = store.newFamilyKey(in: session.key.lineage)
                let terms = RecordTerms(of: session, now: store.now, life: .seconds(60), hasParent: false)
                let created = try await store.create(TestFamily(generation: 1, terms: terms), key: late)
                try expect(created == .absent, "`absent` after the end of the \(ending), not \(created)")
                try expect(try await store.family(late) == nil, "no record after the end of the \(ending)")
            }
        },
        StoreConformance("a replaceable record expires, and its replacement lives on") { bench in
            let store = try await bench.store()
            let session = try await store.signIn(idle: .seconds(86_400))
            let key = try await store.newFamily(of: session, life: .seconds(60))
            let other = try await store.newFamily(of: session, life: .seconds(60))
            let stored = try await store.family(key)
            var next = try await store.family(key)?.record
            next?.terms.expiresAt = store.now.advanced(by: .seconds(600))
            guard let next, let stored else { throw ConformanceFailure(description: "no family") }
            let attempt = store.authority.newAttempt()
            let answer = try await store.store
                .replace(key, judged: stored.version, with: next, attempt: attempt, on: store.loop).get()
            try expect(answer == .done, "`done`, not \(answer)")
            try await bench.advance(by: .seconds(60))
            try expect(try await store.family(other) == nil, "no life at the expiry")
            try expect(try await store.family(key)?.record == next, "the life of what was replaced")
            // Also if it outlives everything else in its lineage.
            try await bench.advance(by: .seconds(520))
            try expect(try await store.family(key) != nil, "life until the expiry")
            try await bench.advance(by: .seconds(20))
            try expect(try await store.family(key) == nil, "no life at the expiry")
        },
        StoreConformance("a replaceable record lives in a lineage that has nothing else") { bench in
            let store = try await bench.store()
            let lineage = store.authority.newLineage()
            let key = store.authority.make(TokenKind(prefix: "spz_", record: TestGrant.kind), in: lineage).key
            let terms = RecordTerms(since: store.now, expiresAt: store.now.advanced(by: .seconds(3600)))
            let attempt = store.authority.newAttempt()
            let answer = try await store.store
                .create(TestGrant(text: "a", terms: terms), key: key, attempt: attempt, on: store.loop).get()
            try expect(answer == .done, "`done`, not \(answer)")
            for text in ["b", "c"] {
                guard let stored = try await store.store.replaceable(key, as: TestGrant.self, on: store.loop).get()
                else { throw ConformanceFailure(description: "no grant") }
                let next = TestGrant(text: text, terms: terms)
                let replaced = try await store.store.replace(
                    key,
                    judged: stored.version,
                    with: next,
                    attempt: store.authority.newAttempt(),
                    on: store.loop
                ).get()
                try expect(replaced == .done, "`done`, not \(replaced)")
                let read = try await store.store.replaceable(key, as: TestGrant.self, on: store.loop).get()
                try expect(read?.record == next, "the grant as written")
            }
        },
        StoreConformance("a replaceable record that is too large is refused, and the existing one stays") { bench in
            let store = try await bench.store()
            let key = try await store.newFamily(of: try await store.signIn())
            guard let stored = try await store.family(key) else { throw ConformanceFailure(description: "no family") }
            var large = stored.record
            large.note = String(repeating: "x", count: 1024)
            let attempt = store.authority.newAttempt()
            try await expectTooLarge {
                try await store.store
                    .replace(key, judged: stored.version, with: large, attempt: attempt, on: store.loop).get()
            }
            try expect(try await store.family(key)?.version == stored.version, "what stood there")
        },
    ]
}
