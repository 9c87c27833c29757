import Endpoints
import Foundation
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("response_mode=web_message") struct WebMessageTests {
    private static let origin = "https://app.example.com"
    private static let mode: [String: String?] = ["response_mode": "web_message", "prompt": "none"]

    private static func bench() -> TokenBench {
        TokenBench { $0.allowedOrigins = [self.origin, "http://127.0.0.1:4711"] }
    }

    private static func page(_ answer: Answer) -> String { String(decoding: answer.response.body, as: UTF8.self) }

    @Test("the page gives the code to the origin of the redirect_uri only, and only that may frame it")
    func code() async throws {
        let bench = Self.bench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        for prompt in ["none", nil] {
            var parameters = Self.mode
            parameters["prompt"] = prompt
            parameters["state"] = "\"'</script>&"
            let answer = await bench.authorize(parameters, cookie: cookie)
            let page = Self.page(answer)
            #expect(answer.status == 200 && answer.field("location") == nil)
            #expect(page.contains(#"data-origin="https://app.example.com""#), "\(page)")
            #expect(page.contains("&quot;code&quot;:&quot;spc_") && page.contains("&quot;iss&quot;:"))
            #expect(page.components(separatedBy: "</script>").count == 2, "the state does not end the script")
            let policy = answer.field("content-security-policy") ?? ""
            #expect(
                policy.hasSuffix("; frame-ancestors https://app.example.com") && policy.contains("script-src 'sha256-")
            )
            #expect(answer.field("x-frame-options") == nil && answer.field("cache-control") == "no-store")
        }
    }

    @Test("errors come the same way")
    func errors() async throws {
        let bench = Self.bench()
        let answer = await bench.authorize(Self.mode)
        #expect(answer.status == 200 && answer.reason == .credentialMissing)
        #expect(Self.page(answer).contains("&quot;error&quot;:&quot;login_required&quot;"))
        let other = await bench.authorize(Self.mode.merging(["audience": "https://x"]) { $1 })
        #expect(Self.page(other).contains("&quot;error&quot;:&quot;invalid_target&quot;"))
        // Without prompt=none, the user signs in first.
        let asked = await bench.authorize(["response_mode": "web_message"])
        #expect(asked.field("location")?.hasPrefix("/.sallyport/login?") == true)
    }

    @Test(
        "a redirect_uri of another origin gets no message, and no code",
        arguments: ["myapp://auth/callback", "http://127.0.0.1:4712/cb", TokenBench.callback]
    )
    func notAllowed(target: String) async throws {
        let bench = TokenBench { $0.allowedOrigins = ["http://127.0.0.1:4711", "https://app.example.com:8443"] }
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let answer = await bench.authorize(Self.mode.merging(["redirect_uri": target]) { $1 }, cookie: cookie)
        #expect(answer.status == 303 && answer.field("location")?.hasPrefix(target) == true)
        #expect(answer.redirect["error"] == "invalid_request" && answer.redirect["code"] == nil)
    }

    @Test("an app on loopback gets it on the port on which it listens")
    func loopback() async throws {
        let bench = Self.bench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let target = ["redirect_uri": "http://127.0.0.1:4711/cb"]
        let answer = await bench.authorize(Self.mode.merging(target) { $1 }, cookie: cookie)
        #expect(Self.page(answer).contains(#"data-origin="http://127.0.0.1:4711""#))
    }

    @Test(
        "an origin is what browsers write",
        arguments: [
            ("https://App.Example.com/cb?x=1", "https://app.example.com"),
            ("https://a.example:443/", "https://a.example"),
            ("https://a.example:8443/", "https://a.example:8443"), ("http://localhost:80/cb", "http://localhost"),
            ("http://[::1]:3000/cb", "http://[::1]:3000"), ("com.example.app:/cb", nil), ("myapp://a/b", nil),
        ] as [(String, String?)]
    )
    func origins(uri: String, origin: String?) throws {
        #expect(try #require(RedirectURI(uri)).origin == origin)
    }
}
