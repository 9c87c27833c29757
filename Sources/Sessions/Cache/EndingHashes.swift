/// The hashes by which tables find the sessions that an end concerns.
extension CachedSession {
    /// The hashes of the session's key, lineage, subject names and client. An end names one of them.
    var endingHashes: [Int] {
        var hashes = [self.key.hashValue, self.key.lineage.hashValue] + self.subjectNames.map(\.hashValue)
        if let holder = self.session.holder { hashes.append(holder.hashValue) }
        return hashes
    }
}

extension Invalidation {
    /// The hash of the session, lineage, subject or client that ended; `nil` if no sessions are named.
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
