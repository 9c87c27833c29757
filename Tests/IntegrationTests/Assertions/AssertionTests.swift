import Foundation
import GatewayBench
import Testing

@Suite("Assertions of the gateway", .blocking) struct AssertionTests {
    private static let routes = """
          - path: /**
            name: app
            client: web
          - path: /other/**
            audience: urn:other
          - path: /optional/**
            auth: optional
        """

    private static func file(_ upstream: Int, more: String = "") -> String {
        Config.file(upstream: upstream, routes: self.routes, more: AssertionBench.on + more)
    }

    @Test("An app gets one assertion with every request of a session, by cookie and by token, and never a client's own")
    func assertions() throws {
        try Gateway.withApp({ Self.file($0) }) { gateway, _ in
            let forged = [
                "X-Auth-Assertion: forged", "x_auth_assertion: forged", "X-AUTH_Assertion: forged",
                "X!Auth!Assertion: forged",
            ]
            #expect(try !gateway.get("/optional/", forged).text.contains("forged"))
            for credential in [
                "Cookie: sallyport=\(try gateway.browser())", "Authorization: Bearer \(try gateway.native())",
            ] {
                let answer = try gateway.get("/", forged + [credential])
                #expect(!answer.text.contains("forged"))
                let token = try AssertionBench.assertion(in: answer)
                let header = try AssertionBench.json(token, part: 0)
                #expect(header.keys.sorted() == ["alg", "kid", "typ"])
                #expect(header["alg"] as? String == "ES256" && header["typ"] as? String == "JWT")
                #expect(try header["kid"] as? String == AssertionBench.keyIDs(gateway).first)
                let claims = try AssertionBench.json(token, part: 1)
                let names = ["aud", "email", "exp", "groups", "iat", "iss", "sid", "sub"]
                #expect(claims.keys.sorted() == names)
                #expect(claims["iss"] as? String == Request.origin + "/" && claims["aud"] as? String == Request.origin)
                #expect(claims["sub"] as? String == "user-1815" && claims["email"] as? String == "ada@example.com")
                #expect(claims["groups"] as? [String] == ["staff", "admins"])
                let sid = try #require(claims["sid"] as? String)
                #expect(answer.text.contains("X-Auth-Session-Id: \(sid)\r\n"))
                let (issued, expiry) = (claims["iat"] as? Int ?? 0, claims["exp"] as? Int ?? 0)
                #expect(expiry - issued == 60)
            }
        }
    }

    @Test("Requests share an assertion for a while, and each audience and each session has its own")
    func sharing() throws {
        try Gateway.withApp({ Self.file($0) }) { gateway, _ in
            let ada = "Authorization: Bearer \(try gateway.native())"
            let grace = "Authorization: Bearer \(try gateway.native(.grace))"
            func assertion(_ path: String, _ credential: String) throws -> String {
                try AssertionBench.assertion(in: gateway.get(path, [credential]))
            }
            let first = try assertion("/", ada)
            #expect(try (0..<20).allSatisfy { try assertion("/page/\($0)", ada) == first })
            let other = try assertion("/other/", ada)
            #expect(try AssertionBench.json(other, part: 1)["aud"] as? String == "urn:other")
            #expect(try assertion("/other/x", ada) == other && assertion("/x", ada) == first)
            #expect(try AssertionBench.json(assertion("/", grace), part: 1)["sub"] as? String == "user-1906")
        }
    }

    @Test("No assertion is sent without a session, or while assertions are off")
    func absence() throws {
        try Gateway.withApp({ Self.file($0) }) { (gateway, app) throws in
            #expect(try gateway.get("/optional/").status == 200)
            #expect(app.requests.last?.values("x-auth-assertion") == [])
            #expect(try gateway.get("/").status == 401)
        }
        try Gateway.withApp { (gateway, app) throws in
            #expect(try gateway.get("/", ["Authorization: Bearer \(try gateway.native())"]).status == 200)
            #expect(app.requests.last?.values("x-auth-assertion") == [])
            #expect(try AssertionBench.keyIDs(gateway).count == 1, "the keys are published in any case")
        }
    }

    @Test("No assertion is in a log or in an answer to a client, even if the app repeats it")
    func nothingLeaks() throws {
        let repeating = FakeUpstream.answering { link, request in
            let assertion = request.values("x-auth-assertion").first ?? ""
            link.answer("200 OK", "X-Auth-Assertion: \(assertion)\r\nX_Auth_Assertion: \(assertion)\r\n")
        }
        let app = try FakeUpstream(serve: repeating)
        defer { app.stop() }
        try Gateway.with(Self.file(app.port)) { gateway throws in
            let answer = try gateway.get("/", ["Authorization: Bearer \(try gateway.native())"])
            let assertion = try #require(app.requests.last?.values("x-auth-assertion").first)
            #expect(answer.status == 200 && !answer.lines.contains { $0.contains(assertion) })
            #expect(eventually { gateway.output.contains(#""path":"/""#) }, "\(gateway.output)")
            #expect(!gateway.output.contains(assertion.suffix(43)))
        }
    }

    @Test("An assertion counts for identity.max_size")
    func size() throws {
        func status(_ size: Int) throws -> Int {
            let text = AssertionBench.on.replacing("{assertion:", with: "{max_size: \(size), assertion:")
            return try Gateway.with(Config.file(upstream: 9, more: text)) { gateway in
                let answer = try gateway.get("/", ["Authorization: Bearer \(try gateway.native())"])
                #expect(answer.status == 502 || answer.reason == "identity.too_large", "\(answer.lines)")
                return answer.status
            }
        }
        // The other fields have about 300 bytes, and the assertion about 550.
        #expect(try status(512) == 403)
        #expect(try status(1500) == 502, "it would be forwarded")
    }

    @Test("explain says that an app gets an assertion, and does not show one; check says what is wrong with a key file")
    func commands() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name).path }
        for (name, curve) in [("good.pem", "prime256v1"), ("curve.pem", "secp384r1")] {
            let made = try Servers.run("/usr/bin/openssl", ["ecparam", "-name", curve, "-genkey", "-out", path(name)])
            #expect(made.status == 0, "\(made.output)")
        }
        try "nothing".write(toFile: path("text.pem"), atomically: true, encoding: .utf8)
        func run(_ command: String, keys: String?, _ arguments: [String]) throws -> (status: Int32, output: String) {
            let more = keys.map { "signing_key_file: \($0)\n" } ?? ""
            let settings = Self.file(9, more: more)
            try settings.write(toFile: path("settings.yaml"), atomically: true, encoding: .utf8)
            let arguments = [command, "--config", path("settings.yaml"), "--insecure-http"] + arguments
            return try Servers.run(Gateway.binary.path, arguments)
        }
        for keys in [nil, "good.pem"] {
            let url = ["--url", "http://app.example.com/other/", "--user", "ada@example.com"]
            let explained = try run("explain", keys: keys, url)
            #expect(explained.output.contains("X-Auth-Assertion: <signed for urn:other>\n"), "\(explained.output)")
            #expect(!explained.output.contains("eyJ"))
        }
        #expect(try run("check", keys: "good.pem", []).status == 0)
        for (keys, words) in [
            ("curve.pem", "signing_key_file: key 1 is for ES384"), ("text.pem", "signing_key_file: no private key"),
            ("none.pem", "signing_key_file"),
        ] {
            let checked = try run("check", keys: keys, [])
            #expect(checked.status == 1 && checked.output.contains(words), "\(keys): \(checked.output)")
        }
    }
}
