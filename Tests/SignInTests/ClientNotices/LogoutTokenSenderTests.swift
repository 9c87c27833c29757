import Calls
import JOSE
import NIOCore
import NIOPosix
import Observability
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// The clients' endpoints, which answer what a test says. They answer 204 until then.
private final class ScriptedEndpoints: CallTransport {
    private struct State {
        var answers: [Result<Int, CallError>] = []
        var calls: [OutgoingCall] = []
        /// The host that holds its answers back, and the calls that wait there.
        var heldHost: String?
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// The answers to the next calls.
    func script(_ answers: [Result<Int, CallError>]) { self.state.withLock { $0.answers += answers } }

    func hold(_ host: String) { self.state.withLock { $0.heldHost = host } }

    func release() {
        let held = self.state.withLock { state in
            state.heldHost = nil
            defer { state.held = [] }
            return state.held
        }
        for call in held { call.resume() }
    }

    var heldCount: Int { self.state.withLock { $0.held.count } }
    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    /// The tokens that were sent to a host, in order.
    func tokens(at host: String = "") -> [String] {
        self.calls.filter { $0.url.contains(host) }.map { call in
            String(String(decoding: call.body, as: UTF8.self).dropFirst("logout_token=".count))
        }
    }

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        let isHeld = self.state.withLock { state in
            state.calls.append(call)
            return state.heldHost.map { call.url.contains($0) } ?? false
        }
        if isHeld {
            await withCheckedContinuation { continuation in
                let isLate = self.state.withLock { state in
                    if state.heldHost != nil { state.held.append(continuation) }
                    return state.heldHost == nil
                }
                if isLate { continuation.resume() }
            }
        }
        let answer = self.state.withLock { $0.answers.isEmpty ? .success(204) : $0.answers.removeFirst() }
        return CallAnswer(status: try answer.get())
    }
}

/// What a sender recorded.
private final class SenderLog: Sendable {
    struct Entry: Equatable {
        let result: ClientLogoutResult
        let session: ClientSession
        let detail: String
    }

    private let state = Mutex((entries: [Entry](), pauses: [Duration]()))

    var entries: [Entry] { self.state.withLock { $0.entries } }
    var pauses: [Duration] { self.state.withLock { $0.pauses } }

    func note(_ entry: Entry) { self.state.withLock { $0.entries.append(entry) } }
    func note(_ pause: Duration) { self.state.withLock { $0.pauses.append(pause) } }
}

/// A sender to the clients `shop`, `bank` (one token for each session) and `plain` (without a URL).
private struct SenderBench {
    static let issuer = "https://auth.example.com/"
    /// Made once: a key takes a tenth of a second.
    static let keys: SigningKeyRing = {
        guard let ring = SigningKeyRing([SigningKey.generated(.rs256)]) else { preconditionFailure("a ring has a key") }
        return ring
    }()

    let clock = MovableClock()
    let endpoints = ScriptedEndpoints()
    let log = SenderLog()
    let sender: LogoutTokenSender

    var results: [ClientLogoutResult] { self.log.entries.map(\.result) }

    /// - Parameter pause: What each pause does once it is noted.
    init(
        capacity: Int = LogoutTokenSender.capacity,
        pause: @escaping @Sendable () async -> Void = {}
    ) {
        let log = self.log
        self.sender = LogoutTokenSender(
            clock: self.clock.clock,
            journal: LogoutTokenJournal { result, session, detail in
                log.note(SenderLog.Entry(result: result, session: session, detail: detail))
            },
            capacity: capacity,
            pause: { wait in
                log.note(wait)
                await pause()
            }
        )
        var shop = ClientSettings(clientID: "shop")
        shop.backchannelLogoutURI = "https://shop.example.com/logout?x=1"
        var bank = ClientSettings(clientID: "bank")
        bank.backchannelLogoutURI = "https://bank.example.com/logout"
        bank.requiresLogoutSession = true
        self.adopt([shop, bank, ClientSettings(clientID: "plain")])
    }

    func adopt(_ clients: [ClientSettings]) {
        self.sender.adopt(
            LogoutTokenSender.Plan(
                clients: ClientRegistry(clients),
                issuers: [Realm.default.name: Self.issuer],
                keys: .file(Self.keys),
                transport: self.endpoints
            )
        )
    }

    static func session(_ client: String, _ id: String?, realm: String = Realm.default.name) -> ClientSession {
        ClientSession(clientID: client, realm: realm, userID: "user-1", sessionID: id)
    }

    @discardableResult
    func notify(_ ended: [ClientSession], isWholeUser: Bool = false) -> EventLoopFuture<Void> {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return self.sender.notify(ended, isWholeUser: isWholeUser, on: loop)
    }

    /// Notifies, and waits until no token waits or is being sent.
    func notifyAll(_ ended: [ClientSession], isWholeUser: Bool = false) async throws {
        self.notify(ended, isWholeUser: isWholeUser)
        try await self.settled()
    }

    func settled() async throws {
        try await waitUntil("nothing is under way") { !self.sender.isBusy }
    }

    static func claims(_ token: String) throws -> JWTClaims {
        let verified = try JWS.verify(Array(token.utf8), with: Self.keys.published, allowing: [.rs256])
        #expect(verified.type == "logout+jwt")
        return try JWTClaims(verified.payload)
    }

    /// The `sid` of each token that was sent to a host; `-` for none.
    func sessionIDs(at host: String) throws -> [String] {
        try self.endpoints.tokens(at: host).map { try Self.claims($0).sessionID ?? "-" }.sorted()
    }
}

@Suite("Logout tokens for clients")
struct LogoutTokenSenderTests {
    @Test("A token has the claims of a logout token and is signed like the client's id_tokens")
    func token() async throws {
        let bench = SenderBench()
        try await bench.notify([SenderBench.session("shop", "ses_1")]).get()
        let call = try #require(bench.endpoints.calls.first)
        #expect(call.method == "POST" && call.url == "https://shop.example.com/logout?x=1")
        #expect(call.fields.map(\.value) == ["application/x-www-form-urlencoded"])
        #expect(call.bodyLimit == 4096 && call.timeLimit == .seconds(2))
        let claims = try SenderBench.claims(try #require(bench.endpoints.tokens().first))
        let now = bench.clock.now
        #expect(claims.issuer == SenderBench.issuer && claims.audience == ["shop"])
        #expect(claims.subject == "user-1" && claims.sessionID == "ses_1" && claims.nonce == nil)
        #expect(claims.issuedAt == now && claims.expiresAt == now.advanced(by: .seconds(120)))
        #expect(claims["events"] == ["http://schemas.openid.net/event/backchannel-logout": [:]])
        #expect(claims.id?.isEmpty == false)
        try await bench.settled()
        #expect(bench.results == [.ok])
    }

    @Test("A client that does not answer gets three tokens, each with an id of its own, after 5 and after 30 seconds")
    func threeTries() async throws {
        let bench = SenderBench()
        let silence = CallError(isUnsent: false, detail: "shop.example.com did not answer in time", cause: .time)
        bench.endpoints.script([.success(503), .failure(silence), .success(429)])
        try await bench.notifyAll([SenderBench.session("shop", "ses_1")])
        #expect(bench.log.pauses == [.seconds(5), .seconds(30)])
        #expect(bench.results == [.later, .later, .failed])
        #expect(bench.log.entries.map(\.detail) == ["status 503", silence.detail, "status 429"])
        let ids = try bench.endpoints.tokens().map { try SenderBench.claims($0).id }
        #expect(ids.count == 3 && Set(ids).count == 3)
    }

    @Test("The first answer ends the tries")
    func recovery() async throws {
        let bench = SenderBench()
        bench.endpoints.script([.success(500), .success(200)])
        try await bench.notifyAll([SenderBench.session("shop", "ses_1")])
        #expect(bench.results == [.later, .ok] && bench.log.pauses == [.seconds(5)])
    }

    @Test("A status that says no is not tried again", arguments: [202, 302, 400, 401, 404])
    func refused(status: Int) async throws {
        let bench = SenderBench()
        bench.endpoints.script([.success(status)])
        try await bench.notifyAll([SenderBench.session("shop", "ses_1")])
        #expect(bench.results == [.refused] && bench.log.entries[0].detail == "status \(status)")
        #expect(bench.log.pauses.isEmpty && bench.endpoints.calls.count == 1)
    }

    @Test("An answer that is too long is judged by its status")
    func tooLong() async throws {
        for (status, results) in [
            (200, [.ok]), (400, [.refused]), (503, [.later, .ok]),
        ] as [(Int, [ClientLogoutResult])] {
            let bench = SenderBench()
            let error = CallError(isUnsent: false, detail: "too long", cause: .size, status: status)
            bench.endpoints.script([.failure(error), .success(200)])
            try await bench.notifyAll([SenderBench.session("shop", "ses_1")])
            #expect(bench.results == results, "\(status)")
        }
    }

    @Test("If all sessions of a user end, a client gets one token without sid unless it requires one")
    func wholeUser() async throws {
        let bench = SenderBench()
        let ended = ["shop", "bank"].flatMap { client in
            ["ses_1", "ses_2"].map { SenderBench.session(client, "\($0)_\(client)") }
        }
        try await bench.notifyAll(ended, isWholeUser: true)
        #expect(try bench.sessionIDs(at: "shop") == ["-"])
        #expect(try bench.sessionIDs(at: "bank") == ["ses_1_bank", "ses_2_bank"])
        try await bench.notifyAll(ended + ended)
        #expect(try bench.sessionIDs(at: "shop") == ["-", "ses_1_shop", "ses_2_shop"])
    }

    @Test("A client without a URL, of another provider or that is gone gets nothing, and nothing waits for it")
    func unwanted() async throws {
        let bench = SenderBench()
        let ended = [
            SenderBench.session("plain", "ses_1"), SenderBench.session("gone", "ses_1"),
            SenderBench.session("shop", "ses_1", realm: "staff"),
        ]
        try await bench.notify(ended).get()
        #expect(!bench.sender.isBusy && bench.endpoints.calls.isEmpty && bench.results.isEmpty)
        #expect(bench.sender.isNeeded)
        bench.adopt([ClientSettings(clientID: "plain")])
        #expect(!bench.sender.isNeeded)
    }

    @Test("A client that loses its URL before the next try is not tried again")
    func reload() async throws {
        let bench = SenderBench()
        bench.endpoints.hold("shop")
        bench.endpoints.script([.success(500)])
        bench.notify([SenderBench.session("shop", "ses_1")])
        try await waitUntil("the first try") { bench.endpoints.heldCount == 1 }
        bench.adopt([])
        bench.endpoints.release()
        try await bench.settled()
        #expect(bench.results == [.later] && bench.endpoints.calls.count == 1)
    }

    @Test("A client that does not answer delays no other client, and has eight calls at a time")
    func slowClient() async throws {
        let bench = SenderBench()
        bench.endpoints.hold("shop")
        let all = bench.notify((1...20).map { SenderBench.session("shop", "ses_\($0)") })
        try await waitUntil("eight calls") { bench.endpoints.heldCount == 8 }
        try await bench.notify([SenderBench.session("bank", "ses_1")]).get()
        #expect(bench.endpoints.tokens(at: "bank").count == 1)
        #expect(bench.endpoints.tokens(at: "shop").count == 8)
        bench.endpoints.release()
        try await all.get()
        #expect(Set(try bench.sessionIDs(at: "shop")).count == 20)
    }

    @Test("When too many tokens wait, a client loses its own and leaves room for others")
    func full() async throws {
        let bench = SenderBench(capacity: 8)
        bench.endpoints.hold("shop")
        bench.notify((1...10).map { SenderBench.session("shop", "ses_\($0)") })
        #expect(bench.results == Array(repeating: .dropped, count: 6))
        try await bench.notify([SenderBench.session("bank", "ses_1")]).get()
        #expect(bench.endpoints.tokens(at: "bank").count == 1)
        bench.endpoints.release()
        try await bench.settled()
        #expect(bench.results.count { $0 == .ok } == 5 && bench.results.count { $0 == .dropped } == 6)
    }

    @Test("A gateway that stops waits for no retry, and records what it did not send")
    func drain() async throws {
        let bench = SenderBench { try? await Task.sleep(for: .seconds(3600)) }
        bench.endpoints.script([.success(500)])
        bench.notify([SenderBench.session("shop", "ses_1")])
        try await waitUntil("the pause") { !bench.log.pauses.isEmpty }
        await bench.sender.drain(until: .now + .seconds(60))
        #expect(!bench.sender.isBusy && bench.results == [.later, .dropped])
        bench.endpoints.script([.success(500)])
        try await bench.notifyAll([SenderBench.session("shop", "ses_2")])
        #expect(bench.results == [.later, .dropped, .later, .dropped])
    }

    @Test("A gateway that stops for good records which tokens still waited behind those of a silent client")
    func drainPastDeadline() async throws {
        let bench = SenderBench()
        bench.endpoints.hold("shop")
        let all = bench.notify((1...10).map { SenderBench.session("shop", "ses_\($0)") })
        try await waitUntil("eight calls") { bench.endpoints.heldCount == 8 }
        await bench.sender.drain(until: .now)
        #expect(bench.results == [.dropped, .dropped])
        bench.endpoints.release()
        try await all.get()
        try await bench.settled()
        #expect(bench.endpoints.calls.count == 8 && bench.results.count { $0 == .ok } == 8)
    }
}
