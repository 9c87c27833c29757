import Foundation
import GatewayBench
import Testing

/// A real browser, which `deploy/test.sh --soak` installs, behind other proxies.
@Suite(
    "A real browser behind another proxy",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct ProxyBrowserTests {
    @Test("A user signs in, signs out, and comes from a native app", arguments: [Proxy.nginx, .caddy, .envoy])
    func journey(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy, hasPort: true) { bench in
            let origin = bench.places.origin
            let browser = try Browser()
            defer { browser.close() }
            func waitForPage(_ user: User, _ how: String) throws {
                let text = "document.body.innerText.toLowerCase()"
                try browser.wait(
                    until: "location.href === '\(origin)/page?x=1' && \(text).includes('x-auth-subject: \(user.id)')"
                        + " && \(text).includes('x-auth-origin: \(how)')"
                )
            }

            // The sign-in.
            try browser.visit("\(origin)/page?x=1")
            try browser.wait(until: "document.querySelector('[name=password]') !== null")
            try browser.perform(
                """
                document.querySelector('[name=identifier]').value = '\(User.ada.identifier)';
                document.querySelector('[name=password]').value = '\(User.ada.password)';
                document.querySelector('[name=password]').form.submit()
                """
            )
            try waitForPage(.ada, "browser")
            try browser.perform("fetch('/page/fetched').then(answer => answer.text()).then(text => fetched = text)")
            try browser.wait(until: "typeof fetched === 'string' && fetched.includes('\(User.ada.id)')")
            try browser.perform(
                """
                socket = new WebSocket('ws' + location.origin.slice(4) + '/socket');
                socket.onopen = () => socket.send('hello');
                socket.onerror = () => heard = 'error';
                socket.onmessage = message => heard = 'message'
                """
            )
            try browser.wait(until: "socket.readyState === 1 || typeof heard === 'string'")
            #expect(
                bench.app.requests.contains { $0.target == "/socket" && $0.values("x-auth-subject") == [User.ada.id] }
            )

            // The sign-out.
            let form = """
                form = document.createElement('form');
                form.method = 'post';
                form.action = '/.sallyport/logout';
                document.body.append(form);
                form.submit()
                """
            try browser.perform(form)
            try browser.wait(until: "location.pathname !== '/page' && document.readyState === 'complete'")
            try browser.visit("\(origin)/page?x=1")
            try browser.wait(until: "document.querySelector('[name=password]') !== null")

            // The handoffs.
            let native = try self.native(bench)
            let link = try self.mint(bench, native)
            try browser.visit("\(origin)/page?x=1&session_transfer_token=\(link)")
            // The browser was Ada's before.
            try browser.wait(until: "location.pathname === '/.sallyport/handoff' && document.readyState === 'complete'")
            try browser.perform("document.querySelector('form').requestSubmit()")
            try waitForPage(.grace, "transfer")
            try browser.perform(form)
            try browser.wait(until: "location.pathname !== '/page' && document.readyState === 'complete'")
            try browser.visit("\(origin)/public/x")
            let token = try self.mint(bench, native)
            try browser.perform("document.cookie = 'session_transfer_token=\(token); path=/'")
            try browser.visit("\(origin)/page?x=1")
            try waitForPage(.grace, "transfer")
            #expect(try browser.value("document.cookie.includes('session_transfer_token')") == "false")
            #expect(bench.app.requests.allSatisfy { !$0.text.contains("spt_") || proxy != .envoy })
        }
    }

    /// What a native app gets through the proxy.
    private func ask(_ bench: ProxyBench, _ request: String) throws -> Answer {
        let host = bench.places.origin.dropFirst("http://".count)
        return try Wire(to: bench.places.proxy).request(
            request.replacing("Host: \(Request.host)", with: "Host: \(host)")
        )
    }

    /// Grace's session token.
    private func native(_ bench: ProxyBench) throws -> String {
        let flow = try self.ask(bench, Request.get("/self-service/login/api"))
        let id = try #require(flow.text.firstMatch(of: /"id":"([0-9a-f-]{36})"/), "\(flow.lines) \(flow.text)").1
        let user = User.grace
        let answer = try self.ask(
            bench,
            Request.post(
                "/self-service/login?flow=\(id)",
                ["Content-Type: application/json"],
                body: #"{"method":"password","identifier":"\#(user.identifier)","password":"\#(user.password)"}"#
            )
        )
        return String(try #require(answer.text.firstMatch(of: /"session_token":"([^"]+)"/), "\(answer.text)").1)
    }

    /// A transfer token of that session.
    private func mint(_ bench: ProxyBench, _ native: String) throws -> String {
        let host = bench.places.origin.dropFirst("http://".count)
        let form = [
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=native", "subject_token=\(native)",
            "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
            "audience=urn:\(host):session_transfer",
        ]
        let answer = try self.ask(
            bench,
            Request.post(
                "/oauth/token",
                ["Content-Type: application/x-www-form-urlencoded"],
                body: form.joined(separator: "&")
            )
        )
        return String(try #require(answer.text.firstMatch(of: /"access_token":"([^"]+)"/), "\(answer.text)").1)
    }
}
