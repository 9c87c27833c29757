import Foundation
import GatewayBench
import KratosBench
import Testing

/// What users see while Kratos is slow, away, or answers nonsense.
@Suite("While Kratos fails", .blocking)
struct KratosOutageTests {
    private static let whoami = "/sessions/whoami"

    @Test(
        "A token that is not known yet is 503 with Retry-After, never 401, and is accepted as soon as Kratos answers",
        arguments: ["error", "tooMany", "garbage", "closes", "hangs", "down"]
    )
    func unknown(fault: String) throws {
        try KratosWorld.with { world throws in
            let session = world.kratos.newSession()
            let fields = ["X-Session-Token: \(session.token)"]
            switch fault {
            case "error": world.kratos.fail(Self.whoami, with: .status(500))
            case "tooMany": world.kratos.fail(Self.whoami, with: .status(429))
            case "garbage": world.kratos.fail(Self.whoami, with: .status(401, body: "<html>no</html>"))
            case "closes": world.kratos.fail(Self.whoami, with: .closes)
            case "hangs": world.kratos.fail(Self.whoami, with: .hangs)
            default: world.kratos.stop()
            }
            let answer = try world.gateway.request(Request.get("/x", fields), seconds: 10)
            #expect(answer.status == 503 && answer.value("retry-after") == "1" && answer.value("set-cookie") == nil)
            #expect(answer.reason == "provider.unavailable")
            // Other routes do not wait for it.
            #expect(try world.get("/public/x", fields).status == 200)
            world.kratos.heal()
            if fault == "down" { try world.kratos.start() }
            #expect(try world.get("/x", fields).status == 200)
        }
    }

    @Test(
        "A wall of 401 from a Kratos that is not ready: what was good serves repeatable requests, and nothing is cleared"
    )
    func wall() throws {
        try KratosWorld.with(provider: "cache: 1s, stale_if_error: 60s") { world throws in
            let session = world.kratos.newSession()
            let fields = ["Cookie: ory_kratos_session=\(session.cookie)", "Sec-Fetch-Site: same-origin"]
            #expect(try world.get("/x", fields).status == 200)
            world.kratos.fail(Self.whoami, with: .refusesAll)
            world.kratos.fail("/health/ready", with: .status(503))
            #expect(
                eventually {
                    guard let write = try? world.get("/x", fields, method: "POST") else { return false }
                    return write.status == 503 && write.value("retry-after") == "1"
                },
                "when the verdict has run out, a request that cannot be repeated is not served"
            )
            for method in ["GET", "PUT", "DELETE", "HEAD"] {
                let answer = try world.get("/x", fields, method: method)
                #expect(answer.status == 200 && answer.value("set-cookie") == nil, "\(method)")
            }
            // Kratos is itself again: a session that lives is confirmed, and writes are served.
            world.kratos.heal()
            #expect(eventually { (try? world.get("/x", fields, method: "POST").status) == 200 })
            // It really ends the session.
            world.kratos.change { state in state.change(session) { $0.isActive = false } }
            #expect(eventually { (try? world.get("/x", fields).status) == 401 })
        }
    }

    @Test("The log says when Kratos stops to answer and when it answers again, once each, and never a token")
    func logged() throws {
        try KratosWorld.with { world throws in
            let fields = ["X-Session-Token: \(world.kratos.newSession().token)"]
            world.kratos.fail(Self.whoami, with: .status(500))
            for _ in 0..<4 { #expect(try world.get("/x", fields).status == 503) }
            let told = "Kratos does not say whose sessions are"
            #expect(eventually { world.gateway.output.contains(told) })
            world.kratos.heal()
            #expect(try world.get("/x", fields).status == 200)
            #expect(eventually { world.gateway.output.contains("its sessions can be read again") })
            #expect(world.gateway.output.components(separatedBy: told).count == 2)
            #expect(Secrets.shared.found(in: world.gateway.output).isEmpty)
        }
    }

    @Test("An outage that lasts longer than the bridge is 503")
    func bounded() throws {
        try KratosWorld.with(provider: "cache: 1s, stale_if_error: 1s") { world throws in
            let fields = ["X-Session-Token: \(world.kratos.newSession().token)"]
            #expect(try world.get("/x", fields).status == 200)
            world.kratos.stop()
            #expect(eventually { (try? world.get("/x", fields).status) == 503 })
        }
    }
}
