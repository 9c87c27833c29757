import Foundation
import GatewayBench
import OpenIDBench
import Testing

/// What a real browser, which `deploy/test.sh --soak` installs, does with a link that has a token before anybody sees the
/// page, and with an app in a frame of another site.
@Suite(
    "Handoffs in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct HandoffBrowserTests {
    /// An app whose pages name the user, a gateway in front of it, and an OpenID provider.
    private struct Bench {
        let provider: OpenIDProvider
        let app: FakeUpstream
        let gateway: Gateway
        /// The gateway's, as the browser reaches it.
        let origin: String

        /// Runs `body` with a bench and a browser.
        ///
        /// - Parameter front: Terminates TLS, which `same_site: none` needs; nil: plain HTTP, with the default.
        static func with(_ front: TLSFront? = nil, _ body: (Bench, Browser) throws -> Void) throws {
            let provider = try OpenIDProvider()
            defer { provider.stop() }
            let app = try FakeUpstream(
                serve: FakeUpstream.answering { link, request in
                    let names = ["x-auth-subject", "x-auth-origin"].map { request.values($0).first ?? "nobody" }
                    let script = "parent.postMessage(document.querySelector('h1').innerText, '*')"
                    link.answer(
                        "200 OK",
                        "Content-Type: text/html\r\n",
                        body: "<h1>\(names.joined(separator: " by "))</h1><script>\(script)</script>"
                    )
                }
            )
            defer { app.stop() }
            let port = try ServerPorts.take()
            let host = "127.0.0.1:\(front?.port ?? port)"
            let origin = (front == nil ? "http://" : "https://") + host
            let settings = """
                public_url: \(origin)
                listen: 127.0.0.1:\(port)
                event_loops: 1
                admin: {listen: 127.0.0.1:0}
                upstream: http://127.0.0.1:\(app.port)
                \(front == nil ? "session: {cookie: sallyport}" : "same_site: none")
                routes: [{path: /**, client: web}, {path: /public/**, auth: public}]
                clients:
                  - {client_id: app, session_transfer: {can_create_session_transfer_token: true}}
                  - client_id: web
                    session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
                provider:
                  oidc:
                    issuer: \(provider.issuer)
                    client_id: gateway
                    client_secret_file: client-secret
                    audiences: [api]
                drain: {delay: 0s, timeout: 100ms}

                """
            try Gateway.with(settings, files: ["client-secret": OpenIDScript().clients[0].secret ?? ""]) { gateway in
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                let proxy = try front?.start(gateway: port, host: host)
                defer { proxy?.stop() }
                let browser = try Browser()
                defer { browser.close() }
                try browser.call("Security.setIgnoreCertificateErrors", ["ignore": true])
                try body(Bench(provider: provider, app: app, gateway: gateway, origin: origin), browser)
            }
        }

        /// A link of the app with a new token.
        func link() throws -> String {
            let host = self.origin.split(separator: "/")[1]
            let form = [
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=app",
                "subject_token=\(self.provider.accessToken())",
                "subject_token_type=urn:ietf:params:oauth:token-type:access_token",
                "audience=urn:\(host):session_transfer",
            ].joined(separator: "&")
            let lines = [
                "POST /oauth/token HTTP/1.1", "Host: \(host)", "Content-Type: application/x-www-form-urlencoded",
                "Content-Length: \(form.utf8.count)",
            ]
            let minted = try self.gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n" + form)
            let token = try #require(minted.text.firstMatch(of: /spt_[A-Za-z0-9_-]+/), "\(minted.text)").0
            return "\(self.origin)/page?session_transfer_token=\(token)"
        }

        /// Waits until the browser shows the page of a link whose token has signed the user in.
        func waitForTransfer(_ browser: Browser) throws {
            let page = "document.querySelector('h1')?.innerText === 'user-1 by transfer'"
            try browser.wait(until: "location.href === '\(self.origin)/page' && \(page)")
        }

        /// A page of another site with the link in a frame, which keeps what the frame says.
        func otherSite(framing link: String) throws -> FakeUpstream {
            let page = """
                <script>said = []; addEventListener('message', event => said.push(event.data))</script>
                <iframe src="\(link)"></iframe>
                """
            return try FakeUpstream(
                serve: FakeUpstream.answering { connection, _ in
                    connection.answer("200 OK", "Content-Type: text/html\r\n", body: page)
                }
            )
        }
    }

    @Test("A page that the browser loads ahead of a click uses no token", arguments: ["prerender", "prefetch"])
    func speculation(_ kind: String) throws {
        try Bench.with { bench, browser throws in
            let link = try bench.link()
            try browser.visit("\(bench.origin)/public/")
            try browser.perform(
                """
                rules = document.createElement('script');
                rules.type = 'speculationrules';
                rules.textContent = JSON.stringify({\(kind): [{urls: ['\(link)'], eagerness: 'immediate'}]});
                document.body.append(rules)
                """
            )
            #expect(eventually { bench.gateway.output.contains("\"reason\":\"handoff.not_navigation\"") })
            #expect(bench.app.requests.allSatisfy { !$0.target.hasPrefix("/page") })
            try browser.perform("location.href = '\(link)'")
            try bench.waitForTransfer(browser)
        }
    }

    @Test("A frame of another site uses no token") func frame() throws {
        try Bench.with { bench, browser throws in
            let link = try bench.link()
            let other = try bench.otherSite(framing: link)
            defer { other.stop() }
            try browser.visit("http://localhost:\(other.port)/")
            // It has no cookie there with which the sign-in at the provider could end.
            #expect(eventually { bench.gateway.output.contains("\"reason\":\"signin.state_mismatch\"") })
            #expect(bench.app.requests.isEmpty)
            try browser.visit(link)
            try bench.waitForTransfer(browser)
        }
    }

    @Test("With same_site: none a user signs in and stays signed in inside a frame of another site, and only there")
    func partitionedFrame() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let front = try TLSFront(in: folder)
        try Bench.with(front) { bench, browser throws in
            let link = try bench.link()
            let other = try bench.otherSite(framing: link)
            defer { other.stop() }
            for _ in 0..<2 {
                try browser.visit("http://localhost:\(other.port)/")
                try browser.wait(until: "said.includes('user-1 by browser')")
            }
            #expect(bench.provider.count(.authorization) == 1)
            #expect(bench.app.requests.map(\.target) == ["/page", "/page"])
            for request in bench.app.requests {
                #expect(request.values("sec-fetch-dest") == ["iframe"] && request.values("cookie").isEmpty)
                #expect(request.values("sec-fetch-site") == ["cross-site"])
            }
            let all = try browser.call("Network.getAllCookies")["cookies"] as? [[String: Any]] ?? []
            let cookies = all.filter { ($0["name"] as? String)?.hasPrefix("__Host-sallyport") == true }
            #expect(cookies.contains { $0["name"] as? String == "__Host-sallyport" }, "\(all)")
            #expect(cookies.allSatisfy { $0["partitionKey"] != nil && $0["sameSite"] as? String == "None" }, "\(all)")
            // Outside of the frame nobody is signed in, and the token that the frame had is unused.
            try browser.visit(link)
            try bench.waitForTransfer(browser)
        }
    }
}
