import NIOCore
import Sessions
import Vocabulary

extension StoreUnderTest {
    func once(_ id: String, scope: String = "proofs", for lifetime: Duration = .seconds(60)) async throws -> Bool {
        try await self.store.once(OnceID(scope: scope, id: id), for: lifetime, on: self.loop).get()
    }
}

extension StoreConformance {
    static let onceCases: [StoreConformance] = [
        StoreConformance("an id is new only once in each scope") { bench in
            let store = try await bench.store()
            try expect(try await store.once("a"), "the first time")
            for _ in 0..<3 { try expect(try await !store.once("a"), "a repetition") }
            try expect(try await store.once("b"), "another id")
            try expect(try await store.once("a", scope: "nonces"), "another scope")
            // Wherever the boundary between scope and id is.
            for (scope, id) in [("x", "y z"), ("x y", "z"), ("", "x y z"), ("x y z", "")] {
                try expect(try await store.once(id, scope: scope), "a first time: \(scope), \(id)")
            }
        },
        StoreConformance("an id is known for its lifetime, however often it is presented, and is then forgotten") {
            bench in
            let store = try await bench.store()
            try expect(try await store.once("a", for: .seconds(60)), "the first time")
            try await bench.advance(by: .seconds(40))
            try expect(try await !store.once("a", for: .seconds(60)), "a repetition")
            try await bench.advance(by: .seconds(19))
            try expect(try await !store.once("a", for: .seconds(60)), "a repetition")
            try await bench.advance(by: .seconds(10))
            try expect(try await store.once("a", for: .seconds(60)), "it was not prolonged")
            try expect(try await !store.once("a", for: .seconds(60)), "a repetition")
        },
        StoreConformance("of many requests that present an id at once, one is the first") { bench in
            let store = try await bench.store()
            for round in 0..<20 {
                let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<64 { group.addTask { try await store.once("\(round)") } }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                try expect(firsts == 1, "one first, not \(firsts)")
            }
        },
    ]
}
