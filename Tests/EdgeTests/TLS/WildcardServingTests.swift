import Foundation
import GatewayBench
import Testing

/// The names of a wildcard over TLS, before curl.
@Suite("TLS for the names of a wildcard", .blocking) struct WildcardServingTests {
    private typealias Bench = TLSServingTests.Bench

    /// A gateway with a certificate for localhost and one with a wildcard.
    private static func with(_ body: (Gateway, EdgeCertificates) throws -> Void) throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost,IP:127.0.0.1")
        try certificates.certificate("wild", for: "DNS:*.example.com")
        let app = try FakeUpstream(serve: FakeUpstream.echo)
        defer { app.stop() }
        let port = try ServerPorts.take()
        let pairs = ["own", "wild"].map { "    - {certificate_file: \($0).pem, key_file: \($0).key}\n" }.joined()
        let settings = Self.named(Bench.settings(app, certificates, port, tls: "  certificates:\n\(pairs)"), port)
        try Gateway.with(settings) { try body($0, certificates) }
    }

    /// The settings with a wildcard in place of their second host.
    private static func named(_ settings: String, _ port: Int) -> String {
        settings.replacing("https://a.example.com:\(port)", with: "\"https://*.example.com:\(port)\"")
    }

    @Test("each name is shown the wildcard's certificate, and 421 tells what that does not cover")
    func misdirected() throws {
        try Self.with { (gateway, certificates) throws in
            let port = gateway.port
            func curl(_ name: String, _ host: String, _ more: [String] = []) throws -> String {
                try Servers.run(
                    "/usr/bin/curl",
                    ["-sS", "--max-time", "20", "--cacert", certificates.path("ca.pem"), "-H", "Host: \(host):\(port)"]
                        + ["--resolve", "\(name):\(port):127.0.0.1", "-w", "\n%{http_code}"] + more
                        + ["https://\(name):\(port)/x"]
                ).output
            }
            for protocolChoice in ["--http1.1", "--http2"] {
                for (name, host, status) in [
                    ("acme.example.com", "acme.example.com", "200"), ("acme.example.com", "ACME.Example.com", "200"),
                    // Browsers use one connection for all names that its certificate covers.
                    ("acme.example.com", "other.example.com", "200"), ("acme.example.com", "localhost", "421"),
                    ("acme.example.com", "a.b.example.com", "421"), ("acme.example.com", "example.com", "421"),
                    ("acme.example.com", "a_b.example.com", "404"), ("acme.example.com", "xn--a.example.com", "404"),
                    ("localhost", "acme.example.com", "421"), ("localhost", "localhost", "200"),
                ] {
                    let output = try curl(name, host, [protocolChoice])
                    #expect(output.hasSuffix("\n\(status)"), "\(name) \(host): \(output)")
                    guard status == "200", host != "localhost" else { continue }
                    let lines = output.lowercased()
                    #expect(lines.contains("\nx-forwarded-host: \(host.lowercased()):\(port)\r"), "\(output)")
                    #expect(lines.contains("\nhost: \(host.lowercased()):\(port)\r"), "\(output)")
                }
            }
        }
    }

    @Test("a wildcard without a certificate that has it is refused, and check names the certificate to get")
    func uncovered() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost,DNS:a.example.com,DNS:example.com")
        let app = try FakeUpstream(serve: FakeUpstream.echo)
        defer { app.stop() }
        let tls = "  certificate_file: own.pem\n  key_file: own.key\n"
        let settings = Self.named(Bench.settings(app, certificates, 8443, tls: tls), 8443)
            .split(separator: "\n").filter { !$0.hasPrefix("trusted_proxies") }.joined(separator: "\n")
        let file = certificates.path("settings.yaml")
        try Data("\(settings)\n".utf8).write(to: URL(filePath: file))
        let result = try Servers.run(Gateway.binary.path, ["check", "--quiet", "--config", file])
        #expect(result.status == 1 && result.output.contains("certificate for *.example.com"), "\(result.output)")
        #expect(result.output.contains("hosts[1].public_url"))
    }
}
