/// The hashes by which tables of sessions find what an end concerns.
extension CachedSession {
    /// Of everything that may end the session: its key, its lineage and its subject's names.
    var endingHashes: [Int] {
        [self.key.hashValue, self.key.lineage.hashValue] + self.subjectNames.map(\.hashValue)
    }
}

extension Invalidation {
    /// nil if no session is concerned by itself.
    var hash: Int? {
        switch self {
        case .session(let key), .sessionRecord(let key): key.hashValue
        case .lineage(let lineage): lineage.hashValue
        case .subject(let name): name.hashValue
        case .record, .document, .all: nil
        }
    }
}
