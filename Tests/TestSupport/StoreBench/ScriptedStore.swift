package import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// A memory store that a test scripts. It counts calls, fails on demand, holds reads until the test answers them, and
/// can run a test's closure before a consumption.
package final class ScriptedStore: RecordStore {
    /// How it differs from the memory store. A test can change this at any time.
    package struct Script: Sendable {
        /// The error of every call from now on, or only after `callsBeforeFailure` more calls.
        package var failure: StoreError?
        /// How many calls still succeed while `failure` is set.
        package var callsBeforeFailure = 0
        /// Ends of sessions and of families fail.
        package var failsEnds = false
        /// Answers of `consume` that are returned before the real ones.
        package var consumptions: [Consumption] = []
        /// How many answers to creations of a session are lost: the store has acted, but the caller gets an error.
        package var lostCreations = 0
        /// How many answers of `consume` are lost: the store has acted, but the caller gets an error.
        package var lostAnswers = 0
        /// The same for `replace` of a replaceable record.
        package var lostReplacements = 0
        /// New documents find no room.
        package var isFullOfDocuments = false
        /// The store acts, but cannot promise to remember what it did.
        package var isUnconfirmed = false
        /// Runs once, before the next `consume` reaches the store.
        package var beforeConsume: (@Sendable () async throws -> Void)?
        /// Runs once, before the next `replace` of a replaceable record reaches the store.
        package var beforeReplace: (@Sendable () async throws -> Void)?
        /// The test answers each read of a session (`takeRead`).
        package var holdsReads = false
        /// The prefixes of a subject's names: it has one name for each.
        package var aliases = [""]
    }

    /// A read that the test has to answer.
    package struct Read {
        /// The key that was asked for.
        package let key: RecordKey
        /// The promise of the answer.
        package let answer: EventLoopPromise<Stored<Session>?>
    }

    private struct State {
        var script = Script()
        var calls = 0
        var confirmations = 0
        var namings = 0
        var touches: [RecordKey] = []
        var notes: [RecordKey] = []
        var replacements: [AttemptID] = []
        var reads: [Read] = []
    }

    private let base: MemoryStore
    private let state = Mutex(State())

    /// A store with a script that changes nothing yet.
    package init(_ base: MemoryStore) {
        self.base = base
    }

    /// A scripted store with its own memory store, which has room for `room` sessions and `room` markers.
    ///
    /// - Parameter caches: Told of what ends.
    package convenience init(clock: Clock, room: Int = 10_000, caches: SessionCaches = SessionCaches()) {
        self.init(MemoryStore(maxSessions: room, maxMarkers: room, clock: clock, caches: caches))
    }

    // MARK: Scripting

    /// Changes the script.
    package func change(_ body: @Sendable (inout Script) -> Void) {
        self.state.withLock { body(&$0.script) }
    }

    /// From now on every call fails with `error`; nil ends the failures.
    package func fail(with error: StoreError?) {
        self.change { ($0.failure, $0.callsBeforeFailure) = (error, 0) }
    }

    /// Takes the oldest held read, for the test to answer; nil if there is none.
    package func takeRead() -> Read? {
        self.state.withLock { $0.reads.isEmpty ? nil : $0.reads.removeFirst() }
    }

    // MARK: Observing

    /// The number of calls, including those that failed.
    package var calls: Int { self.state.withLock { $0.calls } }
    /// How often it was asked to confirm that it remembers an action.
    package var confirmations: Int { self.state.withLock { $0.confirmations } }
    /// How often it was asked for a subject's names.
    package var namings: Int { self.state.withLock { $0.namings } }
    /// The sessions that were put into lists again.
    package var notes: [RecordKey] { self.state.withLock { $0.notes } }
    /// The sessions whose use was reported to it, in order.
    package var touches: [RecordKey] { self.state.withLock { $0.touches } }
    /// The attempts at replacing a replaceable record, in order, a repeated one each time.
    package var replacements: [AttemptID] { self.state.withLock { $0.replacements } }
    /// The number of held reads that the test has not taken yet.
    package var waiting: Int { self.state.withLock { $0.reads.count } }
    /// The number of sessions in the memory store.
    package var sessionCount: Int { self.base.sessionCount }

    // MARK: SessionStore

    private func guarded<Answer: Sendable>(
        on loop: any EventLoop,
        _ body: () -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        let failure: StoreError? = self.state.withLock { state in
            state.calls += 1
            guard let failure = state.script.failure else { return nil }
            guard state.script.callsBeforeFailure == 0 else {
                state.script.callsBeforeFailure -= 1
                return nil
            }
            return failure
        }
        return failure.map { loop.makeFailedFuture($0) } ?? body()
    }

    package func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        self.guarded(on: loop) {
            let held: EventLoopFuture<Stored<Session>?>? = self.state.withLock { state in
                guard state.script.holdsReads else { return nil }
                let promise = loop.makePromise(of: Stored<Session>?.self)
                state.reads.append(Read(key: key, answer: promise))
                return promise.futureResult
            }
            return held ?? self.base.session(key, on: loop)
        }
    }

    package func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver) {
        self.session(key, on: loop).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let stored?): receiver(.success(.live(stored)))
            case .failure(let error): receiver(.failure(error as? StoreError ?? .unavailable))
            case .success(nil):
                self.base.session(key, on: loop) { finding in
                    receiver(finding.map { $0.session == nil ? $0 : .absent(.sessionUnknown) })
                }
            }
        }
    }

    package func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.guarded(on: loop) {
            let isLost = self.state.withLock { state in
                defer { state.script.lostCreations = max(0, state.script.lostCreations - 1) }
                return state.script.lostCreations > 0
            }
            let created = self.base.create(session, on: loop)
            return isLost ? created.flatMapThrowing { throw StoreError.unavailable } : created
        }
    }

    package func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.guarded(on: loop) { self.base.replace(key, judged: judged, with: session, on: loop) }
    }

    package func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64> {
        .later(self.guarded(on: loop) { self.base.epoch(of: subject, on: loop) })
    }

    package func now(on loop: any EventLoop) -> EventLoopFuture<UnixTime> {
        self.guarded(on: loop) { self.base.now(on: loop) }
    }

    package func note(_ session: NewSession, on loop: any EventLoop) {
        self.state.withLock { $0.notes.append(session.key) }
    }

    package func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.guarded(on: loop) {
            self.state.withLock { $0.touches.append(key) }
            return self.base.touch(key, on: loop)
        }
    }

    package func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.ending(on: loop) { self.base.end(key, on: loop) }
    }

    package func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.ending(on: loop) { self.base.end(lineage, on: loop) }
    }

    package func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        self.ending(on: loop) { self.base.end(presented: key, reaching: reach, on: loop) }
    }

    private func ending<Answer: Sendable>(
        on loop: any EventLoop,
        _ end: () -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        self.guarded(on: loop) {
            self.state.withLock { $0.script.failsEnds } ? loop.makeFailedFuture(StoreError.unavailable) : end()
        }
    }

    package func names(of subject: String) -> [String] {
        let aliases = self.state.withLock { state in
            state.namings += 1
            return state.script.aliases
        }
        return self.base.names(of: subject).flatMap { name in aliases.map { $0 + name } }
    }

    package func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.guarded(on: loop) { self.base.end(subject: subject, on: loop) }
    }

    package func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        self.guarded(on: loop) { self.base.create(record, key: key, on: loop) }
    }

    package func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>> {
        self.guarded(on: loop) { self.base.singleUse(key, as: kind, on: loop) }
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.guarded(on: loop) {
            let isUnconfirmed = self.state.withLock { state in
                state.confirmations += 1
                return state.script.isUnconfirmed
            }
            if isUnconfirmed { return loop.makeFailedFuture(StoreError.unavailable) }
            return self.base.confirm(marker, of: key, on: loop)
        }
    }

    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        self.guarded(on: loop) {
            let (scripted, before, isLost) = self.state.withLock { state in
                let before = state.script.beforeConsume
                state.script.beforeConsume = nil
                let isLost = state.script.lostAnswers > 0 || state.script.isUnconfirmed
                if state.script.lostAnswers > 0 { state.script.lostAnswers -= 1 }
                let scripted = state.script.consumptions.isEmpty ? nil : state.script.consumptions.removeFirst()
                return (scripted, before, isLost)
            }
            if let scripted { return loop.makeSucceededFuture(scripted) }
            let ready = before.map { before in loop.makeFutureWithTask { try await before() } }
            return (ready ?? loop.makeSucceededVoidFuture()).flatMap {
                self.base.consume(key, judged: judged, marker: marker, creating: creating, on: loop)
            }.flatMapThrowing { consumption in
                guard !isLost else { throw StoreError.unavailable }
                return consumption
            }
        }
    }

    // MARK: SessionIndex

    package func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        self.guarded(on: loop) { self.base.sessions(of: subject, on: loop) }
    }

    package func sessions(with address: EmailAddress, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        self.guarded(on: loop) { self.base.sessions(with: address, on: loop) }
    }

    package func sessions(from place: IndexPlace?, on loop: any EventLoop) -> EventLoopFuture<SessionPage> {
        self.guarded(on: loop) { self.base.sessions(from: place, on: loop) }
    }

    package func sample(on loop: any EventLoop) -> EventLoopFuture<SessionSample> {
        self.guarded(on: loop) { self.base.sample(on: loop) }
    }

    // MARK: ReplaceableStore

    package func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?> {
        .later(self.guarded(on: loop) { self.base.replaceable(key, as: kind, on: loop) })
    }

    package func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement> {
        let replaced: EventLoopFuture<Replacement> = self.guarded(on: loop) {
            let (before, isLost) = self.state.withLock { state in
                let before = state.script.beforeReplace
                state.script.beforeReplace = nil
                state.replacements.append(attempt)
                let isLost = state.script.lostReplacements > 0
                if isLost { state.script.lostReplacements -= 1 }
                return (before, isLost)
            }
            let ready = before.map { before in loop.makeFutureWithTask { try await before() } }
            let answer = (ready ?? loop.makeSucceededVoidFuture()).flatMap {
                self.base.replace(key, judged: judged, with: record, attempt: attempt, on: loop)
            }
            return isLost ? answer.flatMapThrowing { _ in throw StoreError.unavailable } : answer
        }
        return .later(replaced)
    }

    package func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.guarded(on: loop) { self.base.end(replaceable: key, on: loop) }
    }

    // MARK: OnceStore

    package var onceMemory: OnceMemory { self.base.onceMemory }

    package func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool> {
        .later(self.guarded(on: loop) { self.base.once(id, for: lifetime, on: loop) })
    }

    // MARK: DocumentStore

    package func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?> {
        self.guarded(on: loop) { self.base.document(id, as: kind, on: loop) }
    }

    package func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        self.guarded(on: loop) { self.base.documents(of: kind, on: loop) }
    }

    package func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        if judged == nil, self.state.withLock({ $0.script.isFullOfDocuments }) {
            return loop.makeFailedFuture(StoreError.full)
        }
        return self.guarded(on: loop) { self.base.put(document, id: id, judged: judged, attempt: attempt, on: loop) }
    }

    package func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.guarded(on: loop) { self.base.delete(key, on: loop) }
    }

    package func names(of key: DocumentKey) -> [DocumentName] { self.base.names(of: key) }
}
