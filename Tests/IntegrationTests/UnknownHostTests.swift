import GatewayBench
import Testing

/// Requests for a name that no host has.
@Suite("A host that is not configured", .blocking) struct UnknownHostTests {
    @Test("The answer has a reason of its own, and the log names the configured hosts once")
    func logged() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            for name in ["127.0.0.1:8080", "other.example", "x.app.example.com"] {
                let answer = try gateway.request("GET / HTTP/1.1\r\nHost: \(name)\r\n\r\n")
                #expect(answer.status == 404 && answer.reason == "route.unknown_host", "\(name): \(answer.text)")
                #expect(!answer.text.contains("app.example.com"), "names are told to the log only")
            }
            #expect(try gateway.get("/.sallyport/nowhere").reason == "route.not_found")
            func lines() -> [Substring] {
                gateway.output.split(separator: "\n").filter {
                    $0.contains("a client asks for a host that is not configured")
                }
            }
            #expect(eventually { !lines().isEmpty })
            #expect(lines().count == 1)
            let line = lines().first.map(String.init) ?? ""
            #expect(line.contains("configured: app.example.com. A proxy in front must pass on Host"), "\(line)")
            #expect(line.contains(#""host":"127.0.0.1:8080""#), "\(line)")
        }
    }

    @Test("On the machine itself the page and the document name the host that works there")
    func loopback() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port).replacing(
            "http://app.example.com",
            with: "http://localhost:8080"
        )
        try Gateway.with(settings) { gateway throws in
            let page = try gateway.request("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nSec-Fetch-Mode: navigate\r\n\r\n")
            #expect(page.status == 404 && page.pageReason == "route.unknown_host")
            #expect(
                page.text.contains("Served here: http://localhost:8080/ (public_url in the settings)."),
                "\(page.text)"
            )
            let document = try gateway.request("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n")
            #expect(document.text.contains(#""detail":"No host has the name in the address."#), "\(document.text)")
        }
    }
}
