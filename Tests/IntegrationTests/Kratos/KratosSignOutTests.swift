import Foundation
import GatewayBench
import KratosBench
import Testing

@Suite("Signing out of Kratos's sessions at the gateway", .blocking)
struct KratosSignOutTests {
    private static let sameOrigin = ["Sec-Fetch-Site: same-origin", "Origin: \(Request.origin)"]

    private func isActive(_ session: KratosState.Session, _ bench: KratosGatewayBench) -> Bool {
        bench.kratos.change { state in state.sessions.first { $0.id == session.id }?.isActive == true }
    }

    @Test("A browser's sign-out ends the session at Kratos and here, at once; other sessions of the user go on")
    func browser() throws {
        try KratosGatewayBench.with { bench throws in
            let (session, other) = (bench.kratos.newSession(), bench.kratos.newSession())
            let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
            for _ in 0..<4 { #expect(try bench.get("/x", [cookie]).status == 200) }
            #expect(try bench.get("/.sallyport/logout", [cookie], method: "POST").status == 403, "from anywhere")
            let out = try bench.gateway.request(
                Request.post("/.sallyport/logout", [cookie, "Accept: application/json"] + Self.sameOrigin, body: "")
            )
            #expect(out.status == 204 && !self.isActive(session, bench) && self.isActive(other, bench))
            for _ in 0..<4 { #expect(try bench.get("/x", [cookie]).status == 401) }
            #expect(try bench.get("/x", ["Cookie: ory_kratos_session=\(other.cookie)"]).status == 200)
        }
    }

    @Test("An app's sign-out ends its token at Kratos and here; it may be repeated")
    func token() throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            let field = "X-Session-Token: \(session.token)"
            #expect(try bench.get("/x", [field]).status == 200)
            for _ in 0..<2 { #expect(try bench.get("/.sallyport/logout", [field], method: "POST").status == 204) }
            #expect(!self.isActive(session, bench))
            #expect(try bench.get("/x", [field]).status == 401)
        }
    }

    @Test(
        "If Kratos cannot be told, the session ends here, the answer is 503, and a repeated sign-out ends it there too"
    )
    func away() throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            let field = "X-Session-Token: \(session.token)"
            #expect(try bench.get("/x", [field]).status == 200)
            bench.kratos.fail("/self-service/logout/api", with: .status(500))
            let failed = try bench.get("/.sallyport/logout", [field], method: "POST")
            #expect(failed.status == 503 && failed.value("retry-after") != nil)
            #expect(self.isActive(session, bench))
            #expect(try bench.get("/x", [field]).status == 401, "here it has ended")
            bench.kratos.heal()
            #expect(try bench.get("/.sallyport/logout", [field], method: "POST").status == 204)
            #expect(!self.isActive(session, bench))
        }
    }

    @Test("With the admin API a session ends by its id")
    func admin() throws {
        let kratos = try KratosDouble(publicURL: Request.origin)
        defer { kratos.stop() }
        try KratosGatewayBench.with(provider: "admin_url: \"\(kratos.url)\"") { bench throws in
            let session = bench.kratos.newSession()
            let field = "X-Session-Token: \(session.token)"
            #expect(try bench.get("/x", [field]).status == 200)
            #expect(try bench.get("/.sallyport/logout", [field], method: "POST").status == 204)
            #expect(kratos.calls(of: "/admin/sessions/\(session.id)").count == 1)
        }
    }
}
