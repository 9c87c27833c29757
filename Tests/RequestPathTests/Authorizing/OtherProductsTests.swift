import AddressIntelligence
import Endpoints
import Pages
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Checks and pages as oauth2-proxy's and Authelia's proxies ask for them")
struct OtherProductsTests {
    @Test("At oauth2-proxy's paths, the fields are read that the proxy sends by its settings, and no others")
    func oauth2ProxyMetadata() throws {
        let forwarded = [
            "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
            "X-Forwarded-Uri: /app/x", "X-Forwarded-For: 198.51.100.7",
        ]
        let original = [
            "X-Original-URL: https://app.example.com/app/x", "X-Original-Method: GET", "X-Forwarded-For: 198.51.100.7",
        ]
        let nginx = ["X-Forwarded-Uri: /app/x", "X-Real-IP: 198.51.100.7"]
        for (metadata, fields, others) in [
            (OriginalMetadata.forwarded, forwarded, [original, nginx]), (.original, original, [forwarded, nginx]),
        ] {
            let bench = try CheckBench {
                $0.oauth2ProxyPaths = true
                $0.oauth2ProxyMetadata = metadata
            }
            let token = "X-Session-Token: \(try bench.token())"
            func ask(_ path: String, _ host: String, _ fields: [String]) throws -> CheckBench.Verdict {
                try bench.ask(["GET \(path) HTTP/1.1", "Host: \(host)", token] + fields)
            }
            let verdict = try ask("/oauth2/auth", "oauth.example.com", fields)
            #expect(verdict.status == 202 && verdict["x-auth-request-user"] == ["ada"], "\(verdict.text)")
            for other in others {
                let verdict = try ask("/oauth2/auth", "app.example.com", other)
                #expect(verdict.reason == Reason.authorizationMetadata.rawValue, "\(verdict.text)")
            }
            let restricted = try ask("/oauth2/auth?allowed_groups=admins", "oauth.example.com", fields)
            #expect(restricted.reason == Reason.authorizationMetadata.rawValue, "\(restricted.text)")
            let root = try ask("/", "oauth.example.com", fields)
            #expect(root.status == (metadata == .forwarded ? 202 : 404), "\(root.text)")
        }
    }

    @Test("Where Traefik wants the whole answer of oauth2-proxy, it leads to the sign-in below /oauth2/")
    func oauth2ProxyRoot() throws {
        let bench = try CheckBench {
            $0.oauth2ProxyPaths = true
            $0.oauth2ProxyMetadata = .forwarded
            $0.pages.base = "/oauth2"
            $0.provider = FixedUsersSettings([])
        }
        let verdict = try bench.ask(
            [
                "GET / HTTP/1.1", "Host: oauth.example.com", "X-Forwarded-Method: GET", "X-Forwarded-Proto: https",
                "X-Forwarded-Host: app.example.com", "X-Forwarded-Uri: /app/x", "X-Forwarded-For: 198.51.100.7",
            ] + CheckTests.navigation
        )
        let login = "https://app.example.com/oauth2/.sallyport/login?return_to=/app/x"
        #expect(verdict.status == 303 && verdict["location"] == [login], "\(verdict.text)")
        // A script is told the same.
        let script = try bench.forwardAuth("GET", "/app/x")
        #expect(script.status == 401 && script.text.contains("https://app.example.com/oauth2/.sallyport/login\""))
    }

    /// A page that takes forms only.
    private static let page = Endpoint(path: "/.sallyport/login", methods: ["POST"], scope: .everyHost) { _ in
        EndpointResponse(status: 200)
    }

    @Test("Where other products answer at one address, the gateway's own pages are served there, and nothing else")
    func pages() throws {
        let changes: [(inout Settings) -> Void] = [
            { $0.oauth2ProxyPaths = true }, { $0.identity.preset = .authelia },
        ]
        for change in changes {
            let bench = try CheckBench([Self.page], change)
            func ask(_ path: String, host: String = "app.example.com") throws -> CheckBench.Verdict {
                try bench.ask(
                    [
                        "GET \(path) HTTP/1.1", "Host: \(host)", "X-Real-IP: 198.51.100.7",
                        "X-Forwarded-For: 198.51.100.7", "X-Session-Token: \(try bench.token())",
                    ]
                )
            }
            let page = try ask("/.sallyport/login")
            #expect(page.status == 405 && page["allow"] == ["POST"], "\(page.text)")
            for path in ["/", "/open/x", "/app/x", "/.sallyport/other", "/x/../.sallyport/login"] {
                let verdict = try ask(path)
                #expect(verdict.status >= 400 && verdict["x-auth-subject"].isEmpty, "\(path): \(verdict.text)")
            }
            #expect(try ask("/.sallyport/login", host: "unknown.example").status == 404)
        }
        let plain = try CheckBench([Self.page])
        let verdict = try plain.ask(["GET /.sallyport/login HTTP/1.1", "Host: app.example.com"])
        #expect(verdict.reason == Reason.authorizationDialect.rawValue, "\(verdict.text)")
    }

    @Test("At Authelia's paths, the check of a page is answered with it by GET only, and never for nginx")
    func shownPages() throws {
        let login = Endpoint(path: "/.sallyport/login", methods: ["GET", "POST"], scope: .everyHost) { _ in
            EndpointResponse(status: 200)
        }
        let bench = try CheckBench([login])
        let forwarded = [
            "Host: authelia", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
            "X-Forwarded-Uri: /.sallyport/login", "X-Forwarded-For: 198.51.100.7",
        ]
        for method in ["POST", "HEAD", "PUT"] {
            let traefik = ["GET /api/authz/forward-auth HTTP/1.1", "X-Forwarded-Method: \(method)"] + forwarded
            let envoy = [
                "\(method) /api/authz/ext-authz//.sallyport/login HTTP/1.1", "Host: app.example.com",
                "X-Forwarded-For: 198.51.100.7",
            ]
            for lines in [traefik, envoy] {
                let verdict = try bench.ask(lines)
                #expect(verdict.reason == Reason.authorizationEndpoint.rawValue, "\(lines): \(verdict.text)")
            }
        }
        let nginx = try bench.ask(
            [
                "GET /api/authz/auth-request HTTP/1.1", "Host: authelia", "X-Original-Method: GET",
                "X-Original-URL: https://app.example.com/.sallyport/login", "X-Forwarded-For: 198.51.100.7",
            ]
        )
        #expect(nginx.reason == Reason.authorizationEndpoint.rawValue, "\(nginx.text)")
    }
}
