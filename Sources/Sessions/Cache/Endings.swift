/// A group of ends and changes. Each read under way and each open stream checks once whether the group concerns it, not once for
/// each end: when a server lets ten thousand sessions expire at once, no loop compares each of them with ten thousand
/// streams.
package struct Endings: Sendable {
    package let invalidations: [Invalidation]
    /// Whether the group contains `.all`.
    let includesAll: Bool
    /// The subjects in the group, by the store's names.
    let subjects: Set<String>
    private let sessions: Set<RecordKey>
    /// The ends of clients in the group.
    let clients: [Invalidation]
    /// Sessions whose records changed.
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

    /// True when one of the ends concerns the session of `entry`; `.all` and changes end none.
    package func ends(_ entry: CachedSession) -> Bool {
        // The usual case needs no hash.
        if self.invalidations.count == 1 { return self.invalidations[0].ends(entry) }
        return self.end(entry.key) || entry.isNamed(oneOf: self.subjects) || self.clients.contains { $0.ends(entry) }
    }

    /// What an entry becomes that the group concerns; nil: it does not.
    func state(of entry: CachedSession) -> CachedSession.State? {
        if self.ends(entry) { return .ended }
        return self.changed.contains(entry.key) ? .changed : nil
    }

    /// True when a read of the session with this key that began earlier may have found what is no longer true, whatever
    /// its subject.
    func overtake(_ key: RecordKey) -> Bool {
        self.end(key) || self.changed.contains(key)
    }

    private func end(_ key: RecordKey) -> Bool {
        self.lineages.contains(key.lineage) || self.sessions.contains(key)
    }
}
