import Foundation
import GatewayBench
import Testing

/// Apache with mod_auth_openidc as an app that believes the assertion alone. It reads keys over https only, from a proxy
/// in front of the gateway.
@Suite("mod_auth_openidc as a resource server", .blocking) struct ResourceServerTests {
    @Test(
        "It signs users in by their assertion alone, also after the secret was rotated while it keeps the former keys"
    )
    func signsIn() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let apache = try ApacheBench(in: folder)
        let front = try TLSFront(in: folder)
        let port = try ServerPorts.take()
        let settings = Config.file(
            upstream: apache.port,
            listen: "127.0.0.1:\(port)",
            more: AssertionBench.on + "secret_file: secret\n"
        )
        let next = String(repeating: "a second secret, ", count: 4)
        let first = AssertionBench.firstSecret
        // Each assertion is for one minute, and the module keeps the keys for an hour.
        let app = try apache.start(
            [
                "OIDCOAuthVerifyJwksUri https://127.0.0.1:\(front.port)/.sallyport/jwks.json",
                "OIDCOAuthSSLValidateServer Off",
                "RequestHeader set Authorization \"expr=Bearer %{req:X-Auth-Assertion}\" early",
            ],
            requiring: ["iss:\(Request.origin)/", "aud:\(Request.origin)", "groups:staff"]
        )
        defer { app.stop() }
        let keys = try front.start(gateway: port, host: Request.host)
        defer { keys.stop() }
        try Gateway.with(settings, files: ["secret": "\(first)\n\(next)\n"]) { try Self.check($0, apache.port) }
        // The module cannot ask for keys any more.
        keys.stop()
        try Gateway.with(settings, files: ["secret": "\(next)\n\(first)\n"]) { try Self.check($0, apache.port) }
    }

    private static func check(_ gateway: Gateway, _ appPort: Int) throws {
        let answer = try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser())"])
        #expect(answer.status == 200 && answer.text == "the page", "\(answer.lines)")
        #expect(answer.values("x-user") == ["user-1815"])
        // Mary is in no group.
        let mary = try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser(.mary))"])
        #expect([401, 403].contains(mary.status), "\(mary.lines)")
        for forged in ["", "X-Auth-Assertion: a.b.c\r\n"] {
            let direct = try Wire(to: appPort).request("GET / HTTP/1.1\r\nHost: \(Request.host)\r\n\(forged)\r\n")
            #expect(direct.status == 401, "\(direct.lines)")
        }
    }
}
