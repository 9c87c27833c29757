/// A read of a session that is under way: the placeholder that an invalidation finds before its answer arrives.
///
/// The answer and the invalidation may come over different connections, so an answer from before the end can arrive
/// after the news of it. Such an answer must not be kept.
final class Reading {
    let key: RecordKey
    private var isDoubted = false
    private var endedSubjects: [String] = []

    init(key: RecordKey) {
        self.key = key
    }

    /// Notes what ended while the read was under way. Whose session it is shows only in the answer.
    func note(_ ended: Invalidation) {
        switch ended {
        case .session(let key): self.isDoubted = self.isDoubted || key == self.key
        case .lineage(let lineage): self.isDoubted = self.isDoubted || lineage == self.key.lineage
        case .subject(let subject): self.endedSubjects.append(subject)
        case .all: self.isDoubted = true
        }
    }

    /// False when something ended meanwhile that the answer may not know of yet.
    func confirms(_ session: Session) -> Bool {
        !self.isDoubted && !self.endedSubjects.contains(session.subject)
    }
}
