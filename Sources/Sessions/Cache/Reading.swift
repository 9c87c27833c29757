/// A read of a session that is under way: the placeholder that an invalidation finds before its answer arrives.
///
/// The answer and the invalidation may come over different connections, so an answer from before the end can arrive
/// after the news of it. Such an answer must not be kept.
final class Reading {
    let key: RecordKey
    /// The cache's turn when the read began: what it brings is trusted for as long as that turn lasts.
    let turn: UInt64
    private var isOvertaken = false
    private var endedSubjects: [String] = []

    init(key: RecordKey, turn: UInt64) {
        self.key = key
        self.turn = turn
    }

    /// Notes what ended while the read was under way. Whose session it is shows only in the answer.
    func note(_ ended: Endings) {
        if ended.includesAll || ended.end(self.key) { self.isOvertaken = true }
        self.endedSubjects.append(contentsOf: ended.subjects)
    }

    /// False when something ended meanwhile that the answer may not know of yet.
    ///
    /// - Parameter names: what the store calls a subject; asked only when a subject ended.
    func confirms(_ session: Session, names: (String) -> [String]) -> Bool {
        if self.isOvertaken { return false }
        return self.endedSubjects.isEmpty || !names(session.subject).contains(where: self.endedSubjects.contains)
    }
}
