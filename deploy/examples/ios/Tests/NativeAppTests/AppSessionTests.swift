import Foundation
import Testing

@testable import NativeApp

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Keeps the credential in memory, and fails on demand.
private final class MemoryStore: TokenStore, @unchecked Sendable {
    private let lock = NSLock()
    private var kept: Credential?
    private var isLocked = false

    init(_ kept: Credential? = nil) { self.kept = kept }

    func setLocked(_ isLocked: Bool) { self.lock.withLock { self.isLocked = isLocked } }
    func load() throws -> Credential? {
        try self.lock.withLock {
            try self.open()
            return self.kept
        }
    }
    func save(_ credential: Credential) throws {
        try self.lock.withLock {
            try self.open()
            self.kept = credential
        }
    }
    func delete() throws { self.lock.withLock { self.kept = nil } }
    private func open() throws { if self.isLocked { throw CocoaError(.fileReadNoPermission) } }
}

/// A gateway whose refresh tokens are `R1`, `R2` and so on, each good once.
private actor FakeGateway {
    private(set) var bodies: [[String: String]] = []
    /// The requests about sessions.
    private(set) var asked: [String] = []
    private(set) var isBusy = false
    private var generation = 1
    private var failure: (status: Int, body: String)?
    private var isOffline = false

    func fail(_ status: Int, _ body: String) { self.failure = (status, body) }
    func goOffline() { self.isOffline = true }

    func answer(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let isBusy = self.isBusy
        #expect(!isBusy, "two uses of one credential at a time")
        self.isBusy = true
        defer { self.isBusy = false }
        await Task.yield()
        if self.isOffline { throw URLError(.notConnectedToInternet) }
        if let path = request.url?.path, path.hasPrefix("/sessions"), let method = request.httpMethod {
            self.asked.append("\(method) \(path) \(request.value(forHTTPHeaderField: "Authorization") ?? "")")
            return try Self.answer(path == "/sessions" ? 200 : 204, method == "GET" ? Self.sessions : "", request)
        }
        let body = (try? JSONDecoder().decode([String: String].self, from: request.httpBody ?? Data())) ?? [:]
        self.bodies.append(body)
        if let failure { return try Self.answer(failure.status, failure.body, request) }
        if request.url?.path == "/oauth/revoke" { return try Self.answer(200, "", request) }
        if body["grant_type"] == "refresh_token", body["refresh_token"] != "R\(self.generation)" {
            return try Self.answer(400, #"{"error":"invalid_grant"}"#, request)
        }
        self.generation += 1
        let text = #"{"access_token":"A\#(self.generation)","expires_in":600,"refresh_token":"R\#(self.generation)"}"#
        return try Self.answer(200, text, request)
    }

    private static let sessions = """
        [{"id":"S1","active":true,"issued_at":"2026-11-24T08:00:00.000Z","devices":[
        {"id":"D","ip_address":"192.0.2.1","user_agent":"Phone","location":""}]}]
        """

    private static func answer(_ status: Int, _ body: String, _ request: URLRequest) throws -> (Data, URLResponse) {
        let fields = ["Retry-After": "7"]
        let response = HTTPURLResponse(
            url: try #require(request.url),
            statusCode: status,
            httpVersion: nil,
            headerFields: fields
        )
        return (Data(body.utf8), try #require(response))
    }
}

@Suite struct AppSessionTests {
    private let fake = FakeGateway()

    private func gateway() throws -> Gateway {
        Gateway(
            origin: try #require(URL(string: "https://app.example.com")),
            clientID: "ios",
            callback: try #require(URL(string: "com.example.app:/callback")),
            send: { [fake] in try await fake.answer($0) }
        )
    }

    @Test func allWaitForOneRefresh() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await session.accessToken() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens == ["A2"])
        #expect(try store.load() == .refreshToken("R2"))
        #expect(await self.fake.bodies.count == 1)
    }

    @Test func eachPageGetsATokenOfItsOwnAndTheChainHolds() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await session.transferToken() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 10)
        #expect(try store.load() == .refreshToken("R11"))
        #expect(await self.fake.bodies.allSatisfy { $0["audience"] == "urn:app.example.com:session_transfer" })
    }

    @Test func aViewThatClosesLosesNoCredential() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        let view = Task { try await session.transferToken() }
        view.cancel()
        _ = await view.result
        _ = try await session.transferToken()
        #expect(try store.load() == .refreshToken("R3"))
    }

    @Test func aLockedStoreLosesNoCredential() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        _ = try await session.transferToken()
        store.setLocked(true)
        _ = try await session.transferToken()
        _ = try await session.transferToken()
        store.setLocked(false)
        _ = try await session.transferToken()
        #expect(try store.load() == .refreshToken("R5"))
    }

    @Test func aStoreThatCannotBeReadSignsNobodyOut() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        store.setLocked(true)
        let session = AppSession(gateway: try self.gateway(), store: store)
        await #expect(throws: CocoaError.self) { try await session.transferToken() }
        store.setLocked(false)
        #expect(try await session.state == .signedIn)
    }

    @Test func signedOutByTheGatewayForgetsTheCredential() async throws {
        let store = MemoryStore(.refreshToken("R0"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        await #expect(throws: GatewayError.signedOut) { try await session.accessToken() }
        #expect(try store.load() == nil)
        #expect(try await session.state == .signedOut)
    }

    @Test(arguments: [429, 500, 503]) func aBusyGatewaySignsNobodyOut(status: Int) async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        await self.fake.fail(status, #"{"error":"invalid_grant"}"#)
        await #expect(throws: GatewayError.unavailable(after: 7)) { try await session.transferToken() }
        #expect(try store.load() == .refreshToken("R1"))
    }

    @Test func noNetworkSignsNobodyOut() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        await self.fake.goOffline()
        await #expect(throws: GatewayError.unavailable(after: nil)) { try await session.accessToken() }
        #expect(try await session.state == .signedIn)
    }

    @Test func whatTheSettingsDoNotAllowIsSaid() async throws {
        let session = AppSession(gateway: try self.gateway(), store: MemoryStore(.refreshToken("R1")))
        await self.fake.fail(400, #"{"error":"unauthorized_client"}"#)
        await #expect(throws: GatewayError.refused("unauthorized_client")) { try await session.transferToken() }
        #expect(try await session.state == .signedIn)
    }

    @Test func signsOutOfTheDeviceWithoutNetworkToo() async throws {
        let store = MemoryStore(.refreshToken("R1"))
        let session = AppSession(gateway: try self.gateway(), store: store)
        await self.fake.goOffline()
        await #expect(throws: GatewayError.unavailable(after: nil)) { try await session.signOut() }
        #expect(try store.load() == nil)
        await #expect(throws: GatewayError.signedOut) { try await session.transferToken() }
    }

    @Test func otherSessionsAreListedAndEndedWithTheAccessToken() async throws {
        let session = AppSession(gateway: try self.gateway(), store: MemoryStore(.refreshToken("R1")))
        let others = try await session.otherSessions()
        #expect(others.map(\.id) == ["S1"])
        #expect(others.first?.devices.map(\.ip_address) == ["192.0.2.1"])
        try await session.endSession(try #require(others.first))
        try await session.endOtherSessions()
        let asked = ["GET /sessions", "DELETE /sessions/S1", "DELETE /sessions"]
        #expect(await self.fake.asked == asked.map { "\($0) Bearer A2" })
        #expect(try await session.state == .signedIn)
    }

    @Test func signsInWithTheVerifierOfItsChallenge() async throws {
        let gateway = try self.gateway()
        let store = MemoryStore()
        let session = AppSession(gateway: gateway, store: store)
        try await session.signIn(gateway.beginSignIn()) { page, callback in
            let query = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems ?? []
            let state = query.first { $0.name == "state" }?.value ?? ""
            return try #require(URL(string: "\(callback)?code=C&state=\(state)"))
        }
        #expect(try store.load() == .refreshToken("R2"))
        let body = try #require(await self.fake.bodies.first)
        #expect(body["grant_type"] == "authorization_code" && body["code"] == "C" && body["client_id"] == "ios")
        #expect(body["code_verifier"]?.count == 43)
        #expect(try await session.accessToken() == "A2")
    }

    @Test(arguments: [
        "com.example.app:/callback?code=C&state=other", "com.example.app:/callback?code=C",
        "com.example.app:/other?code=C",
        "https://evil.example/callback?code=C",
    ])
    func anAnswerToNoRequestOfItsOwnIsRefused(url: String) async throws {
        let gateway = try self.gateway()
        let session = AppSession(gateway: gateway, store: MemoryStore())
        let answer = try #require(URL(string: url))
        await #expect(throws: GatewayError.self) { try await session.signIn(gateway.beginSignIn()) { _, _ in answer } }
        #expect(try await session.state == .signedOut)
        #expect(await self.fake.bodies.isEmpty)
    }

    @Test func aClosedBrowserLeavesTheUserWhereTheyWere() async throws {
        let gateway = try self.gateway()
        let session = AppSession(gateway: gateway, store: MemoryStore())
        await #expect(throws: GatewayError.cancelled) {
            try await session.signIn(gateway.beginSignIn()) { _, _ in throw GatewayError.cancelled }
        }
        #expect(try await session.state == .signedOut)
    }

    @Test func theChallengeIsThatOfTheStandard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(Gateway.challenge(of: verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }
}
