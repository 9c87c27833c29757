import Cryptography
import Foundation
import GatewayBench
package import JOSE
import Synchronization
package import Vocabulary

/// An OpenID provider on a loopback port that does what a test says: a double of real ones, strict where they are, so that
/// it refuses a client's mistakes. The tokens that it gives, and the secrets of its clients, must not appear in any output of
/// a gateway (`Secrets`).
package final class OpenIDProvider: Sendable {
    package let port: Int
    /// The issuer, and the beginning of every URL.
    package let issuer: String
    let clock: Clock
    private let state: Mutex<OpenIDState>
    private let server: Mutex<FakeUpstream?>

    /// Serves on a port that it keeps over `stop` and `start`.
    ///
    /// - Parameter algorithm: Of the key that signs.
    package init(
        _ script: OpenIDScript = OpenIDScript(),
        algorithm: JWSAlgorithm = .es256,
        clock: Clock = .system,
        isUp: Bool = true
    ) throws {
        self.port = try ServerPorts.take()
        self.issuer = "http://127.0.0.1:\(self.port)"
        self.clock = clock
        self.state = Mutex(
            OpenIDState(script: script, keys: [.generated(algorithm)], dpopNonce: Random.base64URL(12))
        )
        self.server = Mutex(nil)
        for secret in script.clients.compactMap(\.secret) { Secrets.shared.note(secret) }
        if isUp { try self.start() }
    }

    deinit {
        self.stop()
    }

    /// Listens again. What was remembered is still there.
    package func start() throws {
        let server = try FakeUpstream(
            port: self.port,
            serve: FakeUpstream.answering { [weak self] link, request in
                guard let self, let answer = self.answer(to: OpenIDCall(request)) else { return link.close() }
                link.send(answer)
            }
        )
        self.server.withLock { $0 = server }
    }

    /// Closes the listener and every connection, as in an outage.
    package func stop() {
        self.server.withLock { server in
            server?.stop()
            server = nil
        }
    }

    // MARK: Script

    /// Changes what it does from now on.
    package func change(_ body: @Sendable (inout OpenIDScript) -> Void) {
        self.state.withLock { body(&$0.script) }
    }

    /// Makes the next calls of an endpoint fail, one fault for each.
    package func fail(_ endpoint: OpenIDEndpoint, with faults: OpenIDFault...) {
        self.state.withLock { $0.endpoints[endpoint, default: .init()].faults += faults }
    }

    /// Makes an endpoint fail until it is healed.
    package func breakDown(_ endpoint: OpenIDEndpoint, with fault: OpenIDFault) {
        self.state.withLock { $0.endpoints[endpoint, default: .init()].standing = fault }
    }

    /// Ends all faults of an endpoint, and lets the calls go on that it holds.
    package func heal(_ endpoint: OpenIDEndpoint) {
        self.state.withLock { state in
            state.endpoints[endpoint]?.faults = []
            state.endpoints[endpoint]?.standing = nil
            state.endpoints[endpoint]?.isHeld = false
        }
    }

    /// Lets calls of an endpoint wait until `heal`, for at most 30 seconds.
    package func hold(_ endpoint: OpenIDEndpoint) {
        self.state.withLock { $0.endpoints[endpoint, default: .init()].isHeld = true }
    }

    /// The calls that wait now.
    package func waiting(at endpoint: OpenIDEndpoint) -> Int {
        self.state.withLock { $0.endpoints[endpoint]?.waiting ?? 0 }
    }

    // MARK: Keys

    /// Signs with a new key from now on.
    ///
    /// - Parameters:
    ///   - keepsOld: Whether the old key stays in the published set.
    ///   - isPublished: Whether the new one is in it.
    package func rotateKey(_ algorithm: JWSAlgorithm = .es256, keepsOld: Bool = true, isPublished: Bool = true) {
        let key = SigningKey.generated(algorithm)
        self.state.withLock { state in
            guard isPublished else { return state.unpublishedKey = key }
            state.unpublishedKey = nil
            state.retiredKeys = keepsOld ? state.keys + state.retiredKeys : []
            state.keys = [key]
        }
    }

    /// Signs by RS256 from now on, as the kits of social providers do.
    package func signAsKits() { self.rotateKey(.rs256) }

    // MARK: What happened

    /// The number of calls of an endpoint, with those that failed.
    package func count(_ endpoint: OpenIDEndpoint) -> Int {
        self.state.withLock { $0.endpoints[endpoint]?.calls.count ?? 0 }
    }

    /// The calls of an endpoint, the first one first.
    package func calls(of endpoint: OpenIDEndpoint) -> [OpenIDCall] {
        self.state.withLock { $0.endpoints[endpoint]?.calls ?? [] }
    }

    /// The number of token calls with `grant_type=refresh_token`.
    package var refreshes: Int { self.calls(of: .token).filter { $0["grant_type"] == "refresh_token" }.count }

    /// How often a refresh token came a second time, which ended its grant.
    package var reuses: Int { self.state.withLock { $0.reuses } }

    /// The `sid` of the user's session; nil: nobody is signed in.
    package var sessionID: String? { self.state.withLock { $0.session?.id } }

    /// The grants that are alive.
    package var grantCount: Int { self.state.withLock { state in state.grants.filter { !$0.isEnded }.count } }

    /// Ends every grant, as an administrator would: refresh tokens are `invalid_grant` from now on.
    package func endGrants() {
        self.state.withLock { state in
            for index in state.grants.indices { state.grants[index].isEnded = true }
        }
    }

    /// Ends the user's session, so that the next sign-in authenticates again.
    package func endSession() {
        self.state.withLock { $0.endSession() }
    }

    // MARK: Answers

    /// Answers a call as the server does; nil: the connection closes without an answer. Blocks while the endpoint is held.
    package func answer(to call: OpenIDCall) -> OpenIDAnswer? {
        guard let endpoint = call.endpoint else { return OpenIDAnswer(404) }
        let fault = self.state.withLock { state in
            state.endpoints[endpoint, default: .init()].calls.append(call)
            return state.nextFault(of: endpoint)
        }
        self.waitWhileHeld(endpoint)
        switch fault {
        case .answer(let status, let body, let fields):
            return OpenIDAnswer(status, fields: fields, body: Array(body.utf8))
        case .closes: return nil
        case .delays(let duration): Thread.sleep(forTimeInterval: duration / .seconds(1))
        case .closesAfterwards, nil: break
        }
        let answer = self.withState { $0.answer(to: call, at: endpoint) }
        if case .closesAfterwards = fault { return nil }
        return answer
    }

    private func waitWhileHeld(_ endpoint: OpenIDEndpoint) {
        let isHeld = self.state.withLock { state in
            guard state.endpoints[endpoint]?.isHeld == true else { return false }
            state.endpoints[endpoint]?.waiting += 1
            return true
        }
        guard isHeld else { return }
        _ = eventually { self.state.withLock { $0.endpoints[endpoint]?.isHeld != true } }
        self.state.withLock { $0.endpoints[endpoint]?.waiting -= 1 }
    }

    /// Runs `body` with what the provider remembers, its issuer and the time.
    func withState<Result: Sendable>(_ body: (inout OpenIDTurn) -> sending Result) -> sending Result {
        self.state.withLock { state in
            var turn = OpenIDTurn(state: state, issuer: self.issuer, now: self.clock.now())
            let result = body(&turn)
            state = turn.state
            return result
        }
    }
}

extension OpenIDState {
    fileprivate mutating func nextFault(of endpoint: OpenIDEndpoint) -> OpenIDFault? {
        guard var entry = self.endpoints[endpoint] else { return nil }
        guard !entry.faults.isEmpty else { return entry.standing }
        let fault = entry.faults.removeFirst()
        self.endpoints[endpoint] = entry
        return fault
    }

    mutating func endSession() {
        self.lastSessionID = self.session?.id
        self.session = nil
    }
}

extension OpenIDCall {
    /// A request from a connection.
    fileprivate init(_ request: Received) {
        let fields = request.lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        self.init(request.method, request.target, fields: fields, body: request.body)
    }
}

extension Link {
    fileprivate func close() { self.wire.close() }

    fileprivate func send(_ answer: OpenIDAnswer) {
        let fields = answer.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        self.answer("\(answer.status) Scripted", fields, body: String(decoding: answer.body, as: UTF8.self))
    }
}
