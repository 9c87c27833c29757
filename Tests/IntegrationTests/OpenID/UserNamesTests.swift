import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// A user of a provider that a reload puts beside another one, or leaves alone on its host: sessions keep the name with which
/// they began, and whoever ends the user's sessions ends those of both names.
@Suite("Every name of a user", .blocking)
struct UserNamesTests {
    private static let app = "http://app.example.com"
    private static let page = "\(Self.app)/.sallyport/sessions"
    private static let alone = "providers: [beta]"
    private static let together = "providers: [alpha, beta]"

    /// Who signs the user out.
    enum End: String, CaseIterable, CustomTestStringConvertible {
        case backChannel, ownID, name, command, commandByName, page, kratosPath
        var testDescription: String { self.rawValue }
    }

    private struct Bench {
        let beta: OpenIDProvider
        let gateway: Gateway
        let settings: String

        func reload(_ providers: String) throws {
            try self.gateway.reload(self.settings.replacing("PROVIDERS", with: providers))
        }

        /// A browser in which the user has signed in, and what the app calls the user.
        func signIn() throws -> (user: WebUser, name: String) {
            var user = WebUser(self.gateway)
            let login = "\(UserNamesTests.app)/.sallyport/login?return_to=/x&provider=beta"
            let answer = try user.open(login).answer
            let name = try #require(answer.text.firstMatch(of: /X-User: (\S+)/), "\(answer.text)").1
            return (user, String(name))
        }

        func isSignedIn(_ user: WebUser) throws -> Bool {
            var user = user
            let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: application/json"]
            return try user.send("GET", "\(UserNamesTests.app)/x", script).status == 200
        }

        /// How many sessions the user's own page shows.
        func shown(to user: WebUser) throws -> Int {
            var user = user
            return try user.send("GET", UserNamesTests.page).text.split(separator: "<li>").count - 1
        }

        /// How many sessions operators see.
        func listed(_ subject: String) throws -> Int {
            let target = "/sessions?subject=\(subject)&provider=beta"
            let text = try self.gateway.operate("GET", target, token: OperatorTokens.reader).text
            return text.split(separator: "\"handle\"").count - 1
        }

        func post(_ path: String, _ body: String) throws -> Int {
            var server = WebUser(self.gateway)
            let type = "Content-Type: application/x-www-form-urlencoded"
            return try server.send("POST", UserNamesTests.app + path, [type], body: body).status
        }

        func run(_ arguments: [String]) throws -> Int32 {
            let all =
                ["sessions"] + arguments + ["--token-file", "-", "--admin", "127.0.0.1:\(self.gateway.adminPort)"]
            return try Servers.run(Gateway.binary.path, all, input: Array("\(OperatorTokens.all)\n".utf8)).status
        }

        /// Signs the user `att2` out, as far as this way can: who stays signed in sent the request.
        func signOut(by end: End, _ user: WebUser) throws {
            var user = user
            let form = "Content-Type: application/x-www-form-urlencoded"
            switch end {
            case .backChannel:
                let token = self.beta.logoutToken(sessionID: nil, subject: "att2")
                #expect(try self.post("/.sallyport/backchannel-logout", "logout_token=\(token)") == 200)
            case .ownID, .name:
                let id = end == .ownID ? "att2" : "beta%7Catt2"
                let target = "/subjects/\(id)/sign-out?provider=beta"
                #expect(try self.gateway.operate("POST", target, token: OperatorTokens.all).status == 204)
                // Nobody is there any more.
                #expect(try self.gateway.operate("POST", target, token: OperatorTokens.all).status == 404)
            case .command, .commandByName:
                let id = end == .command ? "att2" : "beta|att2"
                let arguments = ["end", "--subject", id, "--provider", "beta"]
                #expect(try self.run(arguments) == 0)
                #expect(try self.run(arguments) == 2)
            case .page:
                let fields = ["Origin: \(UserNamesTests.app)", form]
                #expect(try user.send("POST", UserNamesTests.page, fields, body: "others=1").status == 303)
            case .kratosPath:
                let fields = ["Origin: \(UserNamesTests.app)", "Accept: application/json"]
                let answer = try user.send("DELETE", "\(UserNamesTests.app)/sessions", fields)
                #expect(answer.status == 200 && answer.text.contains("1"), "\(answer.text)")
            }
        }
    }

    private static func with(_ first: String, redis: Bool = false, _ body: (Bench) throws -> Void) throws {
        let alpha = try OpenIDProvider(OpenIDScript())
        defer { alpha.stop() }
        var script = OpenIDScript(user: OpenIDScript.User("att2", claims: [:]))
        script.accessTokenLifetime = .seconds(300)
        let beta = try OpenIDProvider(script)
        defer { beta.stop() }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        let server = redis ? try RedisProcess() : nil
        defer { server?.stop() }
        func element(_ name: String, _ provider: OpenIDProvider) -> String {
            """
              - name: \(name)
                oidc: {issuer: "\(provider.issuer)", client_id: gateway, client_secret_file: client-secret}

            """
        }
        let settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            secret_file: secret
            admin: {listen: 127.0.0.1:0, tokens_file: operator-tokens}
            upstream: http://127.0.0.1:\(upstream.port)
            session: {cookie: sallyport}
            identity: {headers: {X-User: subject}}
            \(server.map { "store: {redis: {url: \"redis://127.0.0.1:\($0.port)\"}}" } ?? "")
            hosts:
              - public_url: \(Self.app)
                endpoints: true
                PROVIDERS
                routes: [{path: /**}]
              - public_url: http://other.example.com
                endpoints: true
                providers: [alpha]
                routes: [{path: /**}]
            providers:
            \(element("alpha", alpha))\(element("beta", beta))\
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "operator-tokens": OperatorTokens.file, "client-secret": OpenIDScript().clients[0].secret ?? "",
            "secret": String(repeating: "s", count: 48) + "\n",
        ]
        try Gateway.with(settings.replacing("PROVIDERS", with: first), files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(Bench(beta: beta, gateway: gateway, settings: settings))
        }
    }

    /// A session of before the reload and one of after it end together.
    private func ends(by end: End, isPutBeside: Bool, redis: Bool) throws {
        let (first, second) = isPutBeside ? (Self.alone, Self.together) : (Self.together, Self.alone)
        try Self.with(first, redis: redis) { bench throws in
            let former = try bench.signIn()
            #expect(former.name == (isPutBeside ? "att2" : "beta|att2"))
            try bench.reload(second)
            #expect(try bench.isSignedIn(former.user))
            let present = try bench.signIn()
            #expect(present.name == (isPutBeside ? "beta|att2" : "att2"))
            for user in [former.user, present.user] { #expect(try bench.shown(to: user) == 2) }
            for name in ["att2", "beta%7Catt2"] { #expect(try bench.listed(name) == 2) }
            let stays = end == .page || end == .kratosPath
            try bench.signOut(by: end, former.user)
            #expect(try bench.isSignedIn(former.user) == stays)
            #expect(try !bench.isSignedIn(present.user))
            // What has ended stays ended where the names change back.
            try bench.reload(first)
            #expect(try bench.isSignedIn(former.user) == stays)
            #expect(try !bench.isSignedIn(present.user))
        }
    }

    @Test(
        "A reload that puts a provider beside another: sessions of before and after it end together",
        arguments: End.allCases
    )
    func putBeside(end: End) throws { try self.ends(by: end, isPutBeside: true, redis: false) }

    @Test(
        "A reload that leaves a provider alone: sessions of before and after it end together",
        arguments: End.allCases
    )
    func leftAlone(end: End) throws { try self.ends(by: end, isPutBeside: false, redis: false) }

    @Test(
        "The names are found in Redis, too",
        arguments: [(End.backChannel, true), (.ownID, false), (.page, true), (.command, false)]
    )
    func redis(end: End, isPutBeside: Bool) throws {
        guard Servers.find(["/usr/bin/redis-server"]) != nil else { try Servers.missing("redis-server") }
        try self.ends(by: end, isPutBeside: isPutBeside, redis: true)
    }

    @Test(
        "Without a reload, operators name the user of a provider that stands beside another by its id or by the apps' name"
    )
    func operators() throws {
        try Self.with(Self.together) { bench throws in
            for (end, other) in [(End.ownID, "att2"), (.name, "att2"), (.command, "att2"), (.commandByName, "att2")] {
                let signedIn = try bench.signIn()
                #expect(try bench.listed(other) == 1)
                try bench.signOut(by: end, signedIn.user)
                #expect(try !bench.isSignedIn(signedIn.user))
            }
            let signedIn = try bench.signIn()
            // The name that apps know says whose user it is.
            let target = "/sessions?subject=beta%7Catt2"
            #expect(try bench.gateway.operate("DELETE", target, token: OperatorTokens.all).status == 204)
            #expect(try !bench.isSignedIn(signedIn.user))
            for target in ["/sessions?subject=att3&provider=beta", target, "/sessions?subject=att2&provider=alpha"] {
                let answer = try bench.gateway.operate("DELETE", target, token: OperatorTokens.all)
                #expect(answer.status == 404 && answer.reason == "session.unknown", "\(answer.text)")
            }
        }
    }

    @Test(
        "A user whose own id reads like another one's name is another person on the page, and ends nobody else's sessions"
    )
    func lookalike() throws {
        try Self.with(Self.together) { bench throws in
            let victim = try bench.signIn()
            #expect(victim.name == "beta|att2")
            try bench.reload(Self.alone)
            bench.beta.change { $0.user = OpenIDScript.User("beta|att2", claims: [:]) }
            let lookalike = try bench.signIn()
            bench.beta.change { $0.user = OpenIDScript.User("att2", claims: [:]) }
            let present = try bench.signIn()
            #expect(present.name == "att2" && lookalike.name == "beta|att2")
            #expect(try bench.shown(to: present.user) == 2)
            try bench.signOut(by: .page, present.user)
            #expect(try bench.isSignedIn(lookalike.user))
            #expect(try !bench.isSignedIn(victim.user))
        }
    }
}
