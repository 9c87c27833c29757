import Sessions
import Vocabulary

extension StoreConformance {
    static let concurrencyCases: [StoreConformance] = [
        StoreConformance("of many that race for a token exactly one gets it, and one session exists") { bench in
            let store = try await bench.store()
            for _ in 0..<20 {
                let key = try await store.mint(from: try await store.signIn())
                let judged = try await store.judge(key)
                let runners = (0..<64).map { _ in
                    (attempt: store.authority.newAttempt(), session: store.draft(lineage: key.lineage))
                }
                let answers = try await withThrowingTaskGroup(of: (Int, Consumption).self) { group in
                    for (index, runner) in runners.enumerated() {
                        group.addTask {
                            (
                                index,
                                try await store.consume(
                                    key,
                                    judged: judged,
                                    attempt: runner.attempt,
                                    creating: runner.session
                                )
                            )
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let winners = answers.filter { $0.1 == .done }.map { $0.0 }
                try expect(winners.count == 1, "one winner, not \(winners.count)")
                let winner = runners[winners[0]]
                let marker = Marker.used(winner.attempt, session: winner.session.key)
                try expect(
                    answers.allSatisfy { $0.1 == .done || $0.1 == .spent(marker) },
                    "the winner's marker for all"
                )
                var live = 0
                for runner in runners where try await store.isLive(runner.session.key) { live += 1 }
                try expect(live == 1, "one session, not \(live)")
            }
        },
        StoreConformance("one attempt repeated many times at once is done each time and makes one session") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let answers = try await withThrowingTaskGroup(of: Consumption.self) { group in
                for _ in 0..<64 {
                    group.addTask { try await store.consume(key, judged: judged, attempt: attempt, creating: draft) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(answers.allSatisfy { $0 == .done }, "`done` for all")
            try expect(try await store.isLive(draft.key), "the session")
        },
        StoreConformance("when a use and a burn race there is one marker, and a session only if the use won") {
            bench in
            let store = try await bench.store()
            for _ in 0..<50 {
                let key = try await store.mint(from: try await store.signIn())
                let judged = try await store.judge(key)
                let draft = store.draft(lineage: key.lineage)
                async let use = store.consume(
                    key,
                    judged: judged,
                    attempt: store.authority.newAttempt(),
                    creating: draft
                )
                async let burn = store.burn(key, judged: judged, attempt: store.authority.newAttempt())
                let answers = (try await use, try await burn)
                try expect((answers.0 == .done) != (answers.1 == .done), "one winner")
                try expect(try await store.isLive(draft.key) == (answers.0 == .done), "a session only with the use")
            }
        },
        StoreConformance("no session outlives an end that races its creation") { bench in
            let store = try await bench.store()
            for round in 0..<100 {
                let parent = try await store.signIn(subject: "racer")
                let key = try await store.mint(from: parent)
                let judged = try await store.judge(key)
                let draft = store.draft(subject: "racer", lineage: key.lineage)
                async let use = store.consume(
                    key,
                    judged: judged,
                    attempt: store.authority.newAttempt(),
                    creating: draft
                )
                if round.isMultiple(of: 2) {
                    try await store.end(parent.key.lineage)
                } else {
                    try await store.end(subject: "racer")
                }
                _ = try await use
                try expect(try await !store.isLive(draft.key), "the end of what the token made")
            }
        },
    ]
}
