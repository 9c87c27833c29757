import NIOCore
import Sessions
import Vocabulary

extension StoreUnderTest {
    /// Replaces the judged session by one with this trait.
    func replace(_ key: RecordKey, _ judged: Stored<Session>?, name: String) async throws -> Replacement {
        guard let judged else { throw ConformanceFailure(description: "a session that was written is not there") }
        var next = judged.record
        next.identity.traits = ["name": .string(name)]
        return try await self.store.replace(key, judged: judged.version, with: next, on: self.loop).get()
    }

    /// The trait that `replace` wrote.
    func name(_ key: RecordKey) async throws -> String? {
        try await self.session(key)?.record.identity.traits["name"]?.string
    }
}

extension StoreConformance {
    static let replacedSessionCases: [StoreConformance] = [
        StoreConformance("a session is replaced if it is unchanged since it was judged, and else it stays") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let stale = try await store.session(session.key)
            for name in ["one", "two", "three"] {
                let judged = try await store.session(session.key)
                let answer = try await store.replace(session.key, judged, name: name)
                try expect(answer == .done, "`done`, not \(answer)")
                let next = try await store.session(session.key)
                try expect(next?.record.identity.traits["name"]?.string == name, "the session as written")
                try expect(next?.version != judged?.version, "another version")
                var same = next?.record
                same?.identity = session.session.identity
                try expect(same == session.session, "everything else as it was")
            }
            let answer = try await store.replace(session.key, stale, name: "late")
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await store.name(session.key) == "three", "what stood there")
        },
        StoreConformance("of many that race to replace a session exactly one succeeds") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            for _ in 0..<10 {
                let judged = try await store.session(session.key)
                let answers = try await withThrowingTaskGroup(of: Replacement.self) { group in
                    for runner in 0..<16 {
                        group.addTask { try await store.replace(session.key, judged, name: "\(runner)") }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                try expect(answers.count { $0 == .done } == 1, "one winner")
                try expect(answers.count { $0 == .changed } == 15, "`changed` for all others")
            }
        },
        StoreConformance("a session that has ended in any way is not revived by a replacement") { bench in
            let store = try await bench.store()
            for end in ["session", "lineage", "subject"] {
                let session = try await store.signIn(subject: end)
                let judged = try await store.session(session.key)
                switch end {
                case "session": _ = try await store.end(session.key)
                case "lineage": try await store.end(session.key.lineage)
                default: try await store.end(subject: end)
                }
                let answer = try await store.replace(session.key, judged, name: "late")
                try expect(answer == .absent, "`absent` after the end of the \(end), not \(answer)")
                try expect(try await !store.isLive(session.key), "its end with the \(end)")
                // A sign-in of the same subject does not bring it back either.
                _ = try await store.signIn(subject: end)
                try expect(try await !store.isLive(session.key), "its end with the \(end)")
            }
        },
        StoreConformance("a replaced session ends with its lineage and its subject") { bench in
            let store = try await bench.store()
            for end in ["session", "lineage", "subject"] {
                let session = try await store.signIn(subject: end)
                let judged = try await store.session(session.key)
                try expect(try await store.replace(session.key, judged, name: "new") == .done, "`done`")
                switch end {
                case "session": try expect(try await store.end(session.key), "it was there")
                case "lineage": try await store.end(session.key.lineage)
                default: try await store.end(subject: end)
                }
                try expect(try await !store.isLive(session.key), "its end with the \(end)")
            }
        },
        StoreConformance("a replacement changes neither the expiry nor the idle deadline") { bench in
            let store = try await bench.store()
            let expiring = try await store.signIn(life: .seconds(100), idle: .seconds(3600))
            let idle = try await store.signIn(idle: .seconds(100))
            try await bench.advance(by: .seconds(60))
            for key in [expiring.key, idle.key] {
                let answer = try await store.replace(key, try await store.session(key), name: "new")
                try expect(answer == .done, "`done`, not \(answer)")
            }
            try await bench.advance(by: .seconds(20))
            for key in [expiring.key, idle.key] {
                try expect(try await store.isLive(key), "life until the end")
            }
            let judged = try await store.session(idle.key)
            try await bench.advance(by: .seconds(20))
            for key in [expiring.key, idle.key] {
                try expect(try await !store.isLive(key), "no life afterwards")
                let answer = try await store.replace(key, judged, name: "late")
                try expect(answer == .absent, "`absent`, not \(answer)")
                try expect(try await !store.isLive(key), "no life afterwards")
            }
        },
        StoreConformance("a subject's epoch is that of its sessions, and is raised by an end") { bench in
            let store = try await bench.store()
            for _ in 0..<3 {
                let session = try await store.signIn()
                let epoch = try await store.store.epoch(of: "alice", on: store.loop).get()
                try expect(epoch == session.session.epoch, "the epoch of the session")
                let asked = try await store.store.now(on: store.loop).get()
                try await store.end(subject: "alice")
                let next = try await store.store.epoch(of: "alice", on: store.loop).get()
                try expect(next > epoch, "a later epoch")
                try expect(next >= UInt64(asked.milliseconds), "none from before the store was asked for its time")
            }
        },
    ]
}
