import Foundation
import NIOCore
import NIOPosix
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A provider that rotates refresh tokens: each is good once, and a second use ends the user's session (RFC 9700
/// 4.14.2). A test scripts its answers.
final class RotatingProvider: RefreshingProvider {
    /// What happens to one request.
    enum Fate: Sendable {
        case answered
        /// The request is carried out, and the answer is lost.
        case answerLost
        /// The request does not arrive, and the gateway cannot know that.
        case requestLost
        case later(Duration?)
        case ended
        /// The answer names another user.
        case otherUser
    }

    private struct State {
        var fates: [Fate] = []
        var presented: [Secret] = []
        var revoked: [ProviderTokenSet] = []
        var issued = 1
        var isPunished = false
        var claims = ["name": "Alice"]
        var isKnownInPart = false
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    let name = "https://idp.example.com"
    let clock: MovableClock
    let life: Duration
    /// Whether each refresh brings another refresh token. If not, the first stays valid.
    let rotates: Bool
    private let state = Mutex(State())

    init(_ clock: MovableClock, life: Duration = .seconds(300), rotates: Bool = true) {
        self.clock = clock
        self.life = life
        self.rotates = rotates
    }

    // MARK: Scripting

    func script(_ fates: Fate...) { self.state.withLock { $0.fates += fates } }

    /// Drops what was scripted and has not happened.
    func clearScript() { self.state.withLock { $0.fates = [] } }

    /// The user's claims from now on.
    ///
    /// - Parameter inPart: Whether others are not known.
    func set(_ claims: [String: String], inPart: Bool = false) {
        self.state.withLock { ($0.claims, $0.isKnownInPart) = (claims, inPart) }
    }

    /// Holds each request that arrives until `release`.
    func hold() { self.state.withLock { $0.isHeld = true } }

    func release() {
        let held = self.state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for request in held { request.resume() }
    }

    // MARK: Observing

    /// The refresh tokens that were presented, in order.
    var presented: [Secret] { self.state.withLock { $0.presented } }
    var revoked: [ProviderTokenSet] { self.state.withLock { $0.revoked } }
    /// Whether a token was presented a second time after it was used.
    var isPunished: Bool { self.state.withLock { $0.isPunished } }
    var heldCount: Int { self.state.withLock { $0.held.count } }

    /// The tokens with this number.
    func tokens(_ number: Int) -> ProviderTokenSet {
        ProviderTokenSet(
            accessToken: Secret("access-\(number)"),
            idToken: Secret("id-\(number)"),
            refreshToken: Secret("refresh-\(self.rotates ? number : 1)"),
            expiresAt: self.clock.now.advanced(by: self.life),
            dpopKey: number == 1 ? Secret([0x30, 0x00, 0xFF]) : nil
        )
    }

    // MARK: RefreshingProvider

    func canAsk(with tokens: ProviderTokenSet) -> Bool { true }

    func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
        if self.state.withLock({ $0.isHeld }) {
            await withCheckedContinuation { continuation in
                let isLate = self.state.withLock { state in
                    if state.isHeld { state.held.append(continuation) }
                    return !state.isHeld
                }
                if isLate { continuation.resume() }
            }
        }
        return self.state.withLock { state in
            let fate = state.fates.isEmpty ? .answered : state.fates.removeFirst()
            switch fate {
            case .later(let pause): return .later(after: pause, detail: "temporarily_unavailable")
            case .ended: return .ended(detail: "invalid_grant")
            case .requestLost: return .ambiguous(detail: "timeout")
            case .answered, .answerLost, .otherUser: break
            }
            if let token = tokens.refreshToken { state.presented.append(token) }
            guard !state.isPunished else { return .ended(detail: "invalid_grant") }
            guard tokens.refreshToken == self.tokens(state.issued).refreshToken else {
                state.isPunished = true
                return .ended(detail: "invalid_grant")
            }
            state.issued += 1
            if case .answerLost = fate { return .ambiguous(detail: "timeout") }
            var subject = user.idAtProvider
            if case .otherUser = fate { subject = "mallory" }
            let traits = state.claims.mapValues { JSONValue.string($0) }
            let user = Authentication(
                identity: Identity(id: subject, traits: .object(traits)),
                aal: .aal3,
                methods: ["other"],
                authenticatedAt: self.clock.now
            )
            return state.isKnownInPart
                ? .refreshedInPart(self.tokens(state.issued), authentication: user)
                : .refreshed(self.tokens(state.issued), authentication: user)
        }
    }

    func revoke(_ tokens: ProviderTokenSet) async {
        self.state.withLock { $0.revoked.append(tokens) }
    }
}

/// Gateways on one store, whose users signed in at one provider.
final class GrantBench: Sendable {
    /// One gateway.
    struct Node: Sendable {
        let grants: ProviderGrants
        let sessions: SessionService
        let tokens: TokenService
        let mint: HandoffMint
        let consumer: HandoffConsumer
        /// The tokens and cookies of Kratos. `nil` without Kratos.
        let known: (any ForeignTokens)?
    }

    let time = MovableClock()
    let store: ScriptedStore
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    let provider: RotatingProvider
    /// Whether native apps follow their provider.
    let isShared: Bool
    /// The lifetimes. While native apps use a shared grant, nobody uses the browser's sessions, which must not idle out.
    private let settings: SessionSettings
    private let noted = Mutex<[GrantJournal.Event]>([])
    private let pauses = Mutex<[Duration]>([])

    init(life: Duration = .seconds(300), rotates: Bool = true, isShared: Bool = false) {
        self.isShared = isShared
        var settings = SessionSettings()
        if isShared { (settings.browser, settings.transfer) = (settings.native, settings.native) }
        self.settings = settings
        self.store = ScriptedStore(clock: self.time.clock)
        self.provider = RotatingProvider(self.time, life: life, rotates: rotates)
    }

    /// What the journals of all nodes noted, in order.
    var events: [GrantJournal.Event] { self.noted.withLock { $0 } }
    /// The waits of all nodes, in order.
    var waits: [Duration] { self.pauses.withLock { $0 } }

    /// A gateway.
    ///
    /// - Parameters:
    ///   - longestWait: Of a request for a renewal; by default longer than any test takes on a busy machine.
    ///   - pause: What happens in each wait.
    ///   - kratos: A second provider, whose session tokens and cookies are accepted.
    func node(
        longestWait: TimeAmount = .minutes(10),
        notifier: (any ClientNotifier)? = nil,
        kratos: KratosProvider? = nil,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .milliseconds(2)) }
    ) -> Node {
        let records = RecordAccess(
            store: self.store,
            authority: self.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: self.time.clock,
            notifier: notifier
        )
        let grants = ProviderGrants(
            records: records,
            journal: GrantJournal { event, _ in self.noted.withLock { $0.append(event) } },
            longestWait: longestWait,
            pause: { wait in
                self.pauses.withLock { $0.append(wait) }
                await pause()
            }
        )
        let providers: [any RefreshingProvider] = [self.provider] + (kratos.map { [$0] } ?? [])
        grants.adopt(providers) { [isShared = self.isShared] _ in isShared }
        let ends = ProviderSessions(records: records)
        let known = kratos.map { self.known(to: $0, ends) }
        let sessions = SessionService(
            records: records,
            settings: self.settings,
            devices: DeviceObserver(directory: nil),
            grants: grants,
            journal: AuditJournal { _ in true }
        )
        let limiter = LocalRateLimiter(clock: self.time.clock)
        return Node(
            grants: grants,
            sessions: sessions,
            tokens: TokenService(
                records: records,
                refreshTokens: RefreshTokenAuthority(current: Secret("a secret of the tests")),
                apis: APIDirectory([APISettings(audience: "https://api.example.com", scopes: ["orders"])]),
                lifetimes: self.settings.native,
                devices: DeviceObserver(directory: nil),
                limiter: limiter,
                journal: AuditJournal { _ in true },
                foreign: known.map { ForeignGrants(tokens: [$0], ends: ends) },
                grants: grants
            ),
            mint: HandoffMint(
                records: records,
                limiter: limiter,
                settings: HandoffSettings(),
                asn: nil,
                grants: grants,
                journal: AuditJournal { _ in true }
            ),
            consumer: HandoffConsumer(
                records: records,
                sessions: self.settings,
                asn: nil,
                grants: grants,
                journal: AuditJournal { _ in true }
            ),
            known: known
        )
    }

    private func known(to kratos: KratosProvider, _ ends: ProviderSessions) -> any ForeignTokens {
        ProviderTokens(
            [kratos],
            authority: self.authority,
            store: self.store,
            clock: self.time.clock,
            end: { (token, session) throws(NotDone) in try await ends.end(session, of: token) }
        )
    }

    /// A user who has signed in at the provider.
    struct Holder: Sendable {
        let token: Secret
        let key: RecordKey
        let session: Session
    }

    func signIn(_ node: Node, tokens: ProviderTokenSet? = nil) async throws -> Holder {
        let authentication = Authentication(
            identity: Identity(id: "alice", traits: ["name": .string("Alice")]),
            aal: .aal2,
            methods: ["pwd"],
            authenticatedAt: self.time.now
        )
        let evidence = ProviderEvidence(
            provider: self.provider.name,
            sessionID: "sid-1",
            tokens: tokens ?? self.provider.tokens(1)
        )
        let requester = try SignInBench().requester()
        let begun = try await node.sessions.begin(
            authentication,
            SessionTerms(.web),
            evidence: evidence,
            for: requester
        )
        let key = try #require(self.authority.key(.session, of: begun.token.bytes))
        return Holder(token: begun.token, key: key, session: begun.session)
    }

    /// The session as it is now; nil when it has ended.
    func session(_ holder: Holder) async throws -> Session? { try await self.session(holder.key) }

    func session(_ key: RecordKey) async throws -> Session? {
        try await self.store.session(key, on: MultiThreadedEventLoopGroup.singleton.next()).get()?.record
    }

    func grant(_ holder: Holder, _ node: Node) async throws -> ProviderGrant? {
        try await node.grants.grant(try #require(holder.session.provider?.grant))?.record
    }

    /// Uses the session at a node, as a request does, and waits for what that causes.
    func use(_ holder: Holder, at node: Node) async throws {
        try await self.store.touch(holder.key, on: MultiThreadedEventLoopGroup.singleton.next()).get()
        guard let session = try await self.session(holder), let renewAt = session.provider?.renewAt,
            self.time.now >= renewAt
        else { return }
        node.grants.renew(session, holder.key)
        try await self.settled(node)
    }

    /// Waits until nothing is under way at the node.
    func settled(_ node: Node) async throws {
        try await waitUntil("nothing is under way") { !node.grants.isBusy }
    }
}
