import Foundation
import GatewayBench
import Testing

/// `check` and `explain` of hosts with a wildcard, as an operator reads them.
@Suite struct WildcardHostTests {
    private static func run(_ arguments: [String], _ more: String = "") throws -> (status: Int32, output: String) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let settings = """
            trusted_proxies: [127.0.0.1]
            hosts:
              - {public_url: "https://*.example.com", upstream: "http://127.0.0.1:3001"}
              - {public_url: "https://id.example.com", endpoints: true, upstream: "http://127.0.0.1:3000"}
              - {public_url: "https://shop.example.com", upstream: "http://127.0.0.1:3002"}
            provider:
              static:
                users:
            \(Config.users)
            \(more)

            """
        let file = folder.appending(path: "sallyport.yaml")
        try Data(settings.utf8).write(to: file)
        return try Servers.run(Gateway.binary.path, arguments + ["--config", file.path])
    }

    @Test func checkPrintsTheWildcard() throws {
        let result = try Self.run(["check"])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("routes of https://*.example.com:\n  /**  any method"), "\(result.output)")
        #expect(result.output.contains("hosts[0].endpoints: false"), "\(result.output)")
    }

    @Test func explainKnowsTheNameThatIsAskedFor() throws {
        let known = try Self.run(["explain", "--url", "https://Acme.example.com/x", "--user", "ada@example.com"]).output
        for line in ["Host: acme.example.com", "X-Forwarded-Host: acme.example.com", "https://acme.example.com/**"] {
            #expect(known.contains(line), "\(line): \(known)")
        }
        let page = ["--header", "Sec-Fetch-Mode: navigate", "--header", "Accept: text/html"]
        let unknown = try Self.run(["explain", "--url", "https://acme.example.com/x"] + page).output
        #expect(unknown.contains("the browser goes to https://id.example.com"), "\(unknown)")
        for name in ["a.b.example.com", "a_b.example.com", "example.com", "xn--a.example.com"] {
            let refused = try Self.run(["explain", "--url", "https://\(name)/x"]).output
            #expect(refused.contains("route.unknown_host"), "\(name): \(refused)")
        }
    }

    @Test(
        "What is printed for a proxy serves the names of the wildcard, and no other host's",
        arguments: [
            ("nginx", ["server_name *.example.com;", "X-Forwarded-Host $host;", "tls/wildcard.example.com.pem;"]),
            (
                "haproxy",
                [
                    "acl is_wildcard_example_com req.fhdr(host),host_only -m reg -i ^[a-z0-9]([a-z0-9-]*[a-z0-9])?[.]example[.]com$",
                    "X-Forwarded-Host %[req.fhdr(host),host_only,lower] if is_wildcard_example_com !is_id_example_com !is_shop_",
                    "crt /etc/haproxy/tls/wildcard.example.com.pem",
                ]
            ),
            ("caddy", ["https://*.example.com {"]), ("envoy", ["domains: [\"*.example.com\", \"*.example.com:443\"]"]),
            (
                "traefik",
                [
                    "HostRegexp(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?[.]example[.]com$`) && !Host(`id.example.com`) && !Host(`shop."
                ]
            ),
            ("ingress-nginx", ["- host: \"*.example.com\"", "auth-signin: https://$host/.sallyport/login"]),
            ("gateway-api", ["hostnames: [\"*.example.com\"]", "  name: wildcard-example-com"]),
        ]
    )
    func proxies(proxy: String, lines: [String]) throws {
        let more = "authorization: {listen: 127.0.0.1:9092, peers: [127.0.0.1]}"
        let result = try Self.run(["check", "--for", proxy], more)
        #expect(result.status == 0, "\(result.output)")
        for line in lines { #expect(result.output.contains(line), "no \(line): \(result.output)") }
    }
}
