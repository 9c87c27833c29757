import NIOCore
import Sessions
import Vocabulary

extension StoreConformance {
    static let sessionCases: [StoreConformance] = [
        StoreConformance("a session is found as it was written") { bench in
            let store = try await bench.store()
            let draft = store.draft()
            try await store.create(draft)
            let stored = try await store.session(draft.key)
            try expect(stored?.record == draft.session, "the session as written")
        },
        StoreConformance("an unknown session is absent, which is not an error") { bench in
            let store = try await bench.store()
            let key = store.authority.make(.session, in: store.authority.newLineage()).key
            try expect(try await store.session(key) == nil, "no session")
            try await store.touch(key)
            try expect(try await !store.end(key), "nothing to end")
        },
        StoreConformance("reading a session twice gives the same version") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let first = try await store.session(session.key)?.version
            try await store.touch(session.key)
            let second = try await store.session(session.key)?.version
            try expect(first != nil && first == second, "a use leaves the version as it is")
        },
        StoreConformance("all loops share what they read of a session") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            let first = try await store.session(session.key)
            try await store.touch(session.key)
            let second = try await store.session(session.key)
            try expect(first != nil && first === second, "one object")
        },
        StoreConformance("a session ends at its expiry, used or not") { bench in
            let store = try await bench.store()
            let session = try await store.signIn(life: .seconds(100), idle: .seconds(3600))
            try await bench.advance(by: .milliseconds(99_999))
            try await store.touch(session.key)
            try expect(try await store.isLive(session.key), "life until the expiry")
            try await bench.advance(by: .milliseconds(1))
            try expect(try await !store.isLive(session.key), "no life at the expiry")
        },
        StoreConformance("a session that is not used for its idle lifetime ends") { bench in
            let store = try await bench.store()
            let session = try await store.signIn(idle: .seconds(60))
            try await bench.advance(by: .milliseconds(59_999))
            try expect(try await store.isLive(session.key), "life before the idle deadline")
            try await bench.advance(by: .milliseconds(1))
            try expect(try await !store.isLive(session.key), "no life at the idle deadline")
        },
        StoreConformance("reading alone does not move the idle deadline, but a use does") { bench in
            let store = try await bench.store()
            let read = try await store.signIn(idle: .seconds(60))
            let used = try await store.signIn(idle: .seconds(60))
            try await bench.advance(by: .seconds(50))
            _ = try await store.session(read.key)
            try await store.touch(used.key)
            try await bench.advance(by: .seconds(50))
            try expect(try await !store.isLive(read.key), "the end of the session that was only read")
            try expect(try await store.isLive(used.key), "the life of the session that was used")
        },
        StoreConformance("a use does not revive a session that was idle for too long") { bench in
            let store = try await bench.store()
            let session = try await store.signIn(idle: .seconds(60))
            try await bench.advance(by: .seconds(60))
            try await store.touch(session.key)
            try expect(try await !store.isLive(session.key), "no life after the idle deadline")
        },
        StoreConformance("a subject's names are always the same, and no other subject has them") { bench in
            let store = try await bench.store().store
            let names = store.names(of: "alice")
            try expect(!names.isEmpty && Set(names).count == names.count, "names, none of them twice")
            try expect(store.names(of: "alice") == names, "the same names again")
            try expect(Set(names).isDisjoint(with: store.names(of: "bob")), "other names for another subject")
        },
        StoreConformance("an answer arrives on the caller's loop") { bench in
            let store = try await bench.store()
            let session = try await store.signIn()
            for _ in 0..<8 {
                let loop = store.loop
                try expect(store.store.session(session.key, on: loop).eventLoop === loop, "the caller's loop")
                try expect(store.store.touch(session.key, on: loop).eventLoop === loop, "the caller's loop")
                try expect(store.store.end(session.key, on: loop).eventLoop === loop, "the caller's loop")
            }
        },
    ]

    static let endCases: [StoreConformance] = [
        StoreConformance("ending a session reports whether it existed and leaves the rest of its family alone") {
            bench in
            let store = try await bench.store()
            let one = try await store.signIn()
            let sibling = try await store.signIn(lineage: one.key.lineage)
            try expect(try await store.end(one.key), "it was there")
            try expect(try await !store.end(one.key), "it is there no more")
            try expect(try await !store.isLive(one.key), "the end of the session")
            try expect(try await store.isLive(sibling.key), "the life of its sibling")
        },
        StoreConformance("ending a lineage ends its sessions and tokens, and no others") { bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            let child = try await store.signIn(lineage: parent.key.lineage)
            let token = try await store.mint(from: parent)
            let other = try await store.signIn()
            let otherToken = try await store.mint(from: other)
            try await store.end(parent.key.lineage)
            try expect(try await !store.isLive(parent.key), "the end of the parent")
            try expect(try await !store.isLive(child.key), "the end of the child")
            try expect(try await store.isAbsent(token), "the end of the token")
            try expect(try await store.isLive(other.key), "the life of another lineage")
            try expect(try await !store.isAbsent(otherToken), "the life of another lineage's token")
        },
        StoreConformance("of a subject's sessions those are counted that live") { bench in
            let store = try await bench.store()
            func count(_ sessions: [NewSession]) async throws -> Int {
                try await store.store.liveCount(of: "alice", sessions.map(\.key), on: store.loop).get()
            }
            let idle = try await store.signIn(idle: .seconds(60))
            let parent = try await store.signIn()
            let siblings = [parent, try await store.signIn(lineage: parent.key.lineage)]
            let (ended, other) = (try await store.signIn(), try await store.signIn())
            let unknown = store.draft()
            var token = store.draft(lineage: other.key.lineage)
            token.session.access = AccessTerms(audience: "https://api.example.com")
            try await store.create(token)
            let all = siblings + [idle, ended, other, unknown, token]
            try expect(try await count([]) == 0, "none of none")
            try expect(try await count(all) == 5, "all but the unknown one and the access token")
            _ = try await store.end(ended.key)
            try await bench.advance(by: .seconds(60))
            try expect(try await count(all) == 3, "neither the ended one nor the idle one")
            try await store.end(parent.key.lineage)
            try expect(try await count(all) == 1, "nothing of an ended family")
            try await store.end(subject: "alice")
            try expect(try await count(all) == 0, "none after the end of them all")
            try await bench.advance(by: .seconds(1))
            try expect(try await count(all + [try await store.signIn()]) == 1, "the one that began after that")
        },
        StoreConformance("a lineage that ended stays ended for as long as one of its sessions could have lived") {
            bench in
            let store = try await bench.store()
            let parent = try await store.signIn(life: .seconds(86_400), idle: .seconds(86_400))
            try await store.end(parent.key.lineage)
            for _ in 0..<3 {
                let late = store.draft(lineage: parent.key.lineage)
                try await store.create(late)
                try expect(try await !store.isLive(late.key), "no life for a session written after the end")
                let token = try await store.mint(from: parent)
                try expect(try await store.isAbsent(token), "no life for a token minted after the end")
                try await bench.advance(by: .seconds(28_000))
            }
        },
        StoreConformance("ending a subject ends all of its sessions, in all lineages, and no others") {
            bench in
            let store = try await bench.store()
            let phone = try await store.signIn(subject: "alice")
            let laptop = try await store.signIn(subject: "alice")
            let bob = try await store.signIn(subject: "bob")
            let token = try await store.mint(from: phone)
            try await store.end(subject: "alice")
            try expect(try await !store.isLive(phone.key), "the end of the first session")
            try expect(try await !store.isLive(laptop.key), "the end of the second session")
            try expect(try await store.isAbsent(token), "the end of the token")
            try expect(try await store.isLive(bob.key), "the life of another subject's session")
        },
        StoreConformance("a session that begins after its subject was ended lives, with the new epoch") { bench in
            let store = try await bench.store()
            let before = try await store.signIn()
            try await store.end(subject: "alice")
            let after = try await store.signIn()
            try expect(after.session.epoch > before.session.epoch, "a later epoch")
            try expect(try await store.isLive(after.key), "the life of the new session")
            try expect(try await !store.isLive(before.key), "the end of the old session")
            try await store.end(subject: "alice")
            try expect(try await !store.isLive(after.key), "the second end")
        },
        StoreConformance("a token minted from a session that was ended with its subject is dead from the start") {
            bench in
            let store = try await bench.store()
            let parent = try await store.signIn()
            try await store.end(subject: "alice")
            let token = try await store.mint(from: parent)
            try expect(try await store.isAbsent(token), "no token")
        },
    ]
}
