import Calls
import NIOCore
import Providers
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// What a provider says when it is asked about a user: every status with every body, at once or late, or nothing at all.
@Suite("The word of a provider")
struct ProviderWordTests {
    /// How a provider is asked.
    enum Question: String, CaseIterable, Sendable {
        /// The refresh grant of an OpenID provider.
        case refresh
        /// Its userinfo endpoint, after a refresh.
        case claims
        /// Its userinfo endpoint, without a refresh token.
        case userinfo
        /// The refresh grant of a provider of plain OAuth 2.0.
        case plainRefresh
        /// Its userinfo URL with a token that it cannot refresh.
        case plainUserinfo

        var isPlain: Bool { self == .plainRefresh || self == .plainUserinfo }
        var hasRefreshToken: Bool { self != .userinfo && self != .plainUserinfo }
        /// Whether the word comes from the token endpoint.
        var isOfTokens: Bool { self == .refresh || self == .plainRefresh }
    }

    private static let statuses = [200, 204, 302, 400, 401, 403, 404, 408, 429, 500, 503]
    private static let codes = [
        "invalid_grant", "bad_refresh_token", "invalid_client", "unauthorized_client", "invalid_request",
        "temporarily_unavailable", "server_error",
    ]
    private static let bodies =
        codes.map { #"{"error":"\#($0)"}"# } + ["", "{", "null", "<html>Maintenance</html>", #"{"sub":"mallory"}"#]

    /// Whether the word says that the user has no access any more.
    private static func isNo(_ question: Question, _ status: Int, _ body: String) -> Bool {
        let isBusy = status == 429 || status >= 500
        if question.isOfTokens {
            return !isBusy && (body.contains("invalid_grant") || body.contains("bad_refresh_token"))
        }
        if status == 200, body.contains("mallory") { return true }
        // After a refresh that was granted, userinfo says no more than whom it describes.
        return status == 401 && !question.hasRefreshToken
    }

    @Test(
        "Every no ends the sign-in within one question, and whatever may mean something else ends nobody",
        arguments: Question.allCases,
        statuses
    )
    func answers(_ question: Question, _ status: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for body in Self.bodies {
                for isLate in [false, true] {
                    group.addTask {
                        let answer = CallAnswer(
                            status: status,
                            fields: [("content-type", "application/json")],
                            body: Array(body.utf8)
                        )
                        try await self.judge(
                            WordBench(question, isLate: isLate),
                            .answer(answer),
                            isNo: Self.isNo(question, status, body),
                            "\(status) \(body)\(isLate ? " late" : "")"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A server that is not reached, or whose answer is lost, ends nobody", arguments: Question.allCases)
    func silence(_ question: Question) async throws {
        for isUnsent in [true, false] {
            for isLate in [true, false] {
                let error = CallError(isUnsent: isUnsent, detail: "no answer", cause: .time)
                try await self.judge(
                    WordBench(question, isLate: isLate),
                    .silence(error),
                    isNo: false,
                    "unsent \(isUnsent), late \(isLate)"
                )
            }
        }
    }

    private func judge(_ bench: WordBench, _ word: WordServer.Word, isNo: Bool, _ what: String) async throws {
        let grants = bench.grants
        let holder = try await grants.signIn(bench.node, tokens: bench.tokens)
        var app = try await SharedGrantTests.join(holder, bench.node)
        // The provider says yes first, so that the gateway knows that userinfo accepts its tokens.
        grants.time.advance(by: .seconds(900))
        _ = try await SharedGrantTests.refresh(&app, bench.node)
        try await grants.settled(bench.node)
        #expect(grants.events.first == .renewed, "\(what)")

        if bench.isLate { bench.server.hold() }
        bench.server.say(word)
        grants.time.advance(by: .seconds(900))
        let former = app
        let refusal = try await SharedGrantTests.refusal(former, bench.node)
        if bench.isLate {
            #expect(refusal == nil, "\(what)")
            bench.server.release()
        } else {
            #expect(refusal == (isNo ? .refreshUserGone : nil), "\(what)")
        }
        try await grants.settled(bench.node)

        let isEnded = grants.events.contains { if case .ended = $0 { true } else { false } }
        #expect(isEnded == isNo, "\(what): \(grants.events)")
        #expect(try await (grants.session(holder) == nil) == isNo, "\(what)")
        #expect(try await (grants.session(app.root) == nil) == isNo, "\(what)")
        guard isNo else {
            // With its former token, as an app whose answer was lost.
            bench.server.say(nil)
            _ = try await SharedGrantTests.refresh(&app, bench.node)
            return
        }
        // A bare 401 is asked for once more.
        #expect(bench.server.questions == (bench.question.isOfTokens || bench.saysWhom(word) ? 1 : 2), "\(what)")
        #expect(try await SharedGrantTests.refusal(former, bench.node) == .refreshUnknown, "\(what)")
    }
}

/// A gateway whose users signed in at a provider with a scripted server.
private struct WordBench {
    let question: ProviderWordTests.Question
    /// Whether an app waits for no answer.
    let isLate: Bool
    let grants = GrantBench(isShared: true)
    let server = WordServer()
    let node: GrantBench.Node

    init(_ question: ProviderWordTests.Question, isLate: Bool) async throws {
        self.question = question
        self.isLate = isLate
        self.node = self.grants.node(longestWait: isLate ? .nanoseconds(1) : .minutes(10))
        let clock = self.grants.time.clock
        let name = self.grants.provider.name
        let client = ProviderClientSettings(id: "gateway", secret: Secret("client-secret"))
        let traits = [ClaimSettings.Trait(name: "name", path: ["name"])]
        let provider: any RefreshingProvider
        if question.isPlain {
            var settings = OAuth2Settings(
                name: name,
                authorizationURL: WordServer.origin + "/authorize",
                tokenURL: WordServer.tokenURL,
                userinfoURL: WordServer.userinfoURL,
                client: client
            )
            settings.claims.subject = ["sub"]
            settings.claims.traits = traits
            provider = try OAuth2Provider(settings, transport: self.server, clock: clock)
        } else {
            var settings = OpenIDSettings(issuer: name, client: client)
            settings.claims.traits = traits
            let openID = try OpenIDProvider(settings, transport: self.server, clock: clock)
            _ = await openID.issuer.metadata.current()
            provider = openID
        }
        self.node.grants.adopt([provider]) { _ in true }
        self.server.ask(question)
    }

    /// The tokens of the sign-in.
    var tokens: ProviderTokenSet {
        ProviderTokenSet(
            accessToken: Secret("access-1"),
            refreshToken: self.question.hasRefreshToken ? Secret("refresh-1") : nil,
            expiresAt: self.grants.time.now.advanced(by: .seconds(86_400))
        )
    }

    /// Whether the word is a no because it describes another user.
    func saysWhom(_ word: WordServer.Word) -> Bool {
        guard case .answer(let answer) = word else { return false }
        return answer.status == 200
    }
}

/// The server of a provider. It says yes to everything, until a test has it answer one question otherwise.
private final class WordServer: CallTransport {
    static let origin = "https://idp.example.com"
    static let tokenURL = origin + "/token"
    static let userinfoURL = origin + "/userinfo"

    enum Word: Sendable {
        case answer(CallAnswer)
        case silence(CallError)
    }

    private struct State {
        var url = WordServer.tokenURL
        var word: Word?
        var questions = 0
        var isReleased = true
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// How often the question was answered with the word.
    var questions: Int { self.state.withLock { $0.questions } }

    /// The word answers this question.
    func ask(_ question: ProviderWordTests.Question) {
        self.state.withLock { $0.url = question.isOfTokens ? Self.tokenURL : Self.userinfoURL }
    }

    /// Says `word` from now on; nil: yes.
    func say(_ word: Word?) { self.state.withLock { $0.word = word } }

    /// Holds answers until `release`.
    func hold() { self.state.withLock { $0.isReleased = false } }

    func release() {
        let held = self.state.withLock { state in
            state.isReleased = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        await withCheckedContinuation { continuation in
            let goesOn = self.state.withLock { state in
                if !state.isReleased { state.held.append(continuation) }
                return state.isReleased
            }
            if goesOn { continuation.resume() }
        }
        let word = self.state.withLock { state -> Word? in
            guard let word = state.word, call.url == state.url else { return nil }
            state.questions += 1
            return word
        }
        switch word {
        case .answer(let answer): return answer
        case .silence(let error): throw error
        case nil: return Self.yes(to: call)
        }
    }

    private static func yes(to call: OutgoingCall) -> CallAnswer {
        let document: JSONValue
        switch call.url {
        case self.tokenURL:
            document = [
                "access_token": "access-2", "token_type": "Bearer", "expires_in": 86_400, "refresh_token": "refresh-2",
            ]
        case self.userinfoURL: document = ["sub": "alice", "name": "Alice"]
        default:
            document = [
                "issuer": .string(self.origin), "authorization_endpoint": .string(self.origin + "/authorize"),
                "token_endpoint": .string(self.tokenURL), "userinfo_endpoint": .string(self.userinfoURL),
                "jwks_uri": .string(self.origin + "/keys"),
            ]
        }
        return CallAnswer(
            status: 200,
            fields: [("content-type", "application/json")],
            body: JSONText.encode(document)
        )
    }
}
