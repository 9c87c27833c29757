/// A read of a session that is under way.
///
/// The answer and the report of an end may use different connections. So an answer from before the end can arrive after
/// the report, and must not be cached.
struct Reading {
    let key: RecordKey
    /// The cache's turn when the read began.
    let turn: UInt64
    /// The number of `Endings` that were logged before the read began.
    fileprivate let begin: Int
}

/// The ends that arrive during reads. When the answer to a read arrives, the ends since its beginning are checked.
struct ReadingLog {
    /// The maximum number of logged groups. If more arrive during a read, its answer is treated as outdated.
    private static let capacity = 1024

    private var endings: [Endings] = []
    /// The number of the oldest logged group.
    private var first = 0
    /// The number of reads under way.
    private var readers = 0

    /// Records the beginning of a read. Must be called before the store is asked.
    mutating func begin(_ key: RecordKey, turn: UInt64) -> Reading {
        self.readers += 1
        return Reading(key: key, turn: turn, begin: self.first + self.endings.count)
    }

    mutating func note(_ ended: Endings) {
        guard self.readers > 0 else { return }
        if self.endings.count == Self.capacity { self.forget() }
        self.endings.append(ended)
    }

    /// Reports whether the answer to a read is current: nothing that concerns the session ended or changed meanwhile.
    ///
    /// - Parameters:
    ///   - session: The session in the answer. It tells the subject.
    ///   - names: Returns the store's names of a subject. Called only if a subject ended.
    func confirms(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        guard reading.begin >= self.first else { return false }
        return self.endings[(reading.begin - self.first)...].allSatisfy { ended in
            guard !ended.includesAll, !ended.overtake(reading.key),
                !ended.clients.contains(where: { $0.endsClient(of: session) })
            else { return false }
            return ended.subjects.isEmpty || !names(session.subject).contains(where: ended.subjects.contains)
        }
    }

    /// Records the end of a read.
    mutating func end() {
        self.readers -= 1
        if self.readers == 0 { self.forget() }
    }

    private mutating func forget() {
        guard !self.endings.isEmpty else { return }
        self.first += self.endings.count
        self.endings.removeAll(keepingCapacity: true)
    }
}
