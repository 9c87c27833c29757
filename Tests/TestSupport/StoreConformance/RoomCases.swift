import Sessions
import Vocabulary

extension StoreConformance {
    static let roomCases: [StoreConformance] = [
        StoreConformance("a full store refuses sign-in, keeps what it has, and accepts more after something has ended")
        {
            bench in
            let store = try await bench.store(StoreRoom(sessions: 3, markers: 3))
            var sessions: [NewSession] = []
            for index in 0..<3 { sessions.append(try await store.signIn(subject: "user \(index)")) }
            try expect(try await isFull { try await store.create(store.draft()) }, "`full`")
            for session in sessions {
                try expect(try await store.isLive(session.key), "the life of what was there")
            }
            _ = try await store.end(sessions[0].key)
            _ = try await store.signIn()
            try expect(try await isFull { try await store.create(store.draft()) }, "`full` again")
            try await store.end(sessions[1].key.lineage)
            _ = try await store.signIn()
            try await store.end(subject: "user 2")
            _ = try await store.signIn()
        },
        StoreConformance("sessions that expired or were idle for too long make room") { bench in
            let store = try await bench.store(StoreRoom(sessions: 2, markers: 2))
            _ = try await store.signIn(life: .seconds(60))
            let idle = try await store.signIn(life: .seconds(86_400), idle: .seconds(60))
            try await bench.advance(by: .seconds(59))
            try await store.touch(idle.key)
            try expect(try await isFull { try await store.create(store.draft()) }, "`full`")
            try await bench.advance(by: .seconds(1))
            _ = try await store.signIn()
            try expect(try await isFull { try await store.create(store.draft()) }, "`full`: the other was used")
            try await bench.advance(by: .seconds(59))
            _ = try await store.signIn()
        },
        StoreConformance("a full store refuses to mint; tokens that expire unused make room") { bench in
            let store = try await bench.store(StoreRoom(sessions: 10, markers: 2))
            let parent = try await store.signIn()
            _ = try await store.mint(from: parent)
            _ = try await store.mint(from: parent)
            try expect(try await isFull { try await store.mint(from: parent) }, "`full`")
            try await bench.advance(by: .seconds(60))
            _ = try await store.mint(from: parent)
        },
        StoreConformance("no lack of room evicts a marker before its time") { bench in
            let store = try await bench.store(StoreRoom(sessions: 1000, markers: 8))
            let parent = try await store.signIn(idle: .seconds(86_400))
            var markers: [RecordKey: Marker] = [:]
            for _ in 0..<8 {
                let key = try await store.mint(from: parent)
                let attempt = store.authority.newAttempt()
                _ = try await store.burn(key, judged: try await store.judge(key), attempt: attempt)
                markers[key] = .burned(attempt, .bindingIPMismatch)
            }
            for _ in 0..<10 {
                for _ in 0..<50 {
                    try expect(try await isFull { try await store.mint(from: parent) }, "`full`")
                }
                for (key, marker) in markers {
                    try expect(try await store.marker(key) == marker, "the marker")
                }
                try await bench.advance(by: .seconds(60))
            }
            try await bench.advance(by: .seconds(86_400 / 2))
            _ = try await store.mint(from: parent)
        },
        StoreConformance("a token is not burned by a consumption for which there is no room") { bench in
            let store = try await bench.store(StoreRoom(sessions: 2, markers: 2))
            let parent = try await store.signIn()
            let other = try await store.signIn()
            let key = try await store.mint(from: parent)
            let judged = try await store.judge(key)
            let draft = store.draft(lineage: key.lineage)
            let attempt = store.authority.newAttempt()
            let isRefused = try await isFull {
                try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            }
            try expect(isRefused, "`full`")
            try expect(try await store.judge(key) == judged, "the token untouched")
            _ = try await store.end(other.key)
            let answer = try await store.consume(key, judged: judged, attempt: attempt, creating: draft)
            try expect(answer == .done, "`done`, not \(answer)")
        },
        StoreConformance("a consumption always finds room for its marker") { bench in
            let store = try await bench.store(StoreRoom(sessions: 10, markers: 3))
            let parent = try await store.signIn()
            var keys: [RecordKey] = []
            for _ in 0..<3 { keys.append(try await store.mint(from: parent)) }
            for key in keys {
                let answer = try await store.burn(
                    key,
                    judged: try await store.judge(key),
                    attempt: store.authority.newAttempt()
                )
                try expect(answer == .done, "`done`, not \(answer)")
            }
        },
    ]
}
