/// The documents of a memory store, by collection and id. The caller locks them.
struct MemoryDocuments {
    struct Entry {
        let bytes: [UInt8]
        let attempt: AttemptID
        let version: RecordVersion
    }

    private var collections: [String: [String: Entry]] = [:]

    func entry(_ key: DocumentKey) -> Entry? { self.collections[key.collection]?[key.id] }

    func entries(of collection: String) -> [String: Entry] { self.collections[collection] ?? [:] }

    /// The atomic step of `DocumentStore.put`.
    mutating func put(
        _ entry: Entry,
        at key: DocumentKey,
        judged: RecordVersion?,
        limit: Int
    ) throws(StoreError) -> Replacement {
        let standing = self.entry(key)
        // A repeated call of the attempt that wrote the document.
        if let standing, standing.attempt == entry.attempt { return .done }
        guard standing?.version == judged else { return standing == nil ? .absent : .changed }
        if standing == nil, self.collections[key.collection]?.count ?? 0 >= limit { throw .full }
        self.collections[key.collection, default: [:]][key.id] = entry
        return .done
    }

    /// Deletes the document. Returns true if it existed.
    mutating func delete(_ key: DocumentKey) -> Bool {
        self.collections[key.collection]?.removeValue(forKey: key.id) != nil
    }
}
