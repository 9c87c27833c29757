/// A group of ends and changes. Each current read and each open stream checks the group once instead of once per end.
/// When a server lets ten thousand sessions expire at once, no loop compares each session with ten thousand streams.
package struct Endings: Sendable {
    package let invalidations: [Invalidation]
    /// Whether the group contains `.all`.
    let includesAll: Bool
    /// The store's names of the subjects in the group.
    let subjects: Set<String>
    private let sessions: Set<RecordKey>
    /// The ends of clients in the group.
    let clients: [Invalidation]
    /// The sessions in the group whose records changed.
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

    /// Reports whether one of the ends concerns the session of `entry`. `.all` and changes end no session.
    package func ends(_ entry: CachedSession) -> Bool {
        // A group of one end, the usual case, needs no hash.
        if self.invalidations.count == 1 { return self.invalidations[0].ends(entry) }
        return self.end(entry.key) || entry.isNamed(oneOf: self.subjects) || self.clients.contains { $0.ends(entry) }
    }

    /// Returns the new state of an entry that the group concerns. `nil` if the group does not concern it.
    func state(of entry: CachedSession) -> CachedSession.State? {
        if self.ends(entry) { return .ended }
        return self.changed.contains(entry.key) ? .changed : nil
    }

    /// Reports whether an earlier read with this key may be outdated. Does not compare subjects and clients.
    func overtake(_ key: RecordKey) -> Bool {
        self.end(key) || self.changed.contains(key)
    }

    private func end(_ key: RecordKey) -> Bool {
        self.lineages.contains(key.lineage) || self.sessions.contains(key)
    }
}
