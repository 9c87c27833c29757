import NIOCore
import Sessions
import Vocabulary

extension StoreConformance {
    /// Room for records that are neither sessions nor markers.
    static let recordRoomCases: [StoreConformance] = [
        StoreConformance("a store full of replaceable records refuses more, and accepts them again after one has ended")
        {
            bench in
            let store = try await bench.store(StoreRoom(sessions: 3, markers: 3))
            let session = try await store.signIn()
            var keys: [RecordKey] = []
            for _ in 0..<3 { keys.append(try await store.newFamily(of: session)) }
            try expect(try await isFull { try await store.newFamily(of: session) }, "`full`")
            let answer = try await store.replace(keys[0], try await store.family(keys[0]), generation: 2)
            try expect(answer == .done, "`done`: it takes the place of another")
            try await store.store.end(replaceable: keys[1], on: store.loop).get()
            _ = try await store.newFamily(of: session, life: .seconds(60))
            try expect(try await isFull { try await store.newFamily(of: session) }, "`full` again")
            try await bench.advance(by: .seconds(60))
            _ = try await store.newFamily(of: session)
        },
        StoreConformance("a use without room for all of its records creates none and leaves the ticket") {
            bench in
            for full in ["sessions", "tickets", "families"] {
                let store = try await bench.with(TestTicket.self).store(StoreRoom(sessions: 2, markers: 2))
                let parent = try await store.signIn()
                let key = try await store.mint(from: parent)
                var ends: [RecordKey] = []
                switch full {
                case "sessions": ends.append(try await store.signIn().key)
                case "tickets": _ = try await store.mint(from: parent, life: .seconds(10))
                default: for _ in 0..<2 { ends.append(try await store.newFamily(of: parent)) }
                }
                let judged = try await store.judge(key)
                let draft = store.draft(lineage: key.lineage)
                let attempt = store.authority.newAttempt()
                let isRefused = try await isFull {
                    try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
                }
                try expect(isRefused, "`full` of \(full)")
                try expect(try await store.judge(key) == judged, "the ticket untouched: \(full)")
                try expect(try await store.family(TestTicket.family(of: draft.key)) == nil, "no family: \(full)")
                try expect(try await store.isAbsent(TestTicket.child(of: draft.key)), "no ticket: \(full)")
                for key in ends {
                    if key.kind == .session {
                        _ = try await store.end(key)
                    } else {
                        try await store.store.end(replaceable: key, on: store.loop).get()
                    }
                }
                try await bench.advance(by: .seconds(10))
                let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
                try expect(answer == .done, "`done` once there is room for \(full), not \(answer)")
            }
        },
        StoreConformance("ids that were presented are never evicted, and take no room from tokens") { bench in
            let store = try await bench.store(StoreRoom(sessions: 10, markers: 4))
            for id in 0..<4 { try expect(try await store.once("\(id)"), "the first time") }
            for _ in 0..<10 {
                try expect(try await isFull { try await store.once("another") }, "`full`")
                for id in 0..<4 { try expect(try await !store.once("\(id)"), "a repetition") }
            }
            _ = try await store.mint(from: try await store.signIn())
            try await bench.advance(by: .seconds(60))
            try expect(try await store.once("another"), "room once they expired")
        },
    ]
}
