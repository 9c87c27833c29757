import Foundation
import GatewayBench
import Testing

@Suite("The published keys of the gateway", .blocking) struct KeySetTests {
    @Test("Every host publishes the keys, hosts with endpoints also at the usual path, and all alike")
    func hosts() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            listen: 127.0.0.1:0
            admin: {listen: "127.0.0.1:0"}
            upstream: http://127.0.0.1:\(app.port)
            drain: {delay: 0s}
            hosts:
              - public_url: http://a.example.com
                endpoints: true
                routes: [{path: /**, auth: public}]
              - public_url: http://b.example.com
                routes: [{path: /**, auth: public}]
            """
        try Gateway.with(settings) { gateway throws in
            func ask(_ method: String, _ host: String, _ path: String) throws -> Answer {
                let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host).example.com", "Origin: https://c.example"]
                return try gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n")
            }
            let first = try ask("GET", "a", "/.sallyport/jwks.json")
            #expect(first.status == 200 && first.text.hasPrefix(#"{"keys":[{"alg":"ES256""#), "\(first.text)")
            #expect(first.value("cache-control") == "public, max-age=300")
            #expect(first.values("access-control-allow-origin") == ["*"])
            #expect(first.value("content-type") == "application/json")
            for (host, path) in [("a", "/.well-known/jwks.json"), ("b", "/.sallyport/jwks.json")] {
                #expect(try ask("GET", host, path).body == first.body)
                let head = try ask("HEAD", host, path)
                #expect(head.status == 200 && head.value("content-length") == "\(first.body.count)")
                let preflight = try ask("OPTIONS", host, path)
                #expect(preflight.status == 204 && preflight.value("access-control-allow-origin") == "*")
                #expect(preflight.value("access-control-allow-methods") == "GET, HEAD, OPTIONS")
                #expect(try ask("POST", host, path).status == 405)
            }
            #expect(try ask("GET", "b", "/.well-known/jwks.json").text.hasPrefix("GET /.well-known/jwks.json"))
        }
    }

    @Test("Gateways with one secret publish one key, and each accepted secret adds its own")
    func secrets() throws {
        let one = AssertionBench.firstSecret
        let two = String(repeating: "a second secret, ", count: 4)
        func names(_ secret: String) throws -> [String] {
            let settings = Config.file(upstream: 9, more: "secret_file: secret\n")
            return try Gateway.with(settings, files: ["secret": secret]) { try AssertionBench.keyIDs($0) }
        }
        let first = try names(one)
        #expect(try first.count == 1 && names(one) == first)
        let second = try names(two)
        #expect(try names("\(one)\n\(two)\n") == first + second)
        #expect(try names("\(two)\n\(one)\n") == second + first)
    }

    @Test("The keys of signing_key_file replace those of the secret, and a reload takes a new file over")
    func keyFile() throws {
        func key() throws -> String {
            let made = try Servers.run("/usr/bin/openssl", ["ecparam", "-name", "prime256v1", "-genkey"])
            #expect(made.status == 0)
            return made.output
        }
        let (old, new) = (try key(), try key())
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, more: AssertionBench.on + "signing_key_file: keys.pem\n")
        try Gateway.with(settings, files: ["keys.pem": old]) { gateway throws in
            let credential = "Authorization: Bearer \(try gateway.native())"
            func signer() throws -> String? {
                let token = try AssertionBench.assertion(in: gateway.get("/", [credential]))
                return try AssertionBench.json(token, part: 0)["kid"] as? String
            }
            let first = try AssertionBench.keyIDs(gateway)
            #expect(try first.count == 1 && signer() == first[0])
            let file = gateway.folder.appending(path: "keys.pem")
            try (old + new).write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            let both = try AssertionBench.keyIDs(gateway)
            #expect(try both.count == 2 && both[0] == first[0] && signer() == first[0])
            try (new + old).write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(try AssertionBench.keyIDs(gateway) == both.reversed() && signer() == both[1])
            try "no key".write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(try gateway.output.contains("not reloaded") && signer() == both[1], "the former keys stay in use")
        }
    }

    // MARK: id_tokens

    /// The members of the published RSA keys at the usual path.
    private static func clientKeys(_ gateway: Gateway) throws -> [[String: String]] {
        let answer = try gateway.get("/.well-known/jwks.json")
        let set = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: [[String: String]]]
        return (set?["keys"] ?? []).filter { $0["kty"] == "RSA" }
    }

    private static func rsaKey(_ bits: Int) throws -> String {
        let made = try Servers.run(
            "/usr/bin/openssl",
            ["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)"]
        )
        guard made.status == 0, let start = made.output.range(of: "-----BEGIN") else { throw BenchFailure(made.output) }
        return String(made.output[start.lowerBound...])
    }

    @Test("A gateway without clients makes no key for id_tokens")
    func noClients() throws {
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            admin: {listen: "127.0.0.1:0"}
            upstream: http://127.0.0.1:9
            drain: {delay: 0s}
            routes: [{path: /**, auth: public}]
            """
        try Gateway.with(settings) { gateway throws in
            #expect(try Self.clientKeys(gateway) == [])
            #expect(!gateway.output.contains("id_tokens"))
        }
    }

    @Test("A gateway with clients publishes an RSA key for id_tokens, at the usual path alone, made on demand")
    func idTokenKey() throws {
        try Gateway.with(Config.file(upstream: 9)) { gateway throws in
            let made = "id_tokens: there was no signing key, so one was made"
            #expect(!gateway.output.contains(made))
            let keys = try Self.clientKeys(gateway)
            #expect(try keys.count == 1 && Self.clientKeys(gateway) == keys)
            let key = try #require(keys.first)
            #expect(key.keys.sorted() == ["alg", "e", "kid", "kty", "n", "use"])
            #expect(key["alg"] == "RS256" && key["use"] == "sig" && key["n"]?.count == 342)
            #expect(eventually { gateway.output.contains(made) })
            let answer = try gateway.get("/.well-known/jwks.json")
            #expect(answer.text.contains("ES256") && answer.value("cache-control") == "public, max-age=300")
            #expect(try !gateway.get("/.sallyport/jwks.json").text.contains("RSA"))
        }
    }

    @Test("RSA keys in signing_key_file sign id_tokens instead, and leave the keys of assertions as they are")
    func idTokenKeyFile() throws {
        let (one, two) = (try Self.rsaKey(2048), try Self.rsaKey(3072))
        let settings = Config.file(upstream: 9, more: "secret_file: secret\nsigning_key_file: keys.pem\n")
        let secret = AssertionBench.firstSecret
        let own = try Gateway.with(Config.file(upstream: 9, more: "secret_file: secret\n"), files: ["secret": secret]) {
            try AssertionBench.keyIDs($0)
        }
        try Gateway.with(settings, files: ["keys.pem": one, "secret": secret]) { gateway throws in
            let first = try Self.clientKeys(gateway)
            #expect(try first.count == 1 && AssertionBench.keyIDs(gateway) == own)
            let file = gateway.folder.appending(path: "keys.pem")
            try (two + one).write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            let both = try Self.clientKeys(gateway)
            #expect(both.count == 2 && both[1] == first[0])
            try Self.rsaKey(1024).write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(try gateway.output.contains("not reloaded") && Self.clientKeys(gateway) == both)
            #expect(!gateway.output.contains("id_tokens: there was no signing key"))
        }
    }

    @Test("rotate-signing says what to do instead where there is no key in Redis, and what is wrong with the settings")
    func rotateElsewhere() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func run(_ settings: String) throws -> (status: Int32, output: String) {
            let file = folder.appending(path: "settings.yaml")
            try settings.write(to: file, atomically: true, encoding: .utf8)
            let arguments = ["keys", "rotate-signing", "--config", file.path, "--insecure-http"]
            return try Servers.run(Gateway.binary.path, arguments + ["--insecure-unnamed-proxy"])
        }
        try Self.rsaKey(2048).write(to: folder.appending(path: "keys.pem"), atomically: true, encoding: .utf8)
        for (settings, words) in [
            (Config.file(upstream: 9), ["store.memory keeps no key", "signing_key_file"]),
            (
                Config.file(upstream: 9, more: "signing_key_file: keys.pem"),
                ["signing_key_file has an RSA key", "60 minutes"]
            ),
            (Config.file(upstream: 9, more: "no_such_key: 1"), ["no_such_key"]),
        ] {
            let made = try run(settings)
            #expect(made.status == 1 && words.allSatisfy(made.output.contains), "\(made.output)")
        }
    }
}
