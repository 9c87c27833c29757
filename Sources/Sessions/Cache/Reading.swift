/// A read of a session that is under way, so that an end can overtake it.
///
/// The answer to a read and the news of an end may come over different connections, so an answer from before the end
/// can arrive after the news of it. Such an answer must not be kept.
struct Reading {
    let key: RecordKey
    /// The cache's turn when the read began: its answer is trusted for as long as that turn lasts.
    let turn: UInt64
    /// How many `Endings` had been noted when the read began.
    fileprivate let begin: Int
}

/// The ends that arrive while reads are under way. A read notes its position when it begins and looks back when its
/// answer arrives, so that a read with no end in between, which is nearly every read, costs two additions.
struct ReadingLog {
    /// How many are kept. A read during which more arrived counts as overtaken.
    private static let capacity = 1024

    private var endings: [Endings] = []
    /// The number of the oldest that is kept.
    private var first = 0
    /// The number of reads under way.
    private var readers = 0

    /// Notes the beginning of a read, before it is sent to the store.
    mutating func begin(_ key: RecordKey, turn: UInt64) -> Reading {
        self.readers += 1
        return Reading(key: key, turn: turn, begin: self.first + self.endings.count)
    }

    mutating func note(_ ended: Endings) {
        guard self.readers > 0 else { return }
        if self.endings.count == Self.capacity { self.forget() }
        self.endings.append(ended)
    }

    /// False when something ended or changed since the read began that its answer may not reflect yet.
    ///
    /// - Parameters:
    ///   - session: The session that was read: only its record tells which subject it has.
    ///   - names: Gives the store's names of a subject; called only when a subject ended.
    func confirms(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        guard reading.begin >= self.first else { return false }
        return self.endings[(reading.begin - self.first)...].allSatisfy { ended in
            guard !ended.includesAll, !ended.overtake(reading.key),
                !ended.clients.contains(where: { $0.endsClient(of: session) })
            else { return false }
            return ended.subjects.isEmpty || !names(session.subject).contains(where: ended.subjects.contains)
        }
    }

    /// Notes that a read is over.
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
