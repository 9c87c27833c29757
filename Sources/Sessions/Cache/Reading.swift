/// A read of a session that is under way: the placeholder that an end finds before its answer arrives.
///
/// The answer and the news of an end may come over different connections, so an answer from before the end can arrive
/// after the news of it. Such an answer must not be kept.
struct Reading {
    /// Of a foreign token, whose lineage its provider's answer tells, the key is completed when that is there.
    var key: RecordKey
    /// The cache's turn when the read began: what it brings is trusted for as long as that turn lasts.
    let turn: UInt64
    /// How many `Endings` had been noted when it began.
    fileprivate let begin: Int
}

/// What has ended while reads are under way. A read notes where it begins and looks back when its answer is there, so that
/// one without an end in between, nearly every one, costs two additions.
struct ReadingLog {
    /// So many are kept; a read during which more came counts as overtaken.
    private static let capacity = 1024

    private var endings: [Endings] = []
    /// The number of the first that is kept.
    private var first = 0
    /// Reads under way.
    private var readers = 0

    /// Enters a read before it is sent to the store.
    mutating func begin(_ key: RecordKey, turn: UInt64) -> Reading {
        self.readers += 1
        return Reading(key: key, turn: turn, begin: self.first + self.endings.count)
    }

    mutating func note(_ ended: Endings) {
        guard self.readers > 0 else { return }
        if self.endings.count == Self.capacity { self.forget() }
        self.endings.append(ended)
    }

    /// False when something ended since the read began that its answer may not know of yet.
    ///
    /// - Parameters:
    ///   - session: what it brought: whose session it is shows only here.
    ///   - names: what the store calls a subject; asked only when a subject ended.
    func confirms(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        guard reading.begin >= self.first else { return false }
        return self.endings[(reading.begin - self.first)...].allSatisfy { ended in
            guard !ended.includesAll, !ended.end(reading.key) else { return false }
            return ended.subjects.isEmpty || !names(session.subject).contains(where: ended.subjects.contains)
        }
    }

    /// One read less is under way.
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
