import Foundation
import GatewayBench
import ProofBench
import RedisServers
import TestSupport
import Testing
import Vocabulary

/// Codes and refresh tokens at two gateways that share one Redis.
@Suite("The authorization server at two gateways", .blocking) struct AuthorizationServerTests {
    private struct Bench: Sendable {
        let gateways: [Gateway]

        /// A request with a proof, for a token that no gateway has issued.
        static func proven(_ proof: String) -> String {
            Self.form([proof], "grant_type=refresh_token&client_id=app&refresh_token=x")
        }

        /// A request with a form.
        static func form(
            _ fields: [String] = [],
            to path: String = "/oauth/token",
            _ parameters: String...
        ) -> String {
            let fields = ["Content-Type: application/x-www-form-urlencoded"] + fields
            return Request.post(path, fields, body: parameters.joined(separator: "&"))
        }

        static func redemption(of code: String) -> String {
            Self.form(
                [],
                "grant_type=authorization_code&client_id=app&code=\(code)",
                "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            )
        }

        static func rotation(of token: String) -> String {
            Self.form([], "grant_type=refresh_token&client_id=app&refresh_token=\(token)")
        }

        /// - Parameter address: From which the user signs in, as sign-ins are limited by address.
        func code(_ index: Int, from address: String? = nil) throws -> String {
            let query =
                "client_id=app&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let cookie = "Cookie: sallyport=\(try self.gateways[index].browser(from: address))"
            let answer = try self.gateways[index].get("/authorize?" + query, [cookie])
            return try Self.match(answer.lines.joined(), /[?&]code=([A-Za-z0-9_-]+)/)
        }

        func send(_ index: Int, _ request: String) throws -> Answer { try self.gateways[index].request(request) }

        func redeem(_ index: Int, _ code: String) throws -> Answer {
            try self.send(index, Self.redemption(of: code))
        }

        func refresh(_ index: Int, _ token: String) throws -> Answer { try self.send(index, Self.rotation(of: token)) }

        /// The same, repeated while the gateway is without Redis.
        func patiently(_ index: Int, _ request: String) throws -> Answer {
            var answer = try self.send(index, request)
            let isAnswered = eventually {
                if answer.status == 503, let next = try? self.send(index, request) { answer = next }
                return answer.status != 503
            }
            #expect(isAnswered)
            return answer
        }

        /// The first refresh token of a new sign-in.
        func family(from address: String? = nil) throws -> String {
            try Self.refresh(try self.redeem(0, try self.code(0, from: address)))
        }

        func status(_ index: Int, _ token: String) throws -> Int {
            try self.gateways[index].get("/orders/", ["Authorization: Bearer \(token)"]).status
        }

        static func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
            guard let found = text.firstMatch(of: pattern) else { throw BenchFailure(text) }
            return String(found.1)
        }

        static func access(_ answer: Answer) throws -> String {
            try self.match(answer.text, /"access_token":"(spa_[^"]+)"/)
        }
        static func refresh(_ answer: Answer) throws -> String {
            try self.match(answer.text, /"refresh_token":"(spr_[^"]+)"/)
        }

        /// The answers to one request that connections to both gateways send before any of them reads.
        ///
        /// - Parameters:
        ///   - count: How many connections. A family may be used sixty times at once.
        ///   - lost: So many of them leave without their answers.
        ///   - meanwhile: Runs while the gateways have the requests.
        func together(
            _ request: String,
            count: Int = 32,
            lost: Int = 0,
            meanwhile: () async throws -> Void = {}
        ) async throws -> [Answer] {
            var wires = try (0..<count).map { try self.gateways[$0 % 2].connect() }
            for wire in wires { wire.send(request) }
            wires.removeFirst(lost)
            try await meanwhile()
            let answers = try wires.map { try $0.answer(seconds: 10) }
            #expect(answers.allSatisfy { $0.isWhole })
            return answers
        }

        /// Presents a token that counts no more.
        func expectRefused(_ token: String) async throws {
            let answers = try await self.together(Self.rotation(of: token), count: 4)
            #expect(answers.allSatisfy { $0.status == 400 && $0.text.contains("invalid_grant") })
        }
    }

    /// - Parameter skews: By how much the clock of each gateway's machine is ahead; nil: no clock is.
    private func with(
        _ server: RedisServer,
        skews: (Duration, Duration)? = nil,
        _ body: (Bench) async throws -> Void
    ) async throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings =
            Config.file(
                upstream: app.port,
                routes: "  - {path: /**}\n  - {path: /orders/**, name: orders}",
                clients: "  - {client_id: app, callbacks: [\"myapp://auth/callback\"]}",
                more: """
                    secret_file: secret
                    apis: [{audience: "https://api.example.com", scopes: [read], routes: [orders]}]
                    """
            )
        let files = ["secret": "a secret of two gateways, long enough\n"]
        func start(_ skew: Duration?) throws -> Gateway {
            var environment = try skew.map { try FakeTime.environment(aheadBy: $0) } ?? [:]
            environment["SALLYPORT_REDIS_URL"] = RedisURLs.standalone(server.port)
            return try Gateway(settings, files: files, environment: environment)
        }
        let first = try start(skews?.0)
        defer { first.stop() }
        let second = try start(skews?.1)
        defer { second.stop() }
        for gateway in [first, second] {
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
        }
        try await body(Bench(gateways: [first, second]))
        for gateway in [first, second] {
            #expect(!gateway.output.contains("spr_") && !gateway.output.contains("spc_"))
        }
    }

    @Test("A request that is pushed at one gateway gives one code at both together")
    func pushed() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let request = Bench.form(
                    [],
                    to: "/oauth/par",
                    "client_id=app&response_type=code&scope=openid&code_challenge_method=S256",
                    "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
                )
                let pushed = try bench.send(0, request)
                #expect(pushed.status == 201)
                let uri = try Bench.match(pushed.text, /(urn:ietf:params:oauth:request_uri:spq_[A-Za-z0-9_-]+)/)
                let cookie = "Cookie: sallyport=\(try bench.gateways[0].browser())"
                let answers = try await bench.together(
                    Request.get("/authorize?client_id=app&request_uri=\(uri)", [cookie])
                )
                #expect(answers.count { $0.status == 303 } == 1)
                #expect(answers.count { $0.status == 400 } == 31)
                let code = try #require(answers.first { $0.status == 303 })
                let redeemed = try bench.redeem(0, try Bench.match(code.lines.joined(), /[?&]code=([A-Za-z0-9_-]+)/))
                #expect(redeemed.status == 200)
            }
        }
    }

    @Test("Of 32 requests with one code at both gateways one gets tokens, and the others end them")
    func code() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let answers = try await bench.together(Bench.redemption(of: try bench.code(0)))
                #expect(answers.count { $0.status == 200 } == 1)
                #expect(answers.count { $0.status == 400 } == 31)
                let tokens = try #require(answers.first { $0.status == 200 })
                #expect(tokens.text.contains("id_token"))
                let access = try Bench.access(tokens)
                #expect(eventually(within: 3) { (try? bench.status(1, access)) == 401 })
                #expect(try bench.refresh(1, try Bench.refresh(tokens)).status == 400)
            }
        }
    }

    @Test("32 refreshes of one token at both gateways give one successor; a replay ends the family at both")
    func refresh() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let token = try bench.family()
                let answers = try await bench.together(Bench.rotation(of: token))
                #expect(answers.count == 32)
                #expect(answers.allSatisfy { $0.status == 200 })
                let successors = Set(try answers.map(Bench.refresh))
                #expect(successors.count == 1, "of lengths \(successors.map { $0.utf8.count })")
                let next = try bench.refresh(1, try Bench.refresh(answers[0]))
                let access = try Bench.access(next)
                #expect(try bench.status(0, access) == 200)
                #expect(try bench.status(1, access) == 200)
                try await bench.expectRefused(token)
                #expect(eventually(within: 3) { (try? bench.status(1, access)) == 401 })
                #expect(try bench.refresh(1, try Bench.refresh(next)).status == 400)
            }
        }
    }

    @Test(
        "A user sees an app's grant among the sessions, with its last use, and ends it: refresh and access tokens, at both"
    )
    func listed() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let native = try bench.gateways[1].native()
                let fields = ["X-Session-Token: \(native)"]
                let first = try bench.redeem(0, try bench.code(0))
                let next = try bench.refresh(1, try Bench.refresh(first))
                let access = [try Bench.access(first), try Bench.access(next)]
                for token in access { #expect(try bench.status(1, token) == 200) }
                func listed() throws -> Int {
                    let text = try bench.gateways[1].get("/sessions", fields).text
                    guard case .array(let all)? = JSONText.decode(Array(text.utf8)) else { return 0 }
                    return all.count
                }
                // The grant, and the browser's session through which it came; no access token is one.
                #expect(eventually { (try? listed()) == 2 })
                let end = Request.get("/sessions", fields, method: "DELETE")
                #expect(try bench.gateways[0].request(end).text == #"{"count":2}"#)
                for index in 0..<2 {
                    for token in access { #expect(eventually { (try? bench.status(index, token)) == 401 }) }
                    let refused = try bench.refresh(index, try Bench.refresh(next))
                    #expect(refused.status == 400 && refused.text.contains("invalid_grant"))
                    #expect(try bench.gateways[index].get("/sessions/whoami", fields).status == 200)
                }
            }
        }
    }

    @Test("Clients that lost the answer to a refresh get the same successor, at either gateway")
    func lostAnswers() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                var token = try bench.family()
                for lost in [12, 11, 12] {
                    // In one round a client waits for its answer; in the others all leave at once.
                    let answers = try await bench.together(Bench.rotation(of: token), count: 12, lost: lost)
                    let again = try (0..<2).map { try bench.refresh($0, token) }
                    #expect(again.allSatisfy { $0.status == 200 })
                    let successors = Set(try (answers + again).map(Bench.refresh))
                    #expect(successors.count == 1)
                    token = try #require(successors.first)
                }
                #expect(try bench.refresh(0, token).status == 200)
            }
        }
    }

    @Test("Redis is killed while 32 requests refresh one token: they get one successor, and nobody loses the family")
    func kills() async throws {
        try await RedisServer.with(["--appendonly", "yes", "--appendfsync", "always"]) { server in
            try await self.with(server) { (bench) async throws in
                var numbers = SeededNumbers(seed: 32)
                for round in 0..<(isSoak ? 100 : 5) {
                    let token = try bench.family(from: "127.3.\(round).1")
                    let request = Bench.rotation(of: token)
                    let pause = Int.random(in: 0...10, using: &numbers)
                    let answers = try await bench.together(request, lost: 8) {
                        try await Task.sleep(for: .milliseconds(pause))
                        server.kill()
                        try await server.start()
                    }
                    #expect(answers.allSatisfy { $0.status == 200 || $0.status == 503 })
                    // Whoever has no answer asks again.
                    let again = try (0..<2).map { try bench.patiently($0, request) }
                    let successors = Set(
                        try (answers.filter { $0.status == 200 } + again).map(Bench.refresh)
                    )
                    #expect(successors.count == 1)
                    let next = try bench.refresh(round % 2, try #require(successors.first))
                    let access = try Bench.access(next)
                    #expect(try bench.status(0, access) == 200)
                    // Two have shown tokens of the family: it ends for both.
                    try await bench.expectRefused(token)
                    try await bench.expectRefused(try Bench.refresh(next))
                    #expect(eventually(within: 3) { (try? bench.status(1, access)) == 401 })
                }
            }
        }
    }

    @Test(
        "While Redis is gone tokens and codes get 503; what it has lost is invalid_grant once it is back without data"
    )
    func emptied() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let requests = [
                    Bench.rotation(of: try bench.family()), Bench.redemption(of: try bench.code(1)),
                ]
                server.kill()
                for request in requests {
                    for index in 0..<2 {
                        let answer = try bench.send(index, request)
                        #expect(answer.status == 503)
                        #expect(answer.text.contains("temporarily_unavailable"))
                    }
                }
                try await server.start()
                for request in requests {
                    for index in 0..<2 {
                        let answer = try bench.patiently(index, request)
                        #expect(answer.status == 400)
                        #expect(answer.text.contains("invalid_grant"))
                    }
                    let answers = try await bench.together(request)
                    #expect(answers.allSatisfy { $0.text.contains("invalid_grant") })
                }
                let token = try bench.family()
                #expect(try bench.refresh(1, token).status == 200)
            }
        }
    }

    @Test(
        "Redis comes back with an older copy: families go on from the tokens that clients have, and codes are no more"
    )
    func olderCopy() async throws {
        try await RedisServer.with(["--dbfilename", "backup.rdb"]) { server in
            try await self.with(server) { (bench) async throws in
                var tokens = [try bench.family()]
                let (used, unused) = (try bench.code(0), try bench.code(0))
                try server.command("SAVE")
                let later = try bench.family()
                #expect(try bench.redeem(1, used).status == 200)
                for index in 0..<2 { tokens.append(try Bench.refresh(try bench.refresh(index, tokens[index]))) }
                // Without a final save, Redis comes back in the state of the copy.
                server.kill()
                try await server.start()
                let next = try Bench.refresh(try bench.patiently(0, Bench.rotation(of: tokens[2])))
                let last = try Bench.refresh(try bench.patiently(1, Bench.rotation(of: next)))
                #expect(try bench.patiently(1, Bench.rotation(of: later)).text.contains("invalid_grant"))
                for code in [used, unused] {
                    let answers = try await bench.together(Bench.redemption(of: code))
                    #expect(answers.allSatisfy { $0.text.contains("invalid_grant") })
                }
                // Older ones end it, also those whose successors the copy does not know.
                try await bench.expectRefused(tokens[1])
                try await bench.expectRefused(last)
            }
        }
    }

    @Test("A proof is accepted once at both gateways together; after a restart of Redis proofs need a new nonce")
    func proofs() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) async throws in
                let key = ProofKey()
                let url = Request.origin + "/oauth/token"
                let asked = try bench.send(0, Bench.proven(key.field("POST", url)))
                #expect(asked.text.contains("use_dpop_nonce"))
                let nonce = try #require(asked.value("dpop-nonce"))
                key.nonce = nonce
                let proof = key.field("POST", url)
                let answers = try await bench.together(Bench.proven(proof))
                #expect(answers.count { $0.text.contains("invalid_grant") } == 1)
                #expect(answers.count { $0.text.contains("invalid_dpop_proof") } == 31)

                server.kill()
                try await server.start()
                let isNew = eventually {
                    let answer = try? bench.send(1, Bench.proven(key.field("POST", url)))
                    return answer?.text.contains("use_dpop_nonce") == true && answer?.value("dpop-nonce") != nonce
                }
                #expect(isNew)
                #expect(
                    eventually {
                        let answer = try? bench.send(0, Bench.proven(proof))
                        return answer?.text.contains("use_dpop_nonce") == true
                    }
                )
            }
        }
    }

    @Test("Redis hangs between refreshes: the family survives, and clients get 503 meanwhile")
    func outage() async throws {
        try await RedisServer.with { server in
            try await self.with(server) { (bench) throws in
                let token = try bench.family()
                server.pause()
                let failed = try bench.refresh(0, token)
                #expect(failed.status == 503)
                #expect(failed.text.contains("temporarily_unavailable"))
                server.resume()
                #expect(eventually { (try? bench.refresh(1, token).status) == 200 })
            }
        }
    }

    @Test("F17, T31: codes, refresh tokens and proofs are good at gateways whose machines' clocks differ by minutes")
    func skew() async throws {
        try await RedisServer.with { server in
            try await self.with(server, skews: (.seconds(300), .seconds(-300))) { (bench) async throws in
                for (writer, reader) in [(0, 1), (1, 0)] {
                    let first = try bench.redeem(reader, try bench.code(writer))
                    #expect(first.status == 200 && first.text.contains(#""expires_in":3600"#), "\(first.text)")
                    // By the clocks of the machines the predecessor's overlap of a minute would be over at once, or
                    // would last ten.
                    let token = try Bench.refresh(first)
                    let next = try bench.refresh(writer, token)
                    let again = try bench.refresh(reader, token)
                    #expect(try Bench.refresh(next) == Bench.refresh(again))
                    for answer in [first, next, again] {
                        let access = try Bench.access(answer)
                        for index in 0..<2 { #expect(try bench.status(index, access) == 200) }
                    }
                    // Devices with a right clock, and with one that is days off and a nonce of the other gateway.
                    let key = ProofKey()
                    let url = Request.origin + "/oauth/token"
                    let asked = try bench.send(writer, Bench.proven(key.field("POST", url)))
                    let nonce = try #require(asked.value("dpop-nonce"))
                    key.nonce = nonce
                    for lead in [Duration.zero, .seconds(300_000), .seconds(-300_000)] {
                        let proof = key.field("POST", url, ahead: lead)
                        #expect(try bench.send(reader, Bench.proven(proof)).text.contains("invalid_grant"))
                        #expect(try bench.send(writer, Bench.proven(proof)).text.contains("invalid_dpop_proof"))
                    }
                }
            }
        }
    }
}
