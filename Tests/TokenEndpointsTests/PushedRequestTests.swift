import Cryptography
import Endpoints
import JOSE
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Pushed authorization requests (RFC 9126)")
struct PushedRequestTests {
    private static let parameters: [String: String] = [
        "client_id": "native-app", "response_type": "code", "redirect_uri": TokenBench.callback, "state": "a state&b",
        "code_challenge": TokenBench.challenge, "code_challenge_method": "S256", "scope": "offline_access orders:read",
    ]

    private static func push(
        _ bench: TokenBench,
        _ changes: [String: String?] = [:],
        fields: [(name: String, value: String)] = []
    ) async -> Answer {
        var all = self.parameters
        for (name, value) in changes { all[name] = value }
        return await bench.form(all, to: bench.pushed.endpoint, fields: fields)
    }

    /// Sends a browser with a reference.
    private static func open(
        _ bench: TokenBench,
        _ requestURI: String,
        cookie: String? = nil,
        more: [(name: String, value: String)] = []
    ) async -> Answer {
        await bench.authorize(
            [(name: "client_id", value: "native-app"), (name: "request_uri", value: requestURI)] + more,
            cookie: cookie
        )
    }

    /// The request with which a browser comes back from the sign-in page.
    private static func back(_ answer: Answer) throws -> [(name: String, value: String)] {
        let back = try #require(answer.redirect["return_to"]).split(separator: "?", maxSplits: 1)[1]
        return FormText.pairs(Array(back.utf8)).map { (name: $0.name, value: $0.value) }
    }

    private static func user(_ bench: TokenBench) async throws -> String {
        try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
    }

    @Test("the answer is a reference for a minute, which gives one code; what stands beside it does not count")
    func code() async throws {
        let bench = TokenBench()
        let cookie = try await Self.user(bench)
        let pushed = await Self.push(bench)
        #expect(pushed.status == 201)
        #expect(pushed.body["expires_in"] == .integer(60))
        #expect(pushed.field("cache-control") == "no-store")
        let uri = pushed.text("request_uri")
        #expect(uri.hasPrefix("urn:ietf:params:oauth:request_uri:spq_"))
        let more = [
            (name: "redirect_uri", value: "https://evil.example.com/"), (name: "scope", value: "orders:write"),
            (name: "state", value: "other"), (name: "response_mode", value: "form_post"),
            (name: "auth0Client", value: "eyJ"), (name: "prompt", value: "login"),
        ]
        let answer = await Self.open(bench, uri, cookie: cookie, more: more)
        #expect(answer.field("location")?.hasPrefix(TokenBench.callback) == true)
        #expect(answer.redirect["state"] == "a state&b")
        let tokens = await bench.redeem(try #require(answer.redirect["code"]))
        #expect(tokens.text("scope") == "offline_access orders:read")
        let again = await Self.open(bench, uri, cookie: cookie)
        #expect(again.reason == .oauthRequestUnknown && again.field("location") == nil)
    }

    @Test("of 16 browsers with one reference one gets a code")
    func parallel() async throws {
        let bench = TokenBench()
        let cookie = try await Self.user(bench)
        let uri = await Self.push(bench).text("request_uri")
        let answers = await withTaskGroup(of: Answer.self, returning: [Answer].self) { group in
            for _ in 0..<16 { group.addTask { await Self.open(bench, uri, cookie: cookie) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.redirect["code"] != nil } == 1)
        #expect(answers.count { $0.reason == .oauthRequestUnknown } == 15)
    }

    @Test("a user who is sent to the sign-in page in time may take longer there, and a new browser may not")
    func signIn() async throws {
        let bench = TokenBench()
        let uri = await Self.push(bench).text("request_uri")
        bench.clock.advance(by: .seconds(59))
        let answer = await Self.open(bench, uri, more: [(name: "ui_locales", value: "de")])
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login?") == true)
        let query = try Self.back(answer)
        #expect(Set(query.map(\.name)) == ["client_id", "request_uri", "sallyport_signed_in"])
        bench.clock.advance(by: .seconds(600))
        let cookie = try await Self.user(bench)
        #expect(await Self.open(bench, uri, cookie: cookie).reason == .oauthRequestUnknown)
        let code = await bench.authorize(query, cookie: cookie).redirect["code"]
        #expect(await bench.redeem(try #require(code)).status == 200)
        // The same mark is of no use for another reference.
        let other = await Self.push(bench).text("request_uri")
        bench.clock.advance(by: .seconds(61))
        let moved = query.map { $0.name == "request_uri" ? (name: "request_uri", value: other) : $0 }
        #expect(await bench.authorize(moved, cookie: cookie).reason == .oauthRequestUnknown)
    }

    @Test("prompt=login asks once")
    func again() async throws {
        let bench = TokenBench()
        let old = try await Self.user(bench)
        bench.clock.advance(by: .seconds(5))
        let answer = await Self.open(
            bench,
            await Self.push(bench, ["prompt": "login"]).text("request_uri"),
            cookie: old
        )
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login?") == true)
        bench.clock.advance(by: .seconds(1))
        let query = try Self.back(answer)
        #expect(await bench.authorize(query, cookie: old).redirect["code"] == nil)
        #expect(await bench.authorize(query, cookie: try await Self.user(bench)).redirect["code"] != nil)
    }

    @Test("a reference of another client, or of none, is a page, which leads to where the client begins a sign-in")
    func strangers() async throws {
        let bench = TokenBench { client in
            if client.clientID == "web" { client.initiateLoginURI = "https://web.example.com/login?x=1" }
        }
        let cookie = try await Self.user(bench)
        let uri = await Self.push(bench).text("request_uri")
        func open(_ parameters: (String, String)...) async -> Answer {
            await bench.authorize(parameters.map { (name: $0.0, value: $0.1) }, cookie: cookie)
        }
        let other = await open(("client_id", "web"), ("request_uri", uri))
        #expect(other.status == 400 && other.reason == .oauthRequestUnknown && other.field("location") == nil)
        #expect(other.response.signIn == "https://web.example.com/login?x=1&iss=https%3A%2F%2Fauth.example.com%2F")
        #expect(await open(("request_uri", uri)).reason == .oauthInvalidClient)
        #expect(await open(("client_id", "nobody"), ("request_uri", uri)).reason == .oauthInvalidClient)
        let twice = await open(("client_id", "native-app"), ("client_id", "web"), ("request_uri", uri))
        #expect(twice.reason == .oauthInvalidClient)
        let two = await open(("client_id", "native-app"), ("request_uri", uri), ("request_uri", uri + "x"))
        #expect(two.reason == .oauthInvalidRequest)
        let unknown = await Self.open(bench, "urn:ietf:params:oauth:request_uri:x", cookie: cookie)
        #expect(unknown.reason == .oauthRequestUnknown && unknown.response.signIn == nil)
        #expect(await Self.open(bench, uri, cookie: cookie).redirect["code"] != nil, "it is still good")
    }

    @Test(
        "what /authorize would refuse is refused at once, in OAuth's JSON",
        arguments: [
            (["redirect_uri": "https://evil.example.com/"], "invalid_request"),
            (["redirect_uri": nil], "invalid_request"),
            (["response_type": "token"], "unsupported_response_type"), (["code_challenge": nil], "invalid_request"),
            (["request_uri": "urn:ietf:params:oauth:request_uri:x"], "invalid_request"),
            (["request": "eyJ"], "request_not_supported"), (["audience": "https://other"], "invalid_target"),
            (["client_id": "nobody"], "invalid_client"), (["client_id": "server app"], "invalid_client"),
            (["client_id": nil], "invalid_client"), (["client_secret": "x"], "invalid_client"),
        ] as [([String: String?], String)]
    )
    func refusals(change: [String: String?], error: String) async throws {
        let answer = await Self.push(TokenBench(), change)
        #expect(answer.status == 400)
        #expect(answer.error == error)
        #expect(answer.description != nil && answer.field("location") == nil)
        #expect(answer.field("content-type")?.hasPrefix("application/json") == true)
        #expect(answer.field("cache-control") == "no-store")
    }

    @Test("a confidential client authenticates, and its secret is not kept", arguments: [true, false])
    func confidential(isBasic: Bool) async throws {
        let bench = TokenBench { client in
            if client.clientID == "server app" {
                client.callbacks = [RedirectURI("https://server.example.com/cb")].compactMap(\.self)
            }
        }
        let secret = "s3cr%t+:ü"
        var change: [String: String?] = ["redirect_uri": "https://server.example.com/cb", "client_id": "server app"]
        var fields: [(name: String, value: String)] = []
        if isBasic {
            change["client_id"] = .some(nil)
            let pair = "\(TokenBench.escaped("server app")):\(TokenBench.escaped(secret))"
            fields.append(("authorization", "Basic \(Base64.encode(Array(pair.utf8)))"))
        } else {
            change["client_secret"] = secret
        }
        let uri = await Self.push(bench, change, fields: fields).text("request_uri")
        let key = try #require(bench.authority.key(.pushedRequest, of: Array(uri.utf8.dropFirst(34))))
        guard
            case .live(let stored) = try await bench.store.singleUse(key, as: PushedRequest.self, on: bench.loop).get()
        else {
            Issue.record("nothing is kept")
            return
        }
        #expect(
            stored.record.query.contains("client_id=server+app")
                || stored.record.query.contains("client_id=server%20app")
        )
        #expect(!stored.record.query.contains("s3cr"))
        var reader = CompactReader(
            {
                var writer = CompactWriter()
                stored.record.write(to: &writer)
                return writer.bytes
            }()
        )
        #expect(try PushedRequest.read(from: &reader) == stored.record)
    }

    @Test("a proof binds the code to its key as dpop_jkt does, and must not contradict it (RFC 9449 10.1)")
    func proof() async throws {
        let bench = TokenBench()
        let cookie = try await Self.user(bench)
        let maker = DPoPProofMaker(.generated(.es256))
        func proof(_ path: String) -> String {
            maker.proof(method: "POST", url: "https://auth.example.com" + path, at: bench.clock.now)
        }
        let other = String(repeating: "A", count: 43)
        let contradiction = await Self.push(bench, ["dpop_jkt": other], fields: [("dpop", proof("/oauth/par"))])
        #expect(contradiction.status == 400 && contradiction.error == "invalid_request")
        #expect(await Self.push(bench, fields: [("dpop", proof("/oauth/token"))]).error == "invalid_dpop_proof")
        let pushed = await Self.push(bench, fields: [("dpop", proof("/oauth/par"))])
        #expect(pushed.status == 201 && pushed.field("dpop-nonce") != nil)
        let code = try #require(await Self.open(bench, pushed.text("request_uri"), cookie: cookie).redirect["code"])
        #expect(await bench.redeem(code).status == 400)
        #expect(await bench.redeem(code, proof: proof("/oauth/token")).text("token_type") == "DPoP")
    }

    @Test("one address cannot push endlessly for a public client; a server pushes for all its users")
    func limits() async throws {
        let bench = TokenBench { client in
            client.callbacks = [RedirectURI(TokenBench.callback)].compactMap(\.self)
        }
        for _ in 0..<100 { #expect(await Self.push(bench).status == 201) }
        let throttled = await Self.push(bench)
        #expect(throttled.status == 429 && throttled.reason == .oauthThrottled && throttled.field("retry-after") != nil)
        let server: [String: String?] = ["client_id": "server app", "client_secret": "s3cr%t+:ü"]
        for _ in 0..<101 { #expect(await Self.push(bench, server).status == 201) }
        bench.clock.advance(by: .milliseconds(200))
        #expect(await Self.push(bench).status == 201)
    }

    @Test("an error that the client gets is the one answer, too")
    func promptNone() async throws {
        let bench = TokenBench()
        let uri = await Self.push(bench, ["prompt": "none"]).text("request_uri")
        let query = [(name: "client_id", value: "native-app"), (name: "request_uri", value: uri)]
        #expect(await bench.authorize(query).redirect["error"] == "login_required")
        let cookie = try await Self.user(bench)
        #expect(await bench.authorize(query, cookie: cookie).reason == .oauthRequestUnknown)
    }

    @Test("an outage is 503 with Retry-After, and uses nothing up")
    func outage() async throws {
        let bench = TokenBench()
        let cookie = try await Self.user(bench)
        let uri = await Self.push(bench).text("request_uri")
        bench.store.change { $0.failure = .unavailable }
        let refused = await Self.push(bench)
        #expect(refused.status == 503 && refused.error == "temporarily_unavailable")
        #expect(refused.field("retry-after") != nil)
        let page = await Self.open(bench, uri, cookie: cookie)
        #expect(page.status == 503 && page.field("retry-after") != nil)
        bench.store.change { $0.failure = nil }
        #expect(await Self.open(bench, uri, cookie: cookie).redirect["code"] != nil)
    }

    @Test(
        "a session-transfer token beside the reference signs in, as one in the pushed request does, and is tried once"
    )
    func transfer() async throws {
        for isPushed in [true, false] {
            let bench = TokenBench()
            let minted = await bench.post(json: bench.parameters(try await bench.signIn())).text("access_token")
            let change: [String: String?] = [
                "client_id": "web", "redirect_uri": "https://web.example.com/cb", "prompt": "none",
                "session_transfer_token": isPushed ? minted : nil,
            ]
            let uri = await Self.push(bench, change).text("request_uri")
            var query = [(name: "client_id", value: "web"), (name: "request_uri", value: uri)]
            if !isPushed { query.append((name: "session_transfer_token", value: minted)) }
            #expect(await bench.authorize(query).redirect["code"] != nil)
        }
        let bench = TokenBench()
        let change: [String: String?] = [
            "client_id": "web", "redirect_uri": "https://web.example.com/cb", "session_transfer_token": "spt_no",
        ]
        let uri = await Self.push(bench, change).text("request_uri")
        let query = [(name: "client_id", value: "web"), (name: "request_uri", value: uri)]
        let answer = await bench.authorize(query)
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login?") == true)
        let cookie = try await Self.user(bench)
        #expect(await bench.authorize(try Self.back(answer), cookie: cookie).redirect["code"] != nil)
    }
}
