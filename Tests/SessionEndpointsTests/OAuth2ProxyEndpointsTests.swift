import EndpointBench
import Endpoints
import Settings
import Testing

@Suite("The sign-in and sign-out of oauth2-proxy")
struct OAuth2ProxyEndpointsTests {
    private static let all = OAuth2ProxyEndpoints(
        origins: ServedOrigins(
            ["app.example.com", "other.example.com", "*.tenants.example"].map { name in
                let url = PublicURL(isHTTPS: true, host: name, port: nil)
                return HostSettings(publicURL: url, endpoints: false, routes: [])
            }
        ),
        handoffParameter: "token"
    )
    private static let endpoints = Self.all.endpoints

    private func location(_ path: String, _ query: String, wanted: String? = nil, method: String = "GET") async throws
        -> String?
    {
        let endpoint = try #require(Self.endpoints.first { $0.path == path })
        #expect(endpoint.methods.contains(method))
        let fields = wanted.map { [(name: "X-Auth-Request-Redirect", value: $0)] } ?? []
        let answer = await WireRequest(method, path, query: query, fields: fields).answer(of: endpoint)
        #expect(answer.status == 303)
        return answer.fields.first { $0.name == "location" }?.value
    }

    @Test(
        "The gateway's own pages are served below the path that other proxies send here, with the callback as registered"
    )
    func paths() async throws {
        let own = ["/.sallyport/callback", "/.sallyport/login", "/oauth/token"].map { path in
            Endpoint(path: path, methods: ["GET"], scope: .everyHost) { _ in
                EndpointResponse(status: 200, body: Array(path.utf8))
            }
        }
        let added = Self.all.added(to: own)
        #expect(
            Set(added.map(\.path))
                == [
                    "/.sallyport/callback", "/.sallyport/login", "/oauth/token", "/oauth2/.sallyport/callback",
                    "/oauth2/.sallyport/login", "/oauth2/callback", "/oauth2/start", "/oauth2/sign_in",
                    "/oauth2/sign_out",
                ]
        )
        let callback = try #require(added.first { $0.path == "/oauth2/callback" })
        let answer = await WireRequest("GET", callback.path, query: "").answer(of: callback)
        #expect(answer.body == Array("/.sallyport/callback".utf8))
    }

    @Test(
        "They lead to the gateway's own pages, and from there to a page of a host of the gateway only",
        arguments: [
            ("rd=/x%3Fy=1", "https://app.example.com/.sallyport/login?return_to=/x%3Fy%3D1"),
            ("rd=https://app.example.com/x", "https://app.example.com/.sallyport/login?return_to=/x"),
            ("rd=https://other.example.com/x", "https://other.example.com/.sallyport/login?return_to=/x"),
            (
                "rd=https://app.example.com/a+b?c=d+e&f=%2B",
                "https://app.example.com/.sallyport/login?return_to=/a%2Bb%3Fc%3Dd%2Be%26f%3D%252B"
            ),
            (
                "rd=https://app.example.com/caf%C3%A9%20x",
                "https://app.example.com/.sallyport/login?return_to=/caf%25C3%25A9%2520x"
            ),
            (
                "rd=HTTPS%3A%2F%2FApp.Example.com%3A443%2Fx+y%23z",
                "https://app.example.com/.sallyport/login?return_to=/x%2520y%23z"
            ),
            ("rd=https://OTHER.example.com:443/x", "https://other.example.com/.sallyport/login?return_to=/x"),
            ("rd=https://other.example.com", "https://other.example.com/.sallyport/login?return_to=/"),
            ("rd=/caf%C3%A9", "https://app.example.com/.sallyport/login?return_to=/caf%25C3%25A9"),
            ("rd=https://app.example.com:8443/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=http://app.example.com/x+y", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://app.example.com.evil.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://app.example.com//evil.example/", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://a.tenants.example/x", "https://a.tenants.example/.sallyport/login?return_to=/x"),
            ("rd=https://*.tenants.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://a.b.tenants.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://a.tenants.example@evil.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://evil.example%23.tenants.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=//evil.example/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=%0d%0aX:y", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=/x%3Ftoken=t", "https://app.example.com/.sallyport/login?return_to=/x"),
            ("rd=/a&rd=/b", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=/oauth2/start?rd=/x", "https://app.example.com/.sallyport/login?return_to=/"),
            ("rd=https://app.example.com/oauth2/sign_out", "https://app.example.com/.sallyport/login?return_to=/"),
            ("", "https://app.example.com/.sallyport/login?return_to=/wanted"),
        ]
    )
    func signIn(_ query: String, _ location: String) async throws {
        for path in ["/oauth2/start", "/oauth2/sign_in"] {
            #expect(try await self.location(path, query, wanted: "/wanted") == location)
        }
    }

    @Test(
        "A link to the sign-out leads to the page with a button, and so does a form",
        arguments: ["GET", "HEAD", "POST"]
    )
    func signOut(_ method: String) async throws {
        #expect(
            try await self.location("/oauth2/sign_out", "rd=/bye", method: method)
                == "https://app.example.com/.sallyport/logout?return_to=%2Fbye"
        )
    }

    @Test("The answer is a page with the same link, for proxies that give it another status")
    func page() async throws {
        let endpoint = try #require(Self.endpoints.first { $0.path == "/oauth2/sign_in" })
        let answer = await WireRequest("GET", endpoint.path, query: "rd=/x").answer(of: endpoint)
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains(#"href="https://app.example.com/.sallyport/login?return_to=/x""#))
    }
}
