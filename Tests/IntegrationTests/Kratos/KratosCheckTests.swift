import Foundation
import GatewayBench
import KratosBench
import Testing

@Suite("check --network: Kratos", .blocking)
struct KratosCheckTests {
    private func check(_ kratos: String) throws -> (status: Int32, lines: [String]) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "check.yaml")
        let settings = """
            public_url: \(Request.origin)
            trusted_proxies: [127.0.0.1]
            upstream: http://127.0.0.1:1
            provider: {kratos: \(kratos)}

            """
        try Data(settings.utf8).write(to: file)
        let (status, output) = try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
        let lines = output.split(separator: "\n").drop { $0 != "network:" }.dropFirst()
        return (
            status, lines.map { $0.trimmingCharacters(in: .whitespaces).replacing(/127\.0\.0\.1:\d+/, with: "HOST") }
        )
    }

    @Test("A Kratos that is ready and sends browsers back is right")
    func right() throws {
        let kratos = try KratosDouble(publicURL: Request.origin)
        defer { kratos.stop() }
        let (status, lines) = try self.check("{public_url: \"\(kratos.url)\", admin_url: \"\(kratos.url)\"}")
        #expect(status == 0)
        #expect(
            lines == [
                "ok       kratos public API: http://HOST is ready",
                "ok       kratos sessions: http://HOST/sessions/whoami refuses a request without a session, as it should",
                "ok       kratos return_to: it sends browsers back to http://app.example.com",
                "ok       kratos admin API: http://HOST is ready",
            ]
        )
    }

    @Test("Each mistake is named with its mend")
    func wrong() throws {
        let kratos = try KratosDouble(publicURL: "https://other.example.com")
        defer { kratos.stop() }
        let settings = "{public_url: \"\(kratos.url)\"}"
        let (status, lines) = try self.check(settings)
        #expect(status != 0)
        #expect(
            lines.last == "error    kratos return_to: it does not send browsers back to http://app.example.com: "
                + "add http://app.example.com/ to selfservice.allowed_return_urls"
        )
        kratos.fail("/sessions/whoami", with: .status(404, body: "<html>"))
        #expect(try self.check(settings).lines.contains { $0.contains("is this the public API of Kratos?") })
        kratos.fail("/health/ready", with: .status(503))
        let unready = try self.check(settings)
        #expect(
            unready.lines == [
                "error    kratos public API: http://HOST/health/ready answers with status 503: see its log"
            ]
        )
        kratos.stop()
        #expect(try self.check(settings).lines.first?.hasPrefix("error    kratos public API: ") == true)
    }
}
