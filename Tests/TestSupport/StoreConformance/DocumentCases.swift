import NIOCore
import Sessions
import Vocabulary

extension StoreUnderTest {
    func document(_ id: String) async throws -> Stored<TestDocument>? {
        try await self.store.document(id, as: TestDocument.self, on: self.loop).get()
    }

    func documents() async throws -> [String: String] {
        let listed = try await self.store.documents(of: TestDocument.self, on: self.loop).get()
        try expect(listed.map(\.id) == listed.map(\.id).sorted(), "the order of the ids")
        return Dictionary(listed.map { ($0.id, $0.stored.record.text) }) { first, _ in first }
    }

    func put(
        _ text: String,
        id: String,
        judged: RecordVersion? = nil,
        attempt: AttemptID? = nil
    ) async throws -> Replacement {
        let attempt = attempt ?? self.authority.newAttempt()
        return try await self.store
            .put(TestDocument(text), id: id, judged: judged, attempt: attempt, on: self.loop).get()
    }

    func delete(_ id: String) async throws -> Bool {
        let key = DocumentKey(collection: TestDocument.collection, id: id)
        return try await self.store.delete(key, on: self.loop).get()
    }
}

extension StoreConformance {
    static let documentCases: [StoreConformance] = [
        StoreConformance("documents are written, read, listed and deleted by their ids") { bench in
            let store = try await bench.store()
            try expect(try await store.documents().isEmpty, "no documents")
            let ids = ["app", "web", "é {}:\n*", ""] + (0..<30).map { "client-\($0)" }
            for id in ids {
                try expect(try await store.document(id) == nil, "no document yet")
                try expect(try await store.put("text of \(id)", id: id) == .done, "`done`")
                try expect(try await store.document(id)?.record.text == "text of \(id)", "the document as written")
            }
            var expected = Dictionary(uniqueKeysWithValues: ids.map { ($0, "text of \($0)") })
            try expect(try await store.documents() == expected, "all documents")
            for id in ids.prefix(3) {
                try expect(try await store.delete(id), "it was there")
                try expect(try await !store.delete(id), "it is there no more")
                try expect(try await store.document(id) == nil, "no document")
                expected[id] = nil
            }
            try expect(try await store.documents() == expected, "all others")
            for id in expected.keys { _ = try await store.delete(id) }
            try expect(try await store.documents().isEmpty, "no documents")
            try expect(try await store.put("again", id: "app") == .done, "`done`")
            try expect(try await store.documents() == ["app": "again"], "the one that is there")
        },
        StoreConformance("a document is replaced only if it has not changed since it was read") { bench in
            let store = try await bench.store()
            try expect(try await store.put("1", id: "app") == .done, "`done`")
            let first = try await store.document("app")?.version
            try expect(try await store.put("other", id: "app") == .changed, "`changed`: it is there")
            try expect(try await store.put("2", id: "app", judged: first) == .done, "`done`")
            try expect(try await store.put("3", id: "app", judged: first) == .changed, "`changed`")
            let second = try await store.document("app")
            try expect(second?.record.text == "2", "the second text")
            try expect(try await store.document("app")?.version == second?.version, "the same version again")
            try expect(try await store.put("3", id: "app", judged: first) == .changed, "`changed` still")
            _ = try await store.delete("app")
            let late = try await store.put("3", id: "app", judged: second?.version)
            try expect(late == .absent, "`absent`, not \(late)")
            try expect(try await store.document("app") == nil, "no document")
            try expect(try await store.documents().isEmpty, "no document in the list")
        },
        StoreConformance("a repeated attempt to write a document is reported as done again") { bench in
            let store = try await bench.store()
            let attempt = store.authority.newAttempt()
            for _ in 0..<2 { try expect(try await store.put("1", id: "app", attempt: attempt) == .done, "`done`") }
            let judged = try await store.document("app")?.version
            let next = store.authority.newAttempt()
            for _ in 0..<2 {
                let answer = try await store.put("2", id: "app", judged: judged, attempt: next)
                try expect(answer == .done, "`done`, not \(answer)")
            }
            let late = try await store.put("1", id: "app", attempt: attempt)
            try expect(late == .changed, "`changed`, not \(late)")
            try expect(try await store.document("app")?.record.text == "2", "the second text")
        },
        StoreConformance("of many that race for a document one writes it, and no other document is lost from the list")
        {
            bench in
            let store = try await bench.store()
            let answers = try await withThrowingTaskGroup(of: Replacement.self) { group in
                for runner in 0..<32 {
                    group.addTask { try await store.put("\(runner)", id: "app") }
                    group.addTask { try await store.put("\(runner)", id: "client-\(runner)") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(answers.count { $0 == .done } == 33, "one winner for the one, and one for each other")
            try expect(answers.count { $0 == .changed } == 31, "`changed` for all others")
            try expect(try await store.documents().count == 33, "all documents")
        },
        StoreConformance("a full collection refuses new documents, and those in it can still be replaced") { bench in
            let store = try await bench.store()
            for index in 0..<TestDocument.countLimit { _ = try await store.put("x", id: "\(index)") }
            try expect(try await isFull { try await store.put("x", id: "one more") }, "`full`")
            let judged = try await store.document("0")?.version
            try expect(try await store.put("y", id: "0", judged: judged) == .done, "`done`")
            try expect(try await store.delete("1"), "it was there")
            try expect(try await store.put("x", id: "one more") == .done, "`done`")
        },
        StoreConformance("a document that is too large, or whose id is too long, is refused") { bench in
            let store = try await bench.store()
            try await expectTooLarge { try await store.put(String(repeating: "x", count: 1025), id: "app") }
            let id = String(repeating: "x", count: DocumentKey.longestID + 1)
            try await expectTooLarge { try await store.put("x", id: id) }
            try expect(try await store.documents().isEmpty, "no documents")
        },
        StoreConformance("a document's names are always the same, and no other document has them") { bench in
            let store = try await bench.store().store
            let key = DocumentKey(collection: TestDocument.collection, id: "app")
            let names = store.names(of: key)
            try expect(!names.isEmpty && Set(names).count == names.count, "names, none of them twice")
            try expect(store.names(of: key) == names, "the same names again")
            let other = DocumentKey(collection: TestDocument.collection, id: "web")
            try expect(Set(names).isDisjoint(with: store.names(of: other)), "other names for another document")
            let elsewhere = DocumentKey(collection: "others", id: "app")
            try expect(Set(names).isDisjoint(with: store.names(of: elsewhere)), "other names in another collection")
        },
    ]
}
