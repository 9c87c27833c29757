import Foundation
import GatewayBench
import Testing

@Suite(
    "Libraries of others verify assertions",
    .blocking,
    .enabled(if: Verifiers.python != nil, "PyJWT, jwcrypto and joserfc are not installed")
)
struct VerifierTests {
    private static func settings(_ upstream: Int) -> String {
        Config.file(upstream: upstream, more: AssertionBench.on + "secret_file: secret\n")
    }

    /// An assertion, and the key set at that time.
    private static func sample(_ gateway: Gateway) throws -> (token: String, keys: String) {
        let answer = try gateway.get("/", ["Authorization: Bearer \(try gateway.native())"])
        return (try AssertionBench.assertion(in: answer), try gateway.get("/.sallyport/jwks.json").text)
    }

    @Test("PyJWT, jwcrypto and joserfc accept an assertion, and refuse it for another audience, issuer, key or content")
    func accepted() throws {
        let files = ["secret": AssertionBench.firstSecret]
        try Gateway.withApp({ Self.settings($0) }, files: files) { gateway, _ in
            let (token, keys) = try Self.sample(gateway)
            let stranger = try Gateway.with(Config.file(upstream: 9)) { try $0.get("/.sallyport/jwks.json").text }
            let body = """
                token, keys, origin, stranger = values
                for library in libraries:
                    claims = library(keys, token, origin + '/', origin)
                    assert claims['sub'] == 'user-1815' and claims['groups'] == ['staff', 'admins'], claims
                    assert refuses(library, keys, token, origin + '/', 'https://other.example'), library
                    assert refuses(library, keys, token, 'https://other.example', origin), library
                    assert refuses(library, keys, token, origin, origin), library
                    assert refuses(library, stranger, token, origin + '/', origin), library
                    head, payload, signature = token.split('.')
                    for changed in [payload[:-2] + ('A' if payload[-2] != 'A' else 'B') + payload[-1], payload + 'A']:
                        assert refuses(library, keys, '.'.join([head, changed, signature]), origin + '/', origin), library
                """
            let run = try Verifiers.run(body, [token, keys, Request.origin, stranger])
            #expect(run.isDone, "\(run.output)")
        }
    }

    /// As the guide Assertions says it for PyJWT, with its own cache of keys.
    @Test("PyJWT's client fetches the keys from the gateway once")
    func client() throws {
        let files = ["secret": AssertionBench.firstSecret]
        try Gateway.withApp({ Self.settings($0) }, files: files) { gateway, _ in
            let token = try Self.sample(gateway).token
            let body = """
                token, address, host = values
                keys = jwt.PyJWKClient(address + '/.sallyport/jwks.json', headers={'Host': host})
                for _ in range(3):
                    claims = jwt.decode(token, keys.get_signing_key_from_jwt(token), algorithms=['ES256'],
                                        audience='http://' + host, issuer='http://' + host + '/', leeway=5)
                    assert claims['email'] == 'ada@example.com'
                """
            let path = #""path":"/.sallyport/jwks.json""#
            // The line of the sample's own request may be late.
            #expect(eventually { gateway.output.contains(path) })
            let before = gateway.output.components(separatedBy: path).count
            let run = try Verifiers.run(body, [token, "http://127.0.0.1:\(gateway.port)", Request.host])
            #expect(run.isDone, "\(run.output)")
            #expect(eventually { gateway.output.components(separatedBy: path).count == before + 1 })
        }
    }

    /// A verifier that fetches the keys at one step of a rotation has to verify what is signed until the next step.
    @Test("A rotation of the secret in three steps fails no verifier that caches the keys")
    func rotation() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let secret = folder.appending(path: "secret").path
        let app = try FakeUpstream()
        defer { app.stop() }
        var samples: [(token: String, keys: String)] = []
        for step in ["make", "add", "promote", "retire"] {
            let run = try Servers.run(Gateway.binary.path, ["keys", step, secret])
            #expect(run.status == 0, "\(run.output)")
            if step == "add" {
                #expect(run.output.contains("wait 60 minutes more") && run.output.contains("5 minutes"))
            }
            let files = ["secret": try String(contentsOfFile: secret, encoding: .utf8)]
            samples.append(try Gateway.with(Self.settings(app.port), files: files) { try Self.sample($0) })
        }
        let body = """
            origin, samples = values[0], list(zip(values[1::2], values[2::2]))
            for library in libraries:
                for step, (token, keys) in enumerate(samples):
                    library(keys, token, origin + '/', origin)
                    if step > 0:
                        library(samples[step - 1][1], token, origin + '/', origin)
                # The published sets differ, and a retired key verifies nothing any more.
                assert refuses(library, samples[3][1], samples[0][0], origin + '/', origin), library
                assert refuses(library, samples[0][1], samples[2][0], origin + '/', origin), library
            """
        let run = try Verifiers.run(body, [Request.origin] + samples.flatMap { [$0.token, $0.keys] })
        #expect(run.isDone, "\(run.output)")
    }
}
