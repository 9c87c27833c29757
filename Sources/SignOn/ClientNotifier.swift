package import NIOCore
import Sessions
import Synchronization
import Vocabulary

/// Notifies clients that their sessions have ended (OpenID Connect Back-Channel Logout 1.0).
package protocol ClientNotifier: Sendable {
    /// Whether any client is to be notified.
    var isNeeded: Bool { get }
    /// The maximum time for which a user's sign-out waits for the first notifications.
    var longestWait: TimeAmount { get }

    /// Notifies the clients in the background, with retries.
    ///
    /// - Parameter isWholeUser: Whether all sessions of the user have ended.
    /// - Returns: A future that succeeds when each client was tried once. It never fails.
    func notify(_ ended: [ClientSession], isWholeUser: Bool, on loop: any EventLoop) -> EventLoopFuture<Void>
}

/// The notifications that a user's sign-out waits for.
private final class AwaitedNotifications: Sendable {
    /// The notifications of the sign-out in the current task. `nil` if nobody waits.
    @TaskLocal static var current: AwaitedNotifications?

    private let futures = Mutex<[EventLoopFuture<Void>]>([])

    func add(_ notifications: EventLoopFuture<Void>) { self.futures.withLock { $0.append(notifications) } }

    func wait(atMost time: TimeAmount, on loop: any EventLoop) async {
        let futures = self.futures.withLock { $0 }
        guard !futures.isEmpty else { return }
        let over = loop.makePromise(of: Void.self)
        let limit = loop.scheduleTask(in: time) { over.succeed() }
        EventLoopFuture.andAllComplete(futures, on: loop).whenComplete { _ in
            limit.cancel()
            over.succeed()
        }
        try? await over.futureResult.get()
    }
}

/// Notes the sessions of clients, and notifies the clients after the sessions have ended.
extension RecordCaller {
    /// The maximum number of tries to write a record while others change it.
    private static var tries: Int { 16 }

    private var notifier: (any ClientNotifier)? { self.records.notifier.flatMap { $0.isNeeded ? $0 : nil } }

    // MARK: Noting

    /// Notes that a client gets tokens in a user's session, so that the client is notified when its own or the user's
    /// session ends. Must be called before the client gets the tokens.
    ///
    /// - Parameter own: The client's session. Its id is the `sid` in the client's id_tokens.
    func noteClient(_ clientID: String, gets own: Session, in user: NewSession) async throws(NotDone) {
        let root = user.session.root(user.key)
        let entry = ClientSessions.Entry(clientID: clientID, sessionID: own.id, root: root)
        try await self.note([entry], in: user.session)
        if own.lineage != user.session.lineage { try await self.note([entry], in: own) }
        if user.key.kind == .foreignSession {
            let keys = self.authority.clientSessionKeys(of: user.session.subject)
            try await self.note([entry], in: user.session, under: keys)
        }
    }

    /// - Parameter keys: The keys of the record. `nil` for the keys of the session's lineage.
    private func note(
        _ entries: [ClientSessions.Entry],
        in session: Session,
        under keys: [RecordKey]? = nil
    ) async throws(NotDone) {
        guard let key = (keys ?? self.authority.clientSessionKeys(in: session.lineage)).first else { return }
        for _ in 0..<Self.tries {
            let present = try await self.clients(key)
            var next = present?.record ?? ClientSessions(of: session, since: self.clock.now())
            for entry in entries { next.add(entry, until: session.expiresAt) }
            if try await self.replace(key, present, with: next) == .done { return }
        }
        throw NotDone(.storeUnavailable)
    }

    // MARK: Notifying

    /// Runs a user's sign-out, and then waits for the first notifications that it causes, but not longer than
    /// `ClientNotifier.longestWait`.
    func awaitingNotifications<Value: Sendable>(
        _ signOut: () async throws(NotDone) -> Value
    ) async throws(NotDone) -> Value {
        guard let notifier = self.notifier, AwaitedNotifications.current == nil else { return try await signOut() }
        let notifications = AwaitedNotifications()
        let result: Result<Value, NotDone> = await AwaitedNotifications.$current.withValue(notifications) {
            do throws(NotDone) {
                return .success(try await signOut())
            } catch {
                return .failure(error)
            }
        }
        await notifications.wait(atMost: notifier.longestWait, on: self.loops.any())
        return try result.get()
    }

    /// Notifies the clients of lineages that have ended, in the background.
    ///
    /// - Parameter hasEnded: Returns whether an entry has ended.
    func notifyClients(
        of lineages: [Lineage],
        where hasEnded: @escaping @Sendable (ClientSessions.Entry) -> Bool = { _ in true }
    ) {
        self.notify(lineages.flatMap(self.authority.clientSessionKeys(in:)), where: hasEnded)
    }

    /// Ends all sessions of a subject, and notifies their clients in the background.
    func endAndNotify(subject: String) async throws(NotDone) {
        let keys = await self.clientKeys(of: subject)
        try await self.ask { store, loop in store.end(subject: subject, on: loop) }
        self.notify(keys, isWholeUser: true) { _ in true }
    }

    /// Notifies the clients of a subject whose sessions are all treated as ended, in the background.
    func notifyClients(ofAll subject: String) async {
        self.notify(await self.clientKeys(of: subject), isWholeUser: true) { _ in true }
    }

    private func clientKeys(of subject: String) async -> [RecordKey] {
        guard self.notifier != nil else { return [] }
        let sessions = try? await self.ask { store, loop in store.sessions(of: subject, on: loop) }
        return (sessions ?? []).map(\.lineage).flatMap(self.authority.clientSessionKeys(in:))
            + self.authority.clientSessionKeys(of: subject)
    }

    /// - Parameters:
    ///   - keys: The keys of the records.
    ///   - isWholeUser: Whether all sessions of the user have ended.
    ///   - hasEnded: Returns whether an entry has ended.
    private func notify(
        _ keys: [RecordKey],
        isWholeUser: Bool = false,
        where hasEnded: @escaping @Sendable (ClientSessions.Entry) -> Bool
    ) {
        guard let notifier = self.notifier, !keys.isEmpty else { return }
        let loop = self.loops.any()
        let notifications = loop.makePromise(of: Void.self)
        AwaitedNotifications.current?.add(notifications.futureResult)
        // Notifications outlive the request, so they must not keep its task-local values.
        Task.detached {
            var ended: [ClientSession] = []
            for key in Set(keys) { ended += await self.removed(from: key, where: hasEnded) }
            notifier.notify(ended, isWholeUser: isWholeUser, on: loop).cascade(to: notifications)
        }
    }

    /// Notifies the clients of an ended session and of the sessions that ended together with it.
    ///
    /// - Parameter clientID: A client that is not notified, because it ended the session itself.
    func notifyClients(of ended: NewSession, besides clientID: String? = nil) {
        let ends = ended.session.clientEnds(ended.key)
        self.notifyClients(of: [ended.session.lineage]) { $0.clientID != clientID && ends($0) }
    }

    /// Attaches the clients of ended sessions to the browser's new session. Notifies the clients instead if no new
    /// session exists or its user has another realm or id, because the clients' id_tokens contain the earlier id as
    /// `sub`.
    func moveClients(of former: [NewSession], to next: NewSession?) {
        guard let notifier = self.notifier else { return }
        for ended in former {
            let user = ended.session.identity
            guard let next, next.session.identity.realm == user.realm, next.session.identity.id.isExactly(user.id)
            else {
                self.notifyClients(of: ended)
                continue
            }
            let (root, loop) = (next.session.root(next.key), self.loops.any())
            Task.detached {
                let ends = ended.session.clientEnds(ended.key)
                var moved: [ClientSession] = []
                for key in self.authority.clientSessionKeys(in: ended.session.lineage) {
                    moved += await self.removed(from: key, where: ends)
                }
                guard !moved.isEmpty else { return }
                let entries = moved.map {
                    ClientSessions.Entry(clientID: $0.clientID, sessionID: $0.sessionID ?? "", root: root)
                }
                do throws(NotDone) {
                    try await self.note(entries, in: next.session)
                } catch {
                    // Without the note, no later sign-out would notify these clients.
                    _ = notifier.notify(moved, isWholeUser: false, on: loop)
                }
            }
        }
    }

    // MARK: The record

    /// Removes the ended entries from a record, and returns them. If the store fails, clients may be notified twice or
    /// not at all.
    private func removed(
        from key: RecordKey,
        where hasEnded: (ClientSessions.Entry) -> Bool
    ) async -> [ClientSession] {
        for _ in 0..<Self.tries {
            guard let present = try? await self.clients(key) else { break }
            var next = present.record
            let ended = next.remove(at: self.clock.now(), where: hasEnded)
            guard !ended.isEmpty, (try? await self.replace(key, present, with: next)) == .changed else { return ended }
        }
        return []
    }

    private func clients(_ key: RecordKey) async throws(NotDone) -> Stored<ClientSessions>? {
        try await self.ask { store, loop in store.replaceable(key, as: ClientSessions.self, on: loop) }
    }

    private func replace(
        _ key: RecordKey,
        _ present: Stored<ClientSessions>?,
        with next: ClientSessions
    ) async throws(NotDone) -> Replacement {
        let attempt = self.authority.newAttempt()
        return try await self.ask { store, loop in
            store.replace(key, judged: present?.version, with: next, attempt: attempt, on: loop)
        }
    }
}

extension Session {
    /// Returns the key under which this session's clients are noted: its own key, or its family's first session.
    ///
    /// - Parameter key: The key of this session.
    fileprivate func root(_ key: RecordKey) -> RecordKey { self.familyRoot(key) ?? key }

    /// Returns a function that reports whether an entry of this lineage ends with this session.
    fileprivate func clientEnds(_ key: RecordKey) -> @Sendable (ClientSessions.Entry) -> Bool {
        let (isWhole, id, root) = (self.endReach == .lineage, self.id, self.root(key))
        return { isWhole || $0.sessionID == id || $0.root == root }
    }
}
