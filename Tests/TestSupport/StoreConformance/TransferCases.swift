import NIOCore
import Sessions
import Vocabulary

extension StoreConformance {
    static let transferCases: [StoreConformance] = [
        StoreConformance("a minted token is live and has what was judged at mint") { bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let key = try await store.mint(from: parent)
            let lookup = try await store.store.singleUse(key, as: TransferToken.self, on: store.loop).get()
            guard case .live(let stored) = lookup else {
                throw ConformanceFailure(description: "a minted token is not live")
            }
            try expect(stored.record.parent == parent.session, "the parent session")
            try expect(stored.record.parentKey == parent.key, "the parent's key")
            try expect(stored.record.device.asn == 64_500, "the device of the mint")
            try expect(stored.record.host == "app.example.com:8443", "the host of the audience")
        },
        StoreConformance("a token is read together with the session that it comes from") { bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let key = try await store.mint(from: parent)
            func read() async throws -> (isLive: Bool, parent: Session?) {
                let found = try await store.store.singleUseWithParent(key, as: TransferToken.self, on: store.loop).get()
                guard case .live(let stored) = found.lookup else { return (false, found.parent?.record) }
                return (stored.record.parentKey == parent.key, found.parent?.record)
            }
            let first = try await read()
            try expect(first.isLive && first.parent == parent.session, "both as they are")
            try expect(try await store.end(parent.key), "the end of the session")
            let second = try await read()
            try expect(second.isLive && second.parent == nil, "the token without a session")
        },
        StoreConformance("a token without a live session is read as one read after the other finds it") { bench in
            let store = try await bench.store()
            for end in ["idle", "lineage", "subject", "use"] {
                let parent = try await store.signIn(subject: end, idle: .seconds(30))
                let key = try await store.mint(from: parent)
                switch end {
                case "idle": try await bench.advance(by: .seconds(31))
                case "lineage": try await store.end(parent.key.lineage)
                case "subject": try await store.end(subject: end)
                default:
                    let attempt = store.authority.newAttempt()
                    _ = try await store.burn(key, judged: try await store.judge(key), attempt: attempt)
                }
                let found = try await store.store.singleUseWithParent(key, as: TransferToken.self, on: store.loop).get()
                let alone = try await store.store.singleUse(key, as: TransferToken.self, on: store.loop).get()
                switch (found.lookup, alone) {
                case (.live(let stored), .live(let other)):
                    try expect(stored.version == other.version && found.parent == nil, "no session after \(end)")
                case (.spent(let marker), .spent(let other)): try expect(marker == other, "the marker")
                case (.absent, .absent): break
                default: throw ConformanceFailure(description: "after \(end) the two differ")
                }
            }
        },
    ]

    static let lookupCases: [StoreConformance] = [
        StoreConformance("an unknown token is absent") { bench in
            let store = try await bench.store()
            let key = store.newKey(in: store.authority.newLineage())
            try expect(try await store.isAbsent(key), "no token")
        },
        StoreConformance("a token is gone at its expiry and leaves no marker") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn(), life: .seconds(60))
            let judged = try await store.judge(key)
            try await bench.advance(by: .seconds(60))
            try expect(try await store.isAbsent(key), "no token")
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
        },
    ]

    static let consumptionCases: [StoreConformance] = [
        StoreConformance("consuming a token creates the session and leaves the marker") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: try await store.judge(key),
                attempt: attempt,
                creating: draft
            )
            try expect(answer == .done, "`done`, not \(answer)")
            try expect(try await store.session(draft.key)?.record == draft.session, "the session as written")
            try expect(try await store.marker(key) == .used(attempt, session: draft.key), "the marker of the use")
        },
        StoreConformance("a token is used up for a session of another family, which is not changed") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let there = try await store.signIn()
            let attempt = store.authority.newAttempt()
            for _ in 0..<2 {
                let answer = try await store.useUp(key, judged: judged, attempt: attempt, for: there)
                try expect(answer == .done, "`done`, not \(answer)")
            }
            try expect(try await store.marker(key) == .used(attempt, session: there.key), "the marker of the use")
            try expect(try await store.session(there.key)?.record == there.session, "the session as it was")
            let other = try await store.useUp(key, judged: judged, attempt: store.authority.newAttempt(), for: there)
            try expect(other == .spent(.used(attempt, session: there.key)), "`spent`, not \(other)")
        },
        StoreConformance("a repeated attempt is reported as done and creates nothing twice") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let first = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            _ = try await store.end(draft.key)
            let second = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(first == .done && second == .done, "`done` twice")
            try expect(try await !store.isLive(draft.key), "no second session for the same attempt")
        },
        StoreConformance("an attempt's work is confirmed by its own marker and by no other") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let own = Marker.used(attempt, session: draft.key)
            try expect(try await !store.isConfirmed(own, of: key), "nothing to confirm before it is done")
            _ = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(try await store.isConfirmed(own, of: key), "what was done")
            let other = Marker.used(store.authority.newAttempt(), session: draft.key)
            try expect(try await !store.isConfirmed(other, of: key), "nothing of an attempt that left no marker")
            try expect(try await store.marker(key) == own, "the marker as it was")
        },
        StoreConformance("another attempt finds the token spent") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let winner = store.authority.newAttempt()
            let won = store.draft(lineage: key.lineage)
            let lost = store.draft(lineage: key.lineage)
            _ = try await store.consume(key, judged: judged, attempt: winner, creating: won)
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: lost
            )
            try expect(answer == .spent(.used(winner, session: won.key)), "the winner's marker, not \(answer)")
            try expect(try await !store.isLive(lost.key), "no second session")
            try expect(try await store.isLive(won.key), "the life of the first session")
        },
        StoreConformance("an attempt that is repeated with another outcome gets the recorded one") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            _ = try await store.burn(key, judged: judged, attempt: attempt)
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(answer == .spent(.burned(attempt, .bindingIPMismatch)), "the burn, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
        },
        StoreConformance("a burned token makes no session, then or later") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            let burner = store.authority.newAttempt()
            try expect(try await store.burn(key, judged: judged, attempt: burner) == .done, "`done`")
            try expect(try await store.marker(key) == .burned(burner, .bindingIPMismatch), "the burn's marker")
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .spent(.burned(burner, .bindingIPMismatch)), "the burn, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
            try expect(try await store.burn(key, judged: judged, attempt: burner) == .done, "`done` again")
        },
        StoreConformance("a token that changed since it was judged is not consumed") { bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let key = try await store.mint(from: parent)
            let other = try await store.mint(from: parent)
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: try await store.judge(other),
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
            _ = try await store.judge(key)
        },
        StoreConformance("a token that never existed is not consumed") { bench in
            let store = try await bench.store()
            let real = try await store.mint(from: try await store.signIn())
            let key = store.newKey(in: real.lineage)
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: try await store.judge(real),
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
            try expect(try await store.isAbsent(key), "no marker where no token was")
        },
        StoreConformance("a token whose lineage has ended since it was judged is not consumed") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            try await store.end(key.lineage)
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
        },
        StoreConformance("a token whose parent session alone has ended since it was judged is not consumed") {
            bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let key = try await store.mint(from: parent)
            let judged = try await store.judge(key)
            try expect(try await store.end(parent.key), "the parent's end")
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
            // Nothing was written: a second look finds the token live, and can see that its parent has ended.
            _ = try await store.judge(key)
        },
        StoreConformance("a repeated attempt is reported as done even if the parent session has ended since") {
            bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let key = try await store.mint(from: parent)
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            let first = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            _ = try await store.end(parent.key)
            let second = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(first == .done && second == .done, "`done` twice, not \(first) and \(second)")
            try expect(try await store.isLive(draft.key), "the session of the first time")
        },
        StoreConformance("a token whose subject was ended since it was judged is not consumed") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let judged = try await store.judge(key)
            try await store.end(subject: "alice")
            let draft = store.draft(lineage: key.lineage)
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: draft
            )
            try expect(answer == .changed, "`changed`, not \(answer)")
            try expect(try await !store.isLive(draft.key), "no session")
        },
        StoreConformance("a session created by a token ends with its lineage and with its subject") { bench in
            let store = try await bench.store()
            for ending in ["lineage", "subject"] {
                let parent = try await store.signIn()
                let key = try await store.mint(from: parent)
                let draft = store.draft(lineage: key.lineage)
                let answer = try await store.consume(
                    key,
                    judged: try await store.judge(key),
                    attempt: store.authority.newAttempt(),
                    creating: draft
                )
                try expect(answer == .done, "`done`, not \(answer)")
                if ending == "lineage" {
                    try await store.end(parent.key.lineage)
                } else {
                    try await store.end(subject: "alice")
                }
                try expect(try await !store.isLive(draft.key), "its end with the \(ending)")
            }
        },
        StoreConformance("a used token is known as used long after its expiry") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn(), life: .seconds(60))
            let judged = try await store.judge(key)
            let attempt = store.authority.newAttempt()
            let draft = store.draft(lineage: key.lineage)
            _ = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try await bench.advance(by: .seconds(300 + 60))
            try expect(try await store.marker(key) == .used(attempt, session: draft.key), "the marker of the use")
            let answer = try await store.consume(
                key,
                judged: judged,
                attempt: store.authority.newAttempt(),
                creating: store.draft(lineage: key.lineage)
            )
            try expect(answer == .spent(.used(attempt, session: draft.key)), "the marker, not \(answer)")
        },
        StoreConformance("a marker outlives the end of its lineage") { bench in
            let store = try await bench.store()
            let key = try await store.mint(from: try await store.signIn())
            let attempt = store.authority.newAttempt()
            _ = try await store.burn(key, judged: try await store.judge(key), attempt: attempt)
            try await store.end(key.lineage)
            try expect(try await store.marker(key) == .burned(attempt, .bindingIPMismatch), "the burn's marker")
        },
    ]
}
