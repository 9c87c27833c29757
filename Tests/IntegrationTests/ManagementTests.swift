import Foundation
import GatewayBench
import Testing
import Vocabulary

/// An address of `listen` with the role `management`.
@Suite("Operators at an address of their own", .blocking) struct ManagementTests {
    private static let host = "manage.localhost"

    private func with(_ body: (Gateway, _ port: Int) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let url = "http://\(Self.host):\(port)"
        let listen = "[\"127.0.0.1:0\", {address: \"127.0.0.1:\(port)\", role: management, public_url: \"\(url)\"}]"
        let settings = Config.file(upstream: app.port, listen: listen).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
        )
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file]) { gateway throws in
            try body(gateway, port)
        }
    }

    private func curl(_ port: Int, _ target: String, _ more: [String], host: String = host) throws -> String {
        let run = try Servers.run(
            "/usr/bin/curl",
            ["-sS", "--connect-to", "::127.0.0.1:", "--url", "http://\(host):\(port)\(target)", "-w", " %{http_code}"]
                + more
        )
        #expect(run.status == 0, "\(run.output)")
        return run.output
    }

    @Test("The calls for operators work there as at the admin listener, and nothing else is served")
    func calls() throws {
        try self.with { gateway, port throws in
            let token = ["--header", "authorization: Bearer \(OperatorTokens.all)"]
            let change = [
                "--request", "PATCH", "--header", "content-type: application/json",
                "--data", #"{"session_transfer": {"can_create_session_transfer_token": false}}"#,
            ]
            let changed = try self.curl(port, "/api/v2/clients//native", token + change)
            #expect(changed.contains(#""can_create_session_transfer_token":false"#) && changed.hasSuffix(" 200"))
            #expect(try gateway.exchange(gateway.native()).status >= 400)
            #expect(try self.curl(port, "/limits?address=192.0.2.1", token).hasSuffix(" 200"))
            for path in ["/metrics", "/healthz", "/readyz", "/", "/.sallyport/login"] {
                #expect(try self.curl(port, path, token).hasSuffix(" 404"), "\(path)")
            }
            for headers in [[], ["--header", "authorization: Bearer x"]] {
                #expect(try self.curl(port, "/api/v2/clients", headers).hasSuffix(" 401"))
            }
            #expect(
                eventually {
                    gateway.output.contains(#""event":"operator.acted""#)
                        && gateway.output.contains(#""event":"operator.refused""#)
                }
            )
            // The clients' own address serves none of it.
            #expect(try gateway.get("/api/v2/clients", ["Authorization: Bearer \(OperatorTokens.all)"]).status != 200)
        }
    }

    @Test("Only its own host is served, also to whoever has a token")
    func otherHost() throws {
        try self.with { _, port throws in
            let token = ["--header", "authorization: Bearer \(OperatorTokens.all)"]
            for host in ["127.0.0.1", "localhost", "other.localhost"] {
                #expect(try self.curl(port, "/api/v2/clients", token, host: host).hasSuffix(" 404"), "\(host)")
            }
        }
    }

    @Test("Whoever has no good token is slowed down, and nobody who has one")
    func throttled() throws {
        try self.with { gateway, port throws in
            let many = try Servers.run(
                "/usr/bin/curl",
                [
                    "-sS", "--connect-to", "::127.0.0.1:", "-H", "authorization: Bearer x", "-o", "/dev/null", "-w",
                    "%{http_code} ", "http://\(Self.host):\(port)/api/v2/clients/[1-80]",
                ]
            ).output.split(separator: " ")
            #expect(many.count == 80 && many.first == "401" && many.contains("429"), "\(many)")
            let refused = try self.curl(port, "/api/v2/clients", ["--header", "authorization: Bearer x"])
            let reason = Reason.operatorThrottled.rawValue
            #expect(refused.contains("\"errorCode\":\"\(reason)\"") && refused.hasSuffix(" 429"), "\(refused)")
            let token = ["--header", "authorization: Bearer \(OperatorTokens.all)"]
            #expect(try self.curl(port, "/api/v2/clients", token).hasSuffix(" 200"))
            // One line for all of them.
            func lines() -> Int {
                gateway.output.split(separator: "\n").count {
                    $0.contains(#""event":"operator.refused""#) && $0.contains(reason)
                }
            }
            #expect(eventually { lines() > 0 } && lines() == 1)
            // The admin listener is for operators only.
            #expect(try gateway.operate("GET", "/api/v2/clients", token: "x").status == 401)
        }
    }
}
