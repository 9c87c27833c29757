/// A group of ends and changes. Current reads and open streams compare themselves with the group in one step, so ten
/// thousand ends at once stay cheap.
package struct Endings: Sendable {
    package let invalidations: [Invalidation]
    /// True if the group contains `.all`.
    let includesAll: Bool
    /// The names of the ended subjects in the store.
    let subjects: Set<String>
    private let sessions: Set<RecordKey>
    /// The ends of clients.
    let clients: [Invalidation]
    /// The sessions whose records changed.
    private let changed: Set<RecordKey>
    private let lineages: Set<Lineage>

    package init(_ invalidations: [Invalidation]) {
        var includesAll = false
        var subjects: Set<String> = []
        var sessions: Set<RecordKey> = []
        var changed: Set<RecordKey> = []
        var lineages: Set<Lineage> = []
        var clients: [Invalidation] = []
        for invalidation in invalidations {
            switch invalidation {
            case .session(let key): sessions.insert(key)
            case .sessionRecord(let key): changed.insert(key)
            case .lineage(let lineage): lineages.insert(lineage)
            case .subject(let name): subjects.insert(name)
            case .client: clients.append(invalidation)
            case .record, .document: break
            case .all: includesAll = true
            }
        }
        self.invalidations = invalidations
        self.includesAll = includesAll
        self.subjects = subjects
        self.sessions = sessions
        self.changed = changed
        self.lineages = lineages
        self.clients = clients
    }

    /// Reports whether the group ends the session of `entry`. Changes and `.all` end no session.
    package func ends(_ entry: CachedSession) -> Bool {
        // A group of one end is the usual case and needs no hash.
        if self.invalidations.count == 1 { return self.invalidations[0].ends(entry) }
        return self.end(entry.key) || entry.isNamed(oneOf: self.subjects) || self.clients.contains { $0.ends(entry) }
    }

    /// Returns the new state of `entry`; `nil` if the group does not concern it.
    func state(of entry: CachedSession) -> CachedSession.State? {
        if self.ends(entry) { return .ended }
        return self.changed.contains(entry.key) ? .changed : nil
    }

    /// Reports whether a read of this key, begun before, may be outdated. Subjects and clients are not compared here.
    func overtake(_ key: RecordKey) -> Bool {
        self.end(key) || self.changed.contains(key)
    }

    private func end(_ key: RecordKey) -> Bool {
        self.lineages.contains(key.lineage) || self.sessions.contains(key)
    }
}
