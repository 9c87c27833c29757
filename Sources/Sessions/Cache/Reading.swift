/// A current read of a session. An end can overtake it.
///
/// The answer to a read and the report of an end may use different connections, so an answer from before the end can
/// arrive after the report. Such an answer must not be kept.
struct Reading {
    let key: RecordKey
    /// The cache's turn when the read began. The answer is trusted until that turn ends.
    let turn: UInt64
    /// The number of `Endings` that had been noted when the read began.
    fileprivate let begin: Int
}

/// The ends that arrive during reads. A read notes its position when it begins and looks back when its answer arrives.
/// Nearly every read sees no end in between and costs only two additions.
struct ReadingLog {
    /// The number of groups that are kept. If more arrive during a read, the read is treated as overtaken.
    private static let capacity = 1024

    private var endings: [Endings] = []
    /// The number of the oldest group that is kept.
    private var first = 0
    /// The number of current reads.
    private var readers = 0

    /// Records the beginning of a read, before it is sent to the store.
    mutating func begin(_ key: RecordKey, turn: UInt64) -> Reading {
        self.readers += 1
        return Reading(key: key, turn: turn, begin: self.first + self.endings.count)
    }

    mutating func note(_ ended: Endings) {
        guard self.readers > 0 else { return }
        if self.endings.count == Self.capacity { self.forget() }
        self.endings.append(ended)
    }

    /// Reports whether the answer to a read is current: nothing that concerns it ended or changed since the read began.
    ///
    /// - Parameters:
    ///   - session: The session that was read. Only its record shows which subject it has.
    ///   - names: Returns the store's names of a subject; called only if a subject ended.
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
