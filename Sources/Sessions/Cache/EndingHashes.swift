/// The hashes with which tables of sessions find the sessions that an end concerns.
extension CachedSession {
    /// The hashes of everything that may end the session: its key, its lineage, its subject's names and its client.
    var endingHashes: [Int] {
        var hashes = [self.key.hashValue, self.key.lineage.hashValue] + self.subjectNames.map(\.hashValue)
        if let holder = self.session.holder { hashes.append(holder.hashValue) }
        return hashes
    }
}

extension Invalidation {
    /// The hash of what the invalidation names. `nil` if it names no sessions.
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
