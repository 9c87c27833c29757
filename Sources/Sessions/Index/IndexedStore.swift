package import NIOCore
package import Vocabulary

/// A store that also notes each new session under its subject. It does so in the background, once the session is
/// written: what a note costs, no sign-in waits for, and a note that fails only leaves a session out of a list.
package final class IndexedStore: RecordStore, SessionIndex {
    private let base: any RecordStore
    private let authority: TokenAuthority
    private let clock: Clock
    /// How often a record is read and judged again when another sign-in changed it meanwhile.
    private static let tries = 8

    /// - Parameter authority: Names the subjects in the store.
    package init(_ base: any RecordStore, authority: TokenAuthority, clock: Clock) {
        self.base = base
        self.authority = authority
        self.clock = clock
    }

    // MARK: SessionIndex

    package func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        let records = self.keys(of: subject).map { self.base.replaceable($0, as: SubjectSessions.self, on: loop) }
        return EventLoopFuture.whenAllSucceed(records, on: loop).map { found in
            let now = self.clock.now()
            return found.flatMap { $0?.record.entries ?? [] }.filter { $0.expiresAt > now }.map(\.key)
        }
    }

    private func keys(of subject: String) -> [RecordKey] {
        self.authority.namedKeys("subject sessions", subject, SubjectSessions.kind)
    }

    private func note(_ new: NewSession, on loop: any EventLoop) {
        guard new.session.isListed, let key = self.keys(of: new.session.subject).first else { return }
        self.add(new.key, until: new.session.expiresAt, to: key, tries: Self.tries, on: loop)
    }

    private func add(_ key: RecordKey, until end: UnixTime, to place: RecordKey, tries: Int, on loop: any EventLoop) {
        let now = self.clock.now()
        self.base.replaceable(place, as: SubjectSessions.self, on: loop).flatMap { present in
            var record = present?.record ?? SubjectSessions(since: now)
            record.add(key, until: end, at: now)
            let attempt = self.authority.newAttempt()
            return self.base.replace(place, judged: present?.version, with: record, attempt: attempt, on: loop)
        }.whenSuccess { answer in
            guard answer == .changed, tries > 1 else { return }
            self.add(key, until: end, to: place, tries: tries - 1, on: loop)
        }
    }

    // MARK: What makes sessions

    package func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let created = self.base.create(session, on: loop)
        created.whenSuccess { self.note(session, on: loop) }
        return created
    }

    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        let consumed = self.base.consume(key, judged: judged, marker: marker, creating: creating, on: loop)
        consumed.whenSuccess { answer in
            guard answer == .done else { return }
            for case .session(let session) in creating { self.note(session, on: loop) }
        }
        return consumed
    }

    // MARK: The rest, unchanged

    package func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        self.base.session(key, on: loop)
    }

    package func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver) {
        self.base.session(key, on: loop, receiver)
    }

    package func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.base.replace(key, judged: judged, with: session, on: loop)
    }

    package func liveCount(
        of subject: String,
        _ sessions: [RecordKey],
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        self.base.liveCount(of: subject, sessions, on: loop)
    }

    package func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.base.touch(key, on: loop)
    }

    package func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.base.end(key, on: loop)
    }

    package func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.base.end(lineage, on: loop)
    }

    package func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        self.base.end(presented: key, reaching: reach, on: loop)
    }

    package func names(of subject: String) -> [String] { self.base.names(of: subject) }

    package func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.base.end(subject: subject, on: loop)
    }

    package func epoch(of subject: String, on loop: any EventLoop) -> EventLoopFuture<UInt64> {
        self.base.epoch(of: subject, on: loop)
    }

    package func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64> {
        self.base.eventualEpoch(of: subject, on: loop)
    }

    package func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        self.base.create(record, key: key, on: loop)
    }

    package func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>> {
        self.base.singleUse(key, as: kind, on: loop)
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.base.confirm(marker, of: key, on: loop)
    }

    package func replaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Record>?> {
        self.base.replaceable(key, as: kind, on: loop)
    }

    package func replace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.base.replace(key, judged: judged, with: record, attempt: attempt, on: loop)
    }

    package func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?> {
        self.base.eventualReplaceable(key, as: kind, on: loop)
    }

    package func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement> {
        self.base.eventualReplace(key, judged: judged, with: record, attempt: attempt, on: loop)
    }

    package func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.base.end(replaceable: key, on: loop)
    }

    package var onceMemory: OnceMemory { self.base.onceMemory }

    package func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.base.once(id, for: lifetime, on: loop)
    }

    package func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool> {
        self.base.eventualOnce(id, for: lifetime, on: loop)
    }

    package func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?> {
        self.base.document(id, as: kind, on: loop)
    }

    package func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        self.base.documents(of: kind, on: loop)
    }

    package func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.base.put(document, id: id, judged: judged, attempt: attempt, on: loop)
    }

    package func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.base.delete(key, on: loop)
    }

    package func names(of key: DocumentKey) -> [DocumentName] { self.base.names(of: key) }
}
