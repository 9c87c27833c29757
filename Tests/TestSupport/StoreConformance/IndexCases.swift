import NIOCore
import Sessions
import Vocabulary

extension StoreUnderTest {
    /// Writes a session of a user with this email address; nil: with none.
    fileprivate func signIn(as subject: String, at email: String?) async throws -> RecordKey {
        var draft = self.draft(subject: subject)
        draft.session.identity.traits = email.map { ["email": .string($0)] } ?? [:]
        try await self.create(draft)
        return draft.key
    }

    fileprivate func sessions(at email: String) async throws -> Set<RecordKey> {
        guard let address = EmailAddress(email) else { throw ConformanceFailure(description: "no address: \(email)") }
        return Set(try await self.store.sessions(with: address, on: self.loop).get())
    }

    /// The sessions of all pages, and how many pages there are.
    fileprivate func pages() async throws -> (keys: [RecordKey], count: Int) {
        var (keys, count): ([RecordKey], Int) = ([], 0)
        var place: IndexPlace?
        repeat {
            let page = try await self.store.sessions(from: place, on: self.loop).get()
            keys += page.keys
            count += 1
            // As clients do that hand it back.
            place = page.next.flatMap { IndexPlace($0.text) }
            try expect(page.keys.count <= MemoryStore.pageSize, "at most \(MemoryStore.pageSize) sessions in a page")
            try expect(count < 1000, "an end of all pages")
        } while place != nil
        return (keys, count)
    }

    /// Waits for what is written after the fact.
    fileprivate func eventually(_ expectation: String, _ isTrue: () async throws -> Bool) async throws {
        for _ in 0..<200 {
            if try await isTrue() { return }
            try await Task.sleep(for: .milliseconds(25))
        }
        throw ConformanceFailure(description: "expected in the end: \(expectation)")
    }
}

extension StoreConformance {
    static let indexCases: [StoreConformance] = [
        StoreConformance("sessions are found by the email address of their users, in upper or lower case") { bench in
            let store = try await bench.store()
            let ada = try await store.signIn(as: "ada", at: "Ada@Example.com")
            let other = try await store.signIn(as: "ada of another provider", at: "ada@example.com")
            _ = try await store.signIn(as: "eve", at: "ada@example.com.evil.example")
            _ = try await store.signIn(as: "ada@example.com", at: nil)
            try await store.eventually("both sessions with the address") {
                try await store.sessions(at: "ada@EXAMPLE.com") == [ada, other]
            }
            try expect(try await store.sessions(at: "nobody@example.com").isEmpty, "none with an unknown address")
            // Only ASCII letters are folded: the Kelvin sign must not find the sessions of somebody with a K.
            let karl = try await store.signIn(as: "karl", at: "\u{C4}.k@example.com")
            try await store.eventually("the session with this address") {
                try await store.sessions(at: "\u{C4}.K@EXAMPLE.com") == [karl]
            }
            for address in ["\u{E4}.k@example.com", "\u{C4}.\u{212A}@example.com", "A\u{308}.k@example.com"] {
                try expect(try await store.sessions(at: address).isEmpty, "none at \(address)")
            }
        },
        StoreConformance("a session whose user has another email address now is found by that one") { bench in
            let store = try await bench.store()
            let key = try await store.signIn(as: "ada", at: "ada@example.com")
            let stored = try await store.session(key)
            guard let stored else { throw ConformanceFailure(description: "a session was written and is not there") }
            var next = stored.record
            next.identity.traits = ["email": "lovelace@example.com"]
            let answer = try await store.store.replace(key, judged: stored.version, with: next, on: store.loop).get()
            try expect(answer == .done, "`done`, not \(answer)")
            try await store.eventually("the session by its new address") {
                try await store.sessions(at: "lovelace@example.com") == [key]
            }
            try expect(try await store.session(key)?.record.identity.traits == next.identity.traits, "the new traits")
            try expect(try await store.end(key), "that it could be ended")
            try expect(try await store.session(key) == nil, "no other copy of it")
        },
        StoreConformance("the pages have every session that lives, each page a bounded number, and they end") { bench in
            let store = try await bench.store()
            try expect(try await store.pages().keys.isEmpty, "no sessions in an empty store")
            var keys: Set<RecordKey> = []
            for number in 0..<250 { keys.insert(try await store.signIn(as: "user \(number)", at: nil)) }
            try await store.eventually("all sessions in the pages") { Set(try await store.pages().keys) == keys }
            // What ends is not found, or found dead: its record says.
            for key in keys.prefix(10) { _ = try await store.end(key) }
            var live = 0
            for key in Set(try await store.pages().keys) where try await store.isLive(key) { live += 1 }
            try expect(live == 240, "the 240 that live, not \(live)")
        },
        StoreConformance("sessions that begin hours apart are all in the pages; those that have expired are not") {
            bench in
            let store = try await bench.store()
            let short = store.draft(life: .seconds(3 * 3600), idle: .seconds(86_400))
            try await store.create(short)
            var keys: Set<RecordKey> = [short.key]
            for hour in 0..<3 {
                try await bench.advance(by: .seconds(3600))
                let draft = store.draft(subject: "user \(hour)", idle: .seconds(86_400))
                try await store.create(draft)
                keys.insert(draft.key)
                try await store.eventually("the session of hour \(hour)") {
                    try await store.pages().keys.contains(draft.key)
                }
            }
            try await bench.advance(by: .seconds(60))
            var live: Set<RecordKey> = []
            for key in try await store.pages().keys where try await store.isLive(key) { live.insert(key) }
            try expect(live == keys.subtracting([short.key]), "the three that live")
        },
        StoreConformance("a place that no page named finds some sessions or none, and is no error") { bench in
            let store = try await bench.store()
            _ = try await store.signIn(as: "ada", at: nil)
            let last = "\(Int64.max)"
            for text in [
                "0", "0.0", "0.0.0", "1.2.3.4", "99.0", "99.0.0", "\(last).\(last)", "0.\(last).\(last)", "0.1.\(last)",
            ] {
                guard let place = IndexPlace(text) else { throw ConformanceFailure(description: "no place: \(text)") }
                let page = try await store.store.sessions(from: place, on: store.loop).get()
                try expect(page.keys.count <= 1, "at most the one session for \(text)")
            }
        },
        StoreConformance("the census counts the sessions that live, exactly where there are few") { bench in
            let store = try await bench.store()
            let census = SessionCensus(store: store.store)
            try expect(census.count == nil, "no count before the first")
            var keys: [RecordKey] = []
            for number in 0..<20 { keys.append(try await store.signIn(as: "user \(number)", at: nil)) }
            var token = store.draft()
            token.session.access = AccessTerms(audience: nil)
            try await store.create(token)
            try await store.eventually("20") {
                try await census.refresh(on: store.loop).get()
                return census.count == 20
            }
            for key in keys.prefix(5) { _ = try await store.end(key) }
            try await store.end(subject: "user 19")
            try await census.refresh(on: store.loop).get()
            try expect(census.count == 14, "14, not \(census.count ?? -1)")
        },
        StoreConformance("the census estimates where there are many") { bench in
            let store = try await bench.store()
            let census = SessionCensus(store: store.store)
            var keys: [RecordKey] = []
            for number in 0..<600 { keys.append(try await store.signIn(as: "user \(number)", at: nil)) }
            for key in keys.prefix(300) { _ = try await store.end(key) }
            // Half of them live: of 256 that are drawn, fewer than 64 or more than 192 do in one of 10^15 runs.
            try await store.eventually("an estimate near 300") {
                try await census.refresh(on: store.loop).get()
                return census.count.map { (150...450).contains($0) } ?? false
            }
        },
    ]
}
