import Foundation
import GatewayBench
import KratosBench
import Testing

/// What users see while Kratos is slow, away, or answers nonsense.
@Suite("While Kratos fails", .blocking)
struct KratosOutageTests {
    private static let whoami = "/sessions/whoami"

    @Test(
        "F15: A token that is not known yet is 503 with Retry-After, never 401, and is accepted as soon as Kratos answers",
        arguments: ["error", "tooMany", "garbage", "closes", "hangs", "down"]
    )
    func unknown(fault: String) throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            let fields = ["X-Session-Token: \(session.token)"]
            switch fault {
            case "error": bench.kratos.fail(Self.whoami, with: .status(500))
            case "tooMany": bench.kratos.fail(Self.whoami, with: .status(429))
            case "garbage": bench.kratos.fail(Self.whoami, with: .status(401, body: "<html>no</html>"))
            case "closes": bench.kratos.fail(Self.whoami, with: .closes)
            case "hangs": bench.kratos.fail(Self.whoami, with: .hangs)
            default: bench.kratos.stop()
            }
            let answer = try bench.gateway.request(Request.get("/x", fields), seconds: 10)
            #expect(answer.status == 503 && answer.value("retry-after") == "1" && answer.value("set-cookie") == nil)
            #expect(answer.reason == "provider.unavailable")
            // Other routes do not wait for it.
            #expect(try bench.get("/public/x", fields).status == 200)
            bench.kratos.heal()
            if fault == "down" { try bench.kratos.start() }
            #expect(try bench.get("/x", fields).status == 200)
        }
    }

    @Test(
        "F15: A wall of 401 from a Kratos that is not ready: what was good serves repeatable requests, and nothing is cleared"
    )
    func wall() throws {
        try KratosGatewayBench.with(provider: "cache: 1s, stale_if_error: 60s") { bench throws in
            let session = bench.kratos.newSession()
            let fields = ["Cookie: ory_kratos_session=\(session.cookie)", "Sec-Fetch-Site: same-origin"]
            #expect(try bench.get("/x", fields).status == 200)
            bench.kratos.fail(Self.whoami, with: .refusesAll)
            bench.kratos.fail("/health/ready", with: .status(503))
            #expect(
                eventually {
                    guard let write = try? bench.get("/x", fields, method: "POST") else { return false }
                    return write.status == 503 && write.value("retry-after") == "1"
                },
                "when the verdict has run out, a request that cannot be repeated is not served"
            )
            for method in ["GET", "PUT", "DELETE", "HEAD"] {
                let answer = try bench.get("/x", fields, method: method)
                #expect(answer.status == 200 && answer.value("set-cookie") == nil, "\(method)")
            }
            // Kratos is itself again: a session that lives is confirmed, and writes are served.
            bench.kratos.heal()
            #expect(eventually { (try? bench.get("/x", fields, method: "POST").status) == 200 })
            // It really ends the session.
            bench.kratos.change { state in state.change(session) { $0.isActive = false } }
            #expect(eventually { (try? bench.get("/x", fields).status) == 401 })
        }
    }

    @Test("The log says when Kratos stops to answer and when it answers again, once each, and never a token")
    func logged() throws {
        try KratosGatewayBench.with { bench throws in
            let fields = ["X-Session-Token: \(bench.kratos.newSession().token)"]
            bench.kratos.fail(Self.whoami, with: .status(500))
            for _ in 0..<4 { #expect(try bench.get("/x", fields).status == 503) }
            let told = "Kratos does not confirm sessions"
            #expect(eventually { bench.gateway.output.contains(told) })
            bench.kratos.heal()
            #expect(try bench.get("/x", fields).status == 200)
            #expect(eventually { bench.gateway.output.contains("its sessions can be read again") })
            #expect(bench.gateway.output.components(separatedBy: told).count == 2)
            #expect(Secrets.shared.found(in: bench.gateway.output).isEmpty)
        }
    }

    @Test("An outage that lasts longer than the bridge is 503")
    func bounded() throws {
        try KratosGatewayBench.with(provider: "cache: 1s, stale_if_error: 1s") { bench throws in
            let fields = ["X-Session-Token: \(bench.kratos.newSession().token)"]
            #expect(try bench.get("/x", fields).status == 200)
            bench.kratos.stop()
            #expect(eventually { (try? bench.get("/x", fields).status) == 503 })
        }
    }
}
