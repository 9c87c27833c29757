import NIOCore
import Sessions
import Vocabulary

extension StoreConformance {
    /// Uses that create several records in the same step.
    static let offspringCases: [StoreConformance] = [
        StoreConformance("one use creates a session, a replaceable and a single-use record, each as written") {
            bench in
            let store = try await bench.with(TestTicket.self).store()
            let key = try await store.mint(from: try await store.signIn())
            let draft = store.draft(lineage: key.lineage)
            let attempt = store.authority.newAttempt()
            let judged = try await store.judge(key)
            let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(answer == .done, "`done`, not \(answer)")
            try expect(try await store.session(draft.key)?.record == draft.session, "the session as written")
            let made = TestTicket.offspring(with: draft, now: store.now)
            for new in made {
                switch new {
                case .session: continue
                case .replaceable(let key, let record):
                    let stored = try await store.store.replaceable(key, as: TestFamily.self, on: store.loop).get()
                    try expect(stored?.record == record as? TestFamily, "the family as written")
                case .singleUse(let key, let record):
                    let lookup = try await store.store.singleUse(key, as: TestTicket.self, on: store.loop).get()
                    guard case .live(let stored) = lookup else {
                        throw ConformanceFailure(description: "the ticket that was made is not live")
                    }
                    try expect(stored.record == record as? TestTicket, "the ticket as written")
                }
            }
        },
        StoreConformance("the records that a use has created are used and replaced like any others") { bench in
            let store = try await bench.with(TestTicket.self).store()
            let key = try await store.mint(from: try await store.signIn())
            let draft = store.draft(lineage: key.lineage)
            let attempt = store.authority.newAttempt()
            _ = try await store.consume(key, judged: try await store.judge(key), attempt: attempt, creating: draft)
            let child = TestTicket.child(of: draft.key)
            let next = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                child,
                judged: try await store.judge(child),
                attempt: store.authority.newAttempt(),
                creating: next
            )
            try expect(answer == .done, "`done`, not \(answer)")
            try expect(try await store.isLive(next.key), "the second session")
            let family = TestTicket.family(of: draft.key)
            let stored = try await store.family(family)
            let replacement = try await store.replace(family, stored, generation: 2)
            try expect(replacement == .done, "`done`, not \(replacement)")
            try expect(try await store.family(family)?.record.generation == 2, "the second generation")
        },
        StoreConformance("if one of several records cannot be created, none is") { bench in
            let store = try await bench.with(TestTicket.self).store()
            let parent = try await store.signIn()
            for refusal in ["changed", "spent", "parent"] {
                let key = try await store.mint(from: parent)
                var judged = try await store.judge(key)
                switch refusal {
                case "changed": judged = try await store.judge(try await store.mint(from: parent))
                case "spent": _ = try await store.burn(key, judged: judged, attempt: store.authority.newAttempt())
                default: _ = try await store.end(parent.key)
                }
                let draft = store.draft(lineage: key.lineage)
                let attempt = store.authority.newAttempt()
                let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
                try expect(answer != .done, "no consumption: \(refusal)")
                try expect(try await !store.isLive(draft.key), "no session: \(refusal)")
                try expect(try await store.family(TestTicket.family(of: draft.key)) == nil, "no family: \(refusal)")
                try expect(try await store.isAbsent(TestTicket.child(of: draft.key)), "no ticket: \(refusal)")
            }
        },
        StoreConformance("all records that a use has created end with their lineage and with their subject") {
            bench in
            let store = try await bench.with(TestTicket.self).store()
            for ending in ["lineage", "subject"] {
                let parent = try await store.signIn()
                let key = try await store.mint(from: parent)
                let draft = NewSession(key: store.draft(lineage: key.lineage).key, session: parent.session)
                let attempt = store.authority.newAttempt()
                _ = try await store.consume(key, judged: try await store.judge(key), attempt: attempt, creating: draft)
                let family = TestTicket.family(of: draft.key)
                try expect(try await store.family(family) != nil, "the family")
                if ending == "lineage" {
                    try await store.end(parent.key.lineage)
                } else {
                    try await store.end(subject: "alice")
                }
                try expect(try await !store.isLive(draft.key), "the end of the session with the \(ending)")
                try expect(try await store.family(family) == nil, "the end of the family with the \(ending)")
                try expect(
                    try await store.isAbsent(TestTicket.child(of: draft.key)),
                    "the end of the ticket with the \(ending)"
                )
            }
        },
        StoreConformance("a record without a parent and without a subject can be used") { bench in
            let store = try await bench.with(TestTicket.self).store()
            let key = store.newKey(in: store.authority.newLineage())
            let terms = RecordTerms(since: store.now, expiresAt: store.now.advanced(by: .seconds(60)))
            let ticket = TestTicket(note: "before anybody is known", terms: terms)
            try await store.store.create(ticket, key: key, on: store.loop).get()
            let draft = store.draft(lineage: key.lineage)
            let attempt = store.authority.newAttempt()
            let answer = try await store.consume(
                key,
                judged: try await store.judge(key),
                attempt: attempt,
                creating: draft
            )
            try expect(answer == .done, "`done`, not \(answer)")
            try expect(try await store.isLive(draft.key), "the session")
        },
        StoreConformance("no record lives longer than its kind allows") { bench in
            let store = try await bench.with(TestTicket.self).store()
            let key = try await store.mint(from: try await store.signIn(idle: .seconds(86_400)), life: .seconds(80_000))
            try await bench.advance(by: TestTicket.longestLife + .seconds(30))
            try expect(try await store.isAbsent(key), "no ticket")
        },
        StoreConformance("a record that is too large is refused, and nothing is written") { bench in
            let store = try await bench.with(TestTicket.self).store()
            let parent = try await store.signIn()
            let terms = RecordTerms(of: parent, now: store.now, life: .seconds(60), hasParent: true)
            let ticket = TestTicket(note: String(repeating: "x", count: 1024), terms: terms)
            let key = store.newKey(in: parent.key.lineage)
            try await expectTooLarge { try await store.store.create(ticket, key: key, on: store.loop).get() }
            try expect(try await store.isAbsent(key), "no ticket")
            let small = try await store.mint(from: parent)
            let judged = try await store.judge(small)
            let marker = Marker.used(store.authority.newAttempt(), session: nil)
            try await expectTooLarge {
                try await store.store.consume(
                    small,
                    judged: judged,
                    marker: marker,
                    creating: [.singleUse(key, ticket)],
                    on: store.loop
                ).get()
            }
            try expect(try await store.judge(small) == judged, "the first ticket untouched")
        },
    ]
}

/// Throws unless `body` fails with `RecordTooLarge`.
func expectTooLarge<Answer>(_ body: () async throws -> Answer) async throws {
    do {
        _ = try await body()
    } catch let error as RecordTooLarge {
        try expect(error.size > error.limit, "a size beyond the limit, not \(error)")
        return
    }
    throw ConformanceFailure(description: "expected `RecordTooLarge`")
}
