import Settings
import Testing

@Suite("Hosts of one name on several ports")
struct HostPortTests {
    /// The warnings about two hosts with these URLs.
    private func warnings(_ urls: String...) throws -> [String] {
        let hosts = urls.map { url in
            "  - {public_url: \"\(url)\", endpoints: \(!url.contains("*")), routes: [{path: /**}]}"
        }
        let file = """
            upstream: http://127.0.0.1:3000
            hosts:
            \(hosts.joined(separator: "\n"))
            provider: {oidc: {issuer: "https://id.example.com", client_id: a, client_authentication: none}}

            """
        return try SettingsBench().load(file).get().warnings.filter { $0.contains("cookies") }
    }

    @Test("Two hosts that browsers send the same cookies to are warned of, with both names")
    func shared() throws {
        for (one, other) in [
            ("https://app.example.com", "https://app.example.com:8443"),
            ("https://app.example.com:8443", "https://App.example.com:9443"),
            ("http://localhost:8080", "http://localhost:8081"), ("https://[::1]:8443", "https://[::1]:9443"),
            ("https://*.example.com", "https://app.example.com:8443"),
        ] {
            let warnings = try self.warnings(one, other)
            #expect(warnings.count == 1 && warnings[0].contains(other.lowercased()), "\(one) \(other) \(warnings)")
            #expect(warnings[0].contains(one))
        }
    }

    @Test("Each host that shares its cookies with an earlier one is warned of, whatever stands between them")
    func several() throws {
        let warnings = try self.warnings(
            "https://*.example.com",
            "https://app.example.com:8443",
            "https://app.example.com"
        )
        #expect(warnings.count == 2)
    }

    @Test("Hosts whose cookies are apart are not")
    func apart() throws {
        for (one, other) in [
            ("https://app.example.com", "https://b.example.com:8443"),
            ("https://a.example.com", "https://b.example.com"),
            ("https://localhost:8443", "http://localhost:8080"), ("https://*.example.com", "https://app.example.com"),
            ("https://*.example.com", "https://a.b.example.com:8443"),
        ] {
            #expect(try self.warnings(one, other).isEmpty, "\(one) \(other)")
        }
    }
}
