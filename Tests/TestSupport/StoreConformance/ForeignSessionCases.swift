import NIOCore
import Sessions
import StoreBench
import Vocabulary

extension StoreUnderTest {
    var foreign: ForeignSessions {
        ForeignSessions(store: self.store, authority: self.authority, clock: self.bench.clock.clock)
    }

    func foreignKey(_ token: String) -> RecordKey {
        let names = ForeignNames(self.authority, provider: "idp", configuration: "1")
        return Array(token.utf8).withUnsafeBytes { names.key(of: $0) }
    }

    /// A session for which the provider vouches now.
    func vouched(
        _ token: String,
        subject: String = "alice",
        sid: String? = "sid-1",
        life: Duration = .seconds(3600),
        usable: Duration = .seconds(30)
    ) -> ForeignSession {
        var session = self.draft(subject: subject, lineage: self.foreignKey(token).lineage, life: life).session
        session.id = "ses_\(token)"
        session.provider = ProviderSession(name: "idp", sessionID: sid)
        return ForeignSession(
            session: session,
            verdict: ForeignVerdict(
                givenAt: self.now,
                usableUntil: self.now.advanced(by: usable),
                // Not the default, so that a record that loses it is noticed.
                isAdmitted: false
            )
        )
    }

    func accept(
        _ token: String,
        _ session: ForeignSession? = nil,
        issuedAt: UnixTime? = nil
    ) async throws -> ForeignSession? {
        let standing = try await self.foreign.accept(
            session ?? self.vouched(token),
            issuedAt: issuedAt,
            as: self.foreignKey(token),
            on: self.loop
        ).get()
        return if case .live(let session) = standing { session } else { nil }
    }

    func standing(_ token: String) async throws -> ForeignSessions.Standing {
        try await self.foreign.standing(self.foreignKey(token), on: self.loop).get()
    }

    func end(providerSession id: String) async throws {
        try await self.end(subject: ProviderSession.endName(of: id, at: "idp"))
    }

    /// The latest epoch, by the store's clock.
    func epoch(_ subject: String) async throws -> UnixTime {
        UnixTime(milliseconds: Int64(clamping: try await self.store.epoch(of: subject, on: self.loop).get()))
    }
}

extension StoreConformance {
    static let foreignSessionCases: [StoreConformance] = [
        StoreConformance("a foreign token's session is found as it was accepted, until the token expires") { bench in
            let store = try await bench.store()
            try expect(try await store.standing("t") == .none, "nothing yet")
            let accepted = try await store.accept("t")
            try expect(accepted == store.vouched("t"), "the session that the provider vouches for")
            try expect(try await store.standing("t") == .live(store.vouched("t")), "the same again")
            try expect(try await store.standing("u") == .none, "nothing for another token")
            try await bench.advance(by: .seconds(3580))
            guard case .live = try await store.standing("t") else {
                throw ConformanceFailure(description: "expected life until the token's end")
            }
            try await bench.advance(by: .seconds(20))
            try expect(try await store.standing("t") == .none, "no life after it")
        },
        StoreConformance("a later verdict replaces an earlier one, and not the reverse") { bench in
            let store = try await bench.store()
            let first = store.vouched("t")
            _ = try await store.accept("t", first)
            try await bench.advance(by: .seconds(20))
            let second = store.vouched("t").with { session in
                session = first.session
                session.identity.traits = ["email": "new@example.org"]
            }
            try expect(try await store.accept("t", second) == second, "the later verdict")
            try expect(try await store.standing("t") == .live(second), "the later verdict, kept")
            let late = try await store.accept("t", first)
            try expect(late?.verdict == second.verdict, "the later verdict after an answer that was overtaken")
        },
        StoreConformance("a foreign token that was signed out stays so for as long as it could live") { bench in
            let store = try await bench.store()
            _ = try await store.accept("t")
            try await store.end(store.foreignKey("t").lineage)
            for _ in 0..<4 {
                try expect(try await store.standing("t") == .none, "no session")
                try expect(try await store.accept("t", issuedAt: store.now) == nil, "no new one")
                try await bench.advance(by: .seconds(880))
            }
            try expect(try await store.accept("u") != nil, "the life of another token")
        },
        StoreConformance("a foreign token that was accepted ends with its subject, whenever it was issued") { bench in
            let store = try await bench.store()
            for token in ["t", "u"] { _ = try await store.accept(token) }
            _ = try await store.accept("v", store.vouched("v", subject: "bob"))
            try await store.end(subject: "alice")
            let later = try await store.epoch("alice").advanced(by: .seconds(3600))
            for token in ["t", "u"] {
                try expect(try await store.standing(token) == .ended, "its end")
                try expect(try await store.accept(token, issuedAt: later) == nil, "its end, whatever the provider says")
            }
            try await bench.advance(by: .seconds(3500))
            try expect(try await store.accept("t", issuedAt: later) == nil, "its end, still")
            guard case .live = try await store.standing("v") else {
                throw ConformanceFailure(description: "expected the life of another subject's token")
            }
        },
        StoreConformance("foreign tokens end with the provider's session, and others of the subject do not") {
            bench in
            let store = try await bench.store()
            for token in ["t", "u"] { _ = try await store.accept(token) }
            _ = try await store.accept("v", store.vouched("v", sid: "sid-2"))
            _ = try await store.accept("w", store.vouched("w", sid: nil))
            try await store.end(providerSession: "sid-1")
            for token in ["t", "u"] { try expect(try await store.standing(token) == .ended, "its end") }
            for token in ["v", "w"] {
                guard case .live = try await store.standing(token) else {
                    throw ConformanceFailure(description: "expected the life of another session's token")
                }
            }
        },
        StoreConformance("a foreign token that was not presented before an end lives only if it was issued after it") {
            bench in
            let store = try await bench.store()
            for byProviderSession in [true, false] {
                if byProviderSession { try await store.end(providerSession: "sid-1") }
                if !byProviderSession { try await store.end(subject: "alice") }
                let name = byProviderSession ? ProviderSession.endName(of: "sid-1", at: "idp") : "alice"
                let end = try await store.epoch(name)
                try expect(end.milliseconds > 0, "an epoch")
                for (milliseconds, lives) in [(-86_400_000, false), (-1, false), (0, false), (1, true), (60_000, true)]
                {
                    let token = "t\(byProviderSession)\(milliseconds)"
                    let issuedAt = end.advanced(by: .milliseconds(milliseconds))
                    try expect((try await store.accept(token, issuedAt: issuedAt) != nil) == lives, "\(milliseconds)")
                }
                // An end does not come and go: what was accepted after it lives on.
                guard case .live = try await store.standing("t\(byProviderSession)1") else {
                    throw ConformanceFailure(description: "expected the life of a token that was issued after the end")
                }
            }
        },
        StoreConformance("an epoch is the time of the end, and a later end has a later epoch") { bench in
            let store = try await bench.store()
            try expect(try await store.epoch("alice").milliseconds == 0, "no end yet")
            var last = UnixTime(milliseconds: 0)
            for _ in 0..<3 {
                try await store.end(subject: "alice")
                let epoch = try await store.epoch("alice")
                try expect(epoch > last, "a later epoch")
                last = epoch
            }
            // The server of a store may have a clock of its own.
            try expect(last > UnixTime(seconds: 1_700_000_000), "a time")
        },
        StoreConformance("a foreign token that is presented to many at once has one session") { bench in
            let store = try await bench.store()
            let session = store.vouched("t")
            let accepted = try await withThrowingTaskGroup(of: ForeignSession?.self) { group in
                for _ in 0..<24 { group.addTask { try await store.accept("t", session) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(accepted.allSatisfy { $0 == session } && accepted.count == 24, "one session for all")
        },
        StoreConformance("a foreign token of a blocked user is not accepted, and is once the block is lifted") {
            bench in
            let store = try await bench.store()
            let blocking = ForeignSessions(
                store: store.store,
                authority: store.authority,
                clock: bench.clock.clock,
                isBlocked: { session, loop in loop.makeSucceededFuture(session.subject == "alice") }
            )
            func accept(_ token: String, of subject: String) async throws -> ForeignSessions.Standing {
                let session = store.vouched(token, subject: subject)
                let key = store.foreignKey(token)
                return try await blocking.accept(session, issuedAt: nil, as: key, on: store.loop).get()
            }
            try expect(try await accept("t", of: "alice") == .blocked, "no session")
            try expect(try await store.standing("t") == .none, "nothing written")
            let other = store.vouched("u", subject: "bob")
            try expect(try await accept("u", of: "bob") == .live(other), "another's session")
            try expect(try await store.accept("t") != nil, "a session without the block")
            try await store.end(subject: "alice")
            let standing = try await blocking.standing(store.foreignKey("t"), on: store.loop).get()
            try expect(standing == .blocked, "the block as the reason of the end")
            try expect(try await store.standing("t") == .ended, "the end, without the block")
        },
        StoreConformance("a foreign token is never another subject's") { bench in
            let store = try await bench.store()
            _ = try await store.accept("t")
            try expect(try await store.accept("t", store.vouched("t", subject: "mallory")) == nil, "no session")
            guard case .live(let standing) = try await store.standing("t") else {
                throw ConformanceFailure(description: "expected the life of the first subject's session")
            }
            try expect(standing.session.subject == "alice", "the first subject")
        },
    ]
}
