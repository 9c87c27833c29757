package import Calls
import DequeModule
package import NIOCore
import Observability
import Settings
import Synchronization
package import Vocabulary

/// Sends logout tokens to clients in the background (OpenID Connect Back-Channel Logout 1.0 2.5).
///
/// Each client has its own queue, so that a slow client delays no other client. If a client does not answer, or answers
/// with 429 or a 5xx status, a new token is sent after 5 seconds, and another one after 30 more seconds. Waiting tokens
/// are lost when the process ends. The sender lives as long as the process, across reloads.
package final class LogoutTokenSender: ClientNotifier {
    /// The dependencies that a reload replaces.
    package struct Plan: Sendable {
        let clients: ClientRegistry
        let issuers: [String: String]
        let keys: IDTokenSigning
        let transport: any CallTransport

        /// - Parameters:
        ///   - issuers: The issuer of id_tokens for the users of each realm, by the realm's name.
        ///   - keys: The keys of id_tokens.
        package init(
            clients: ClientRegistry,
            issuers: [String: String],
            keys: IDTokenSigning,
            transport: any CallTransport
        ) {
            self.clients = clients
            self.issuers = issuers
            self.keys = keys
            self.transport = transport
        }

        /// Returns the settings of the session's client. `nil` if the client must not be notified.
        func client(of session: ClientSession) -> ClientSettings? {
            self.clients.snapshot.client(session.clientID).flatMap { client in
                client.backchannelLogoutURI != nil && client.isFor(session.realm) ? client : nil
            }
        }
    }

    /// The maximum number of tokens that wait or are being sent. Each client may use only a share (`ShareRule`).
    package static let capacity = 10_000
    /// The maximum number of tokens that are sent to one client at the same time.
    private static let parallel = 8
    /// The pauses before the second and the third try.
    private static let pauses: [Duration] = [.seconds(5), .seconds(30)]
    /// The time limit of one try.
    private static let patience = Duration.seconds(2)
    /// The maximum size of an answer in bytes.
    private static let answerLimit = 4096

    private struct Message: Sendable {
        let session: ClientSession
        var number = 1
        /// Succeeds after the first try. `nil` for retries.
        var firstTry: EventLoopPromise<Void>?
    }

    private struct Line {
        var waiting: Deque<Message> = []
        var senders = 0
    }

    private struct State {
        var plan: Plan?
        var lines: [String: Line] = [:]
        var places: Shares<String>
        /// The tasks that wait before a retry, by number.
        var pauses: [Int: Task<Void, Never>] = [:]
        var pauseCount = 0
        var isDraining = false
    }

    package let longestWait: TimeAmount
    private let clock: Clock
    private let journal: LogoutTokenJournal
    private let pause: @Sendable (Duration) async -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - clock: The clock of id_tokens.
    ///   - longestWait: The maximum time, in real time, that a user's sign-out waits for first tries.
    ///   - pause: Waits between tries, unless the task is cancelled.
    package init(
        clock: Clock,
        journal: LogoutTokenJournal,
        capacity: Int = LogoutTokenSender.capacity,
        longestWait: TimeAmount = .seconds(2),
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.clock = clock
        self.journal = journal
        self.longestWait = longestWait
        self.pause = pause
        self.state = Mutex(State(places: Shares(ShareRule(of: capacity))))
    }

    /// Uses this plan until the next reload.
    package func adopt(_ plan: Plan) { self.state.withLock { $0.plan = plan } }

    private var plan: Plan? { self.state.withLock { $0.plan } }

    package var isNeeded: Bool { self.plan?.clients.snapshot.hasLogoutURIs ?? false }

    /// Whether any token waits or is being sent.
    package var isBusy: Bool { self.state.withLock { $0.places.total > 0 } }

    /// Drops all retries, waits until `deadline` for first tries, and drops the tokens that were not sent by then.
    package func drain(until deadline: ContinuousClock.Instant) async {
        let pauses = self.state.withLock { state in
            state.isDraining = true
            return Array(state.pauses.values)
        }
        for pause in pauses { pause.cancel() }
        while ContinuousClock.now < deadline, self.isBusy { try? await Task.sleep(for: .milliseconds(20)) }
        let late = self.state.withLock { state in
            let late = state.lines.values.flatMap(\.waiting)
            for client in Array(state.lines.keys) { state.lines[client]?.waiting = [] }
            return late
        }
        for message in late {
            message.firstTry?.succeed()
            self.end(message, .dropped, Self.stopping)
        }
    }

    package func notify(
        _ ended: [ClientSession],
        isWholeUser: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        guard let plan = self.plan else { return loop.makeSucceededVoidFuture() }
        var known: Set<ClientSession> = []
        var tries: [EventLoopFuture<Void>] = []
        for var session in ended {
            guard let client = plan.client(of: session) else { continue }
            if isWholeUser, !client.requiresLogoutSession { session.sessionID = nil }
            guard known.insert(session).inserted else { continue }
            let firstTry = loop.makePromise(of: Void.self)
            tries.append(firstTry.futureResult)
            self.admit(Message(session: session, firstTry: firstTry))
        }
        return EventLoopFuture.andAllComplete(tries, on: loop)
    }

    // MARK: Lines

    /// Adds a new token to its client's queue. Drops the token if a limit is reached.
    private func admit(_ message: Message) {
        let isAdmitted = self.state.withLock { state in
            guard state.places.total < state.places.rule.limit, state.places.admits(message.session.clientID) else {
                return false
            }
            state.places.take(message.session.clientID)
            return true
        }
        guard isAdmitted else {
            message.firstTry?.succeed()
            return self.journal.note(.dropped, message.session, detail: "too many logout tokens wait")
        }
        self.append(message)
    }

    private func append(_ message: Message) {
        let client = message.session.clientID
        let needsSender = self.state.withLock { state in
            state.lines[client, default: Line()].waiting.append(message)
            guard state.lines[client, default: Line()].senders < Self.parallel else { return false }
            state.lines[client]?.senders += 1
            return true
        }
        guard needsSender else { return }
        Task.detached {
            while let next = self.next(for: client) { await self.send(next) }
        }
    }

    /// Returns the next token of a client's queue. If the queue is empty, returns `nil`, and the caller must stop
    /// sending.
    private func next(for client: String) -> Message? {
        self.state.withLock { state in
            if let next = state.lines[client]?.waiting.popFirst() { return next }
            state.lines[client]?.senders -= 1
            if state.lines[client]?.senders == 0 { state.lines[client] = nil }
            return nil
        }
    }

    // MARK: Tries

    private enum Outcome {
        case accepted
        /// The client no longer exists or no longer wants tokens.
        case unwanted
        case refused(String)
        /// A retry may succeed.
        case later(String)
    }

    private func send(_ message: Message) async {
        let outcome = await self.outcome(of: message.session)
        message.firstTry?.succeed()
        switch outcome {
        case .accepted: self.end(message, .ok)
        case .unwanted: self.end(message, nil)
        case .refused(let detail): self.end(message, .refused, detail)
        case .later(let detail) where message.number > Self.pauses.count: self.end(message, .failed, detail)
        case .later(let detail):
            self.journal.note(.later, message.session, detail: detail)
            self.retry(message)
        }
    }

    private func retry(_ message: Message) {
        let wait = Self.pauses[message.number - 1]
        let next = Message(session: message.session, number: message.number + 1)
        let isDraining = self.state.withLock { state in
            guard !state.isDraining else { return true }
            state.pauseCount += 1
            let number = state.pauseCount
            state.pauses[number] = Task.detached {
                await self.pause(wait)
                self.resume(next, after: number)
            }
            return false
        }
        if isDraining { self.end(message, .dropped, Self.stopping) }
    }

    private func resume(_ message: Message, after pause: Int) {
        let isDraining = self.state.withLock { state in
            state.pauses[pause] = nil
            return state.isDraining
        }
        if isDraining { self.end(message, .dropped, Self.stopping) } else { self.append(message) }
    }

    private static let stopping = "the gateway stops"

    /// - Parameter result: The result to record. `nil` if the client was not to be notified any longer.
    private func end(_ message: Message, _ result: ClientLogoutResult?, _ detail: String = "") {
        if let result { self.journal.note(result, message.session, detail: detail) }
        self.state.withLock { $0.places.giveBack(message.session.clientID) }
    }

    private func outcome(of session: ClientSession) async -> Outcome {
        guard let plan = self.plan, let url = plan.client(of: session)?.backchannelLogoutURI,
            let issuer = plan.issuers[session.realm]
        else { return .unwanted }
        guard let key = try? await plan.keys.signer() else { return .later("there is no key to sign with") }
        let token = ClientLogoutToken(issuer: issuer, session: session, issuedAt: self.clock.now())
        let form = await offLoop { "logout_token=\(token.signed(by: key))" }
        let call = OutgoingCall(
            "POST",
            url,
            fields: [("content-type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8),
            bodyLimit: Self.answerLimit,
            timeLimit: Self.patience
        )
        do throws(CallError) {
            return Self.outcome(try await plan.transport.send(call).status)
        } catch {
            // Only the status matters, even if the body of the answer is too long.
            return error.status.map(Self.outcome) ?? .later(error.detail)
        }
    }

    private static func outcome(_ status: Int) -> Outcome {
        switch status {
        case 200, 204: .accepted
        case 429, 500...: .later("status \(status)")
        default: .refused("status \(status)")
        }
    }
}
