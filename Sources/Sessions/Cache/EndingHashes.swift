/// The hashes by which tables of sessions find what an end concerns.
extension CachedSession {
    /// Of everything that may end the session: its key, its lineage, its subject's names and its client.
    var endingHashes: [Int] {
        var hashes = [self.key.hashValue, self.key.lineage.hashValue] + self.subjectNames.map(\.hashValue)
        if let holder = self.session.holder { hashes.append(holder.hashValue) }
        return hashes
    }
}

extension Invalidation {
    /// nil if no session is concerned by itself.
    var hash: Int? {
        switch self {
        case .session(let key), .sessionRecord(let key): key.hashValue
        case .lineage(let lineage): lineage.hashValue
        case .subject(let name): name.hashValue
        case .client(let id, _): id.hashValue
        case .record, .document, .all: nil
        }
    }
}
