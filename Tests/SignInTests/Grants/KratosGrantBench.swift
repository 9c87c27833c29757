import Calls
import NIOCore
import NIOPosix
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// Kratos with one user, who has one session. A test says how it answers.
final class SwitchedKratos: CallTransport {
    /// The answer of `whoami`.
    enum Answer: Sendable {
        case session
        case status(Int)
        /// The call fails.
        case nothing
    }

    static let id = "7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b"
    static let token = Secret("ory_st_MP2YWEMeM8MxjkGKpH4dqOQ4Q4DlSPaj")
    static let cookie = Secret("MTcwMDAwMDAwMHxEWDhFQVFMX2dBQUJFQUVRQUFB_-x=")

    private struct State {
        var answer = Answer.session
        var isReady = true
        var traits: [String: String] = ["name": "Ada"]
        /// The `state` of the identity. `nil` if it does not exist.
        var identity: String? = "active"
        var expiresAt: UnixTime
        var calls: [String: Int] = [:]
    }

    private let beganAt: UnixTime
    private let state: Mutex<State>

    init(_ clock: MovableClock, life: Duration) {
        self.beganAt = clock.now
        self.state = Mutex(State(expiresAt: clock.now.advanced(by: life)))
    }

    // MARK: Scripting

    func answer(with answer: Answer, isReady: Bool = true) {
        self.state.withLock { ($0.answer, $0.isReady) = (answer, isReady) }
    }

    func set(_ traits: [String: String]) { self.state.withLock { $0.traits = traits } }
    func setIdentity(_ state: String?) { self.state.withLock { $0.identity = state } }
    func extend(until end: UnixTime) { self.state.withLock { $0.expiresAt = end } }

    // MARK: Observing

    var questions: Int { self.calls(of: "/sessions/whoami") }
    var identityQuestions: Int { self.calls(of: "/admin/identities/\(Self.id)") }
    private func calls(of path: String) -> Int { self.state.withLock { $0.calls[path] ?? 0 } }

    // MARK: CallTransport

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        let path = String(call.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
        let answer = self.state.withLock { state -> CallAnswer? in
            state.calls[path, default: 0] += 1
            switch path {
            case "/health/ready": return Self.json(["status": "ok"], status: state.isReady ? 200 : 503)
            case "/admin/identities/\(Self.id)":
                guard let identity = state.identity else { return Self.error(404) }
                return Self.json(Self.person(state, identity))
            case "/sessions/whoami":
                switch state.answer {
                case .session: return Self.json(self.session(state))
                case .status(let status): return Self.error(status)
                case .nothing: return nil
                }
            default: return Self.error(404)
            }
        }
        guard let answer else { throw CallError(isUnsent: false, detail: "timeout") }
        return answer
    }

    private func session(_ state: State) -> JSONValue {
        [
            "id": "9f425a8d-7efc-4768-8f23-7647a74fdf13", "active": true,
            "authenticator_assurance_level": "aal1", "authentication_methods": [["method": "password"]],
            "issued_at": .string(self.beganAt.rfc3339), "authenticated_at": .string(self.beganAt.rfc3339),
            "expires_at": .string(state.expiresAt.rfc3339), "identity": Self.person(state, "active"),
        ]
    }

    private static func person(_ state: State, _ identity: String) -> JSONValue {
        [
            "id": .string(Self.id), "schema_id": "person", "state": .string(identity),
            "traits": .object(state.traits.mapValues { .string($0) }),
        ]
    }

    private static func error(_ status: Int) -> CallAnswer {
        self.json(["error": ["code": .integer(Int64(status)), "message": "as scripted"]], status: status)
    }

    private static func json(_ value: JSONValue, status: Int = 200) -> CallAnswer {
        CallAnswer(
            status: status,
            fields: [("content-type", "application/json")],
            body: JSONText.encode(value)
        )
    }
}

/// Gateways on one store, in front of Kratos.
struct KratosGrantBench {
    let base = GrantBench()
    let kratos: SwitchedKratos
    private let provider: KratosProvider

    init(life: Duration = .seconds(86_400), hasAdminAPI: Bool = false) {
        let kratos = SwitchedKratos(self.base.time, life: life)
        var settings = KratosSettings(publicURL: PublicURL(isHTTPS: false, host: "kratos", port: 4433))
        if hasAdminAPI { settings.adminURL = PublicURL(isHTTPS: false, host: "kratos", port: 4434) }
        self.kratos = kratos
        self.provider = KratosProvider(settings, transport: kratos, clock: self.base.time.clock)
    }

    func node() -> GrantBench.Node { self.base.node(kratos: self.provider) }

    func advance(by seconds: Int64) { self.base.time.advance(by: .seconds(seconds)) }

    /// An access token that an app gets for its session token, to mint with.
    func exchange(
        _ node: GrantBench.Node,
        _ client: ClientSettings = SharedGrantTests.client()
    ) async throws -> Secret {
        let tokens = try await node.tokens.exchange(
            SwitchedKratos.token,
            for: nil,
            scopes: [],
            forTransfer: true,
            by: try SharedGrantTests.requester(client)
        )
        return try #require(tokens.access)
    }

    /// A transfer token that an app mints with its session token.
    func mint(_ node: GrantBench.Node, _ client: ClientSettings = SharedGrantTests.client()) async throws -> Secret {
        let access = try await self.exchange(node, client)
        let requester = try SharedGrantTests.requester(client)
        return try await node.mint.mint(.token(access.bytes), host: nil, for: requester).token
    }

    /// The key of a WebView's session that an app handed off with its session token.
    func webView(
        _ node: GrantBench.Node,
        _ client: ClientSettings = SharedGrantTests.client()
    ) async throws -> RecordKey {
        let minted = try await self.mint(node, client)
        guard case .signedIn(let token, _, _) = try await SharedGrantTests.consume(minted, node) else {
            throw NotDone(.handoffUnknown)
        }
        try await self.base.settled(node)
        return try #require(self.base.authority.key(.session, of: token.bytes))
    }

    /// Uses a session, as a request does. Returns it as it is afterwards: `nil` when it has ended.
    func use(_ key: RecordKey, _ node: GrantBench.Node) async throws -> Session? {
        guard let session = try await self.base.session(key) else { return nil }
        try await self.base.store.touch(key, on: MultiThreadedEventLoopGroup.singleton.next()).get()
        node.grants.renew(session, key)
        try await self.base.settled(node)
        return try await self.base.session(key)
    }

    /// Signs an app in with Kratos's cookie.
    func join(
        _ node: GrantBench.Node,
        _ client: ClientSettings = SharedGrantTests.client()
    ) async throws -> SharedGrantTests.App {
        let known = try #require(node.known)
        let candidate = try #require([known].candidates(for: SwitchedKratos.cookie, as: .web).first)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = try await known.freshSession(SwitchedKratos.cookie, as: .web, key: candidate.key, on: loop).get()
        guard case .live(let found) = answer else { throw NotDone(.sessionUnknown) }
        let user = NewSession(key: candidate.key, session: found.session)
        return try await SharedGrantTests.join(user, node, client, cookie: SwitchedKratos.cookie)
    }
}
