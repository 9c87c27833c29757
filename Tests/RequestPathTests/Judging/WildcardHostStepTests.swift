import Cryptography
import Endpoints
import JOSE
import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

/// What one name of a wildcard says of itself, and what its siblings may do to it.
@Suite("Requests to the names of a wildcard") struct WildcardHostStepTests {
    private static func bench(
        _ routes: [RouteSettings] = [route("/**", .required)],
        _ change: (inout Settings) -> Void = { _ in }
    ) throws -> JudgeBench {
        let id = HostSettings(
            publicURL: PublicURL(isHTTPS: true, host: "id.example.com", port: nil),
            endpoints: true,
            routes: []
        )
        let share = HandoffShare(hosts: SignInHosts([id]), keys: SealingKeyRing(current: Secret("of the tests")))
        return try JudgeBench(routes, share: share) { settings in
            settings.hosts[0].publicURL.host = "*.example.com"
            settings.hosts.append(id)
            change(&settings)
        }
    }

    private static func session(_ bench: JudgeBench, on host: String) throws -> (token: String, session: CachedSession)
    {
        try bench.live { $0.host = host }
    }

    @Test("A session counts on the name for which it was made, in every spelling, and on no sibling")
    func sessions() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.session(bench, on: "a.example.com")
        let cookie = "Cookie: \(bench.cookie())=\(token)"
        for name in ["a.example.com", "A.Example.com", "a.example.com.", "a.example.com:443"] {
            let request = JudgedRequest(bench, "GET", "/x", [cookie], host: name)
            #expect(try request.begin() == .ask(.web, .request))
            #expect(try request.found(session) == .permitted(route: "/**", subject: "ada"))
        }
        for name in ["b.example.com", "id.example.com"] {
            let request = JudgedRequest(bench, "GET", "/x", [cookie], host: name)
            guard name != "id.example.com" else {
                #expect(try request.begin() == .answer(404, .routeNotFound))
                continue
            }
            #expect(try request.begin() == .ask(.web, .request))
            #expect(try request.found(session) == .answer(401, .sessionOtherHost))
        }
    }

    @Test("A session whose host is the wildcard itself counts nowhere")
    func literalHost() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.session(bench, on: "*.example.com")
        let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(bench.cookie())=\(token)"], host: "a.example.com")
        _ = try request.begin()
        #expect(try request.found(session) == .answer(401, .sessionOtherHost))
    }

    @Test(
        "Unsafe requests need the origin of the name itself: that of a sibling, or of the wildcard, is another site's"
    )
    func origins() throws {
        let bench = try Self.bench()
        let (token, session) = try Self.session(bench, on: "a.example.com")
        let cookie = "Cookie: \(bench.cookie())=\(token)"
        for (origin, isOwn) in [
            ("https://a.example.com", true), ("https://b.example.com", false), ("https://*.example.com", false),
            ("https://example.com", false), ("https://a.b.example.com", false), ("http://a.example.com", false),
            ("https://a.example.com.evil.test", false), ("null", false),
        ] {
            let request = JudgedRequest(bench, "POST", "/x", [cookie, "Origin: \(origin)"], host: "a.example.com")
            _ = try request.begin()
            let told = try request.found(session)
            #expect(
                told == (isOwn ? .permitted(route: "/**", subject: "ada") : .answer(403, .requestCrossSite)),
                "\(origin)"
            )
        }
        let request = JudgedRequest(bench, "POST", "/x", [cookie, "Sec-Fetch-Site: same-site"], host: "a.example.com")
        _ = try request.begin()
        #expect(try request.found(session) == .answer(403, .requestCrossSite))
    }

    @Test("The sign-in page of a navigation is on the name that was asked for")
    func signIn() throws {
        let bench = try Self.bench()
        let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
        let request = JudgedRequest(bench, "GET", "/x?y", page, host: "A.example.com:443")
        #expect(try request.begin() == .answer(303, .credentialMissing))
        let location = try #require(request.values("Location").first)
        #expect(location.hasPrefix("https://a.example.com/.sallyport/login?"), "\(location)")
        #expect(!location.contains("*"))
    }

    @Test("Assertions are for the name that was asked for, unless the route has an audience of its own")
    func assertions() throws {
        let routes = [route("/**", .required), route("/api/**", .required) { $0.audience = "https://api.internal" }]
        let bench = try Self.bench(routes) { $0.identity.assertion = IdentitySettings.Assertion() }
        let (token, session) = try bench.live(.native)
        func audience(_ host: String, _ path: String) throws -> JSONValue? {
            let request = JudgedRequest(bench, "GET", path, ["Authorization: Bearer \(token)"], host: host)
            _ = try request.begin()
            guard case .permitted = try request.found(session) else { return "refused" }
            let line = Array(try #require(request.identity?.assertion))
            let token = Array(line.dropFirst("X-Auth-Assertion: ".utf8.count).dropLast(2))
            let jws = try JWS.verify(token, with: bench.keys.published, allowing: [.es256])
            return JSONText.decode(jws.payload)?["aud"]
        }
        for _ in 0..<2 {
            #expect(try audience("a.example.com", "/x") == "https://a.example.com")
            #expect(try audience("b.example.com", "/x") == "https://b.example.com")
            #expect(try audience("A.example.com.", "/x") == "https://a.example.com")
            #expect(try audience("a.example.com", "/api/x") == "https://api.internal")
        }
    }

    @Test("The limits of a wildcard: routes and metrics know its own name, whatever label is asked for")
    func names() throws {
        let bench = try Self.bench([route("/**", .public) { $0.name = "*.example.com/**" }])
        for label in ["a", "b", "c"] {
            let request = JudgedRequest(bench, "GET", "/x", host: "\(label).example.com")
            #expect(try request.begin() == .permitted(route: "*.example.com/**", subject: nil))
        }
        #expect(bench.configuration.routes.entries.count == 1)
    }
}
