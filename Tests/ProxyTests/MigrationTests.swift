import Foundation
import GatewayBench
import Testing

/// Proxies that were configured for others, as the others' manuals say, and now ask the gateway.
@Suite("Configurations that were made for others", .blocking) struct MigrationTests {
    /// What the manual says.
    private static func oauth2Proxy(_ places: ProxyPlaces) -> String {
        """
        location /oauth2/ {
            proxy_pass http://127.0.0.1:\(places.checks);
            proxy_set_header Host $host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Auth-Request-Redirect $request_uri;
        }
        location = /oauth2/auth {
            proxy_pass http://127.0.0.1:\(places.checks);
            proxy_set_header Host $host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-Uri $request_uri;
            proxy_set_header Content-Length "";
            proxy_pass_request_body off;
        }
        location / {
            auth_request /oauth2/auth;
            error_page 401 = @oauth2_signin;
            auth_request_set $user $upstream_http_x_auth_request_user;
            auth_request_set $email $upstream_http_x_auth_request_email;
            proxy_set_header X-User $user;
            proxy_set_header X-Email $email;
            auth_request_set $auth_cookie $upstream_http_set_cookie;
            add_header Set-Cookie $auth_cookie;
            proxy_pass http://127.0.0.1:\(places.app)/;
            proxy_set_header Host $host;
        }
        location @oauth2_signin {
            return 302 /oauth2/sign_in?rd=$scheme://$host$request_uri;
        }
        """
    }

    @Test("nginx as oauth2-proxy's manual configures it")
    func oauth2Proxy() throws {
        try ProxyBench.with(.nginx, more: "compat: {oauth2_proxy: true}", nginx: Self.oauth2Proxy) { bench in
            var jar = ""
            func visit(_ target: String) throws -> Answer {
                try bench.ask(target, .navigation, jar.isEmpty ? [] : ["Cookie: \(jar)"])
            }
            let asked = try visit("/page?x=1")
            #expect(asked.status == 302, "\(asked.lines)")
            let location = try #require(asked.value("location"))
            let signIn = String(try #require(location.firstMatch(of: /\/oauth2\/.*/), "\(location)").0)
            #expect(signIn.hasPrefix("/oauth2/sign_in?rd="), "\(asked.lines)")
            let led = try visit(signIn)
            #expect(led.status == 303, "\(led.lines) \(led.text)")
            let login = try #require(led.value("location"))
            #expect(login.hasPrefix("\(Request.origin)/oauth2/.sallyport/login?return_to=/page"), "\(login)")
            let page = try visit(String(login.dropFirst(Request.origin.count)))
            #expect(page.status == 200 && page.text.contains("password"), "\(page.lines)")
            #expect(page.text.contains("action=\"/oauth2/.sallyport/login\""), "\(page.text)")
            #expect(led.text.contains("href=\"\(Request.origin)/oauth2/.sallyport/login?"), "\(led.text)")
            jar = String(try bench.session(below: "/oauth2").dropFirst("Cookie: ".count))
            let shown = try visit("/page?x=1")
            #expect(shown.status == 200, "\(shown.lines)")
            let got = try #require(bench.app.requests.last)
            #expect(got.values("x-user") == [User.ada.id], "\(got.lines)")
            #expect(got.values("x-email") == [User.ada.identifier] && got.target == "/page?x=1")
            // What the client says of itself counts for nothing.
            let count = bench.app.requests.count
            for fields in [
                ["X-Forwarded-Uri: /public/x"], ["X-Original-URL: \(Request.origin)/public/x"],
                ["X-Auth-Request-Email: root@example.com", "X-Email: root@example.com"],
                ["X-Auth-Request-Redirect: /public/x"],
            ] {
                #expect(try bench.ask("/page", .fetch, fields).status == 302, "\(fields)")
            }
            #expect(bench.app.requests.count == count)
            // A form of another site is known by its Origin, though the check is a GET.
            let form = ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Cookie: \(jar)"]
            let shownCount = bench.app.requests.count
            #expect(try bench.connect().request(Request.post("/page", form, body: "a=b")).status == 403)
            #expect(bench.app.requests.count == shownCount)
            let own = ["Origin: \(Request.origin)", "Sec-Fetch-Site: same-origin", "Cookie: \(jar)"]
            #expect(try bench.connect().request(Request.post("/page", own, body: "a=b")).status == 200)
            for method in ["GET", "POST"] {
                let request = Request.get("/oauth2/sign_out", own, method: method)
                let signOut = try bench.connect().request(request)
                #expect(signOut.status == 303, "\(signOut.lines)")
                #expect(signOut.value("location")?.contains("/oauth2/.sallyport/logout") == true, "\(signOut.lines)")
            }
            let user = try bench.ask("/oauth2/userinfo", .fetch, ["Cookie: \(jar)"])
            #expect(user.status == 200 && user.text.contains("\"email\":\"\(User.ada.identifier)\""), "\(user.text)")
            #expect(try bench.ask("/oauth2/userinfo", .fetch).status == 401)
            // The client is the one that nginx names, not the one that the client names.
            let sessions = try bench.ask("/oauth2/.sallyport/sessions", .navigation, ["Cookie: \(jar)"])
            #expect(sessions.text.contains(ProxyBench.home), "\(sessions.text)")
            for field in ["X-Forwarded-For: 192.0.2.66", "Forwarded: for=192.0.2.66"] {
                let form = Request.post(
                    "/oauth2/.sallyport/login",
                    ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded", field],
                    body: "identifier=\(User.grace.identifier)&password=\(User.grace.password)&return_to=/"
                )
                let cookie = try #require(try bench.connect().request(form).sessionCookie)
                let shown = try bench.ask("/oauth2/.sallyport/sessions", .navigation, ["Cookie: sallyport=\(cookie)"])
                #expect(shown.status == 200 && !shown.text.contains("192.0.2.66"), "\(field): \(shown.text)")
            }
            // An app's own requests never reach the pages of the gateway by its other paths.
            #expect(try bench.ask("/.sallyport/login", .navigation, ["Cookie: \(jar)"]).status == 403)
            // This nginx drops the redirect that brings a session, so tokens are left for a way that works.
            let native = try bench.gateway.native(.grace, from: ProxyBench.home)
            let forwarded = [
                "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html",
            ]
            let query = "/page?session_transfer_token=\(try bench.gateway.mint(native, from: ProxyBench.home))"
            let cookie = "session_transfer_token=\(try bench.gateway.mint(native, from: ProxyBench.home))"
            for fields in [[], ["Cookie: \(jar)"]] {
                let refused = try bench.ask(query, .navigation, fields)
                #expect(refused.status == 403 && refused.sessionCookie == nil, "\(refused.lines)")
            }
            #expect(try bench.ask("/page", .navigation, ["Cookie: \(cookie)"]).status == 302)
            #expect(try bench.ask("/page", .navigation, ["Cookie: \(jar); \(cookie)"]).status == 200)
            for (target, fields) in [(query, []), ("/page", ["Cookie: \(cookie)"])] {
                let used = try bench.gateway.get(target, forwarded + fields, from: ProxyBench.home)
                #expect(used.status == 303 && used.sessionCookie != nil, "\(target): \(used.lines)")
            }
        }
    }

    @Test(
        "A browser signs in and out there",
        .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
    )
    func oauth2ProxyInBrowser() throws {
        try ProxyBench.with(.nginx, more: "compat: {oauth2_proxy: true}", nginx: Self.oauth2Proxy) { bench in
            let browser = try Browser(hosts: [Request.host: bench.places.proxy])
            defer { browser.close() }
            func signIn(_ user: User) throws {
                try browser.wait(until: "document.querySelector('[name=password]') !== null")
                try browser.perform(
                    """
                    document.querySelector('[name=identifier]').value = '\(user.identifier)';
                    document.querySelector('[name=password]').value = '\(user.password)';
                    document.querySelector('[name=password]').form.submit()
                    """
                )
                try browser.wait(
                    until: "location.pathname + location.search === '/page?x=1'"
                        + " && document.body.innerText.toLowerCase().includes('x-user: \(user.id)')"
                )
            }
            try browser.visit("\(Request.origin)/page?x=1")
            try signIn(.ada)
            try browser.perform(
                """
                form = document.createElement('form');
                form.method = 'post';
                form.action = '/oauth2/sign_out';
                document.body.append(form);
                form.submit()
                """
            )
            try browser.wait(
                until: "location.pathname === '/oauth2/.sallyport/logout' && document.querySelector('form') !== null"
            )
            try browser.perform("document.querySelector('form').requestSubmit()")
            try browser.wait(
                until: "location.pathname !== '/oauth2/.sallyport/logout' && document.readyState === 'complete'"
            )
            try browser.visit("\(Request.origin)/oauth2/start?rd=/page%3Fx%3D1")
            try signIn(.grace)
        }
    }

    @Test(
        "Caddy as oauth2-proxy's manual configures it, whichever fields of it are read",
        arguments: [Proxy.caddy, .oldCaddy],
        [nil, "forwarded"]
    )
    func oauth2ProxyBehindCaddy(_ proxy: Proxy, _ metadata: String?) throws {
        let written: (ProxyPlaces) -> String = { places in
            """
            http://app.example.com {
                handle /oauth2/* {
                    reverse_proxy 127.0.0.1:\(places.checks) {
                        header_up X-Real-IP {remote_host}
                        header_up X-Forwarded-Uri {uri}
                    }
                }
                handle {
                    forward_auth 127.0.0.1:\(places.checks) {
                        uri /oauth2/auth
                        header_up X-Real-IP {remote_host}
                        copy_headers X-Auth-Request-User X-Auth-Request-Email
                        @error status 401
                        handle_response @error {
                            redir * /oauth2/sign_in?rd={scheme}://{host}{uri}
                        }
                    }
                    reverse_proxy 127.0.0.1:\(places.app)
                }
            }
            """
        }
        try ProxyBench.with(proxy, metadata: metadata, more: "compat: {oauth2_proxy: true}", written: written) {
            bench in
            let asked = try bench.ask("/page?x=1", .navigation)
            let location = try #require(asked.value("location"), "\(asked.lines)")
            #expect(asked.status == 302 && location == "/oauth2/sign_in?rd=\(Request.origin)/page?x=1", "\(location)")
            let led = try bench.ask(location, .navigation)
            let login = "\(Request.origin)/oauth2/.sallyport/login?return_to=/page%3Fx%3D1"
            #expect(led.status == 303 && led.value("location") == login, "\(led.lines)")
            let cookie = try bench.session(below: "/oauth2")
            for target in ["/page?x=1&y=%2F", "/page"] {
                let shown = try bench.ask(target, .navigation, [cookie])
                #expect(shown.status == 200, "\(shown.lines)")
                let got = try #require(bench.app.requests.last)
                #expect(got.target == target && got.values("x-auth-request-user") == [User.ada.id], "\(got.lines)")
                #expect(got.values("x-auth-request-email") == [User.ada.identifier])
            }
            let count = bench.app.requests.count
            #expect(try bench.ask("/page", .fetch, ["X-Forwarded-Uri: /public/x"]).status == 302)
            let signOut = try bench.connect().request(Request.get("/oauth2/sign_out", [cookie], method: "POST"))
            #expect(signOut.status == 303, "\(signOut.lines)")
            #expect(bench.app.requests.count == count)
        }
    }

    @Test("Envoy as Authelia's manual configures it, with the fields that the check needs")
    func autheliaBehindEnvoy() throws {
        let change: (String) -> String = {
            $0.replacing("path_prefix: /authz/valued/ext-authz\n", with: "path_prefix: /api/authz/ext-authz/\n")
        }
        try ProxyBench.with(.envoy, more: "identity: {preset: authelia}", change: change) { bench in
            let asked = try bench.askPatiently("/page?x=1", .navigation)
            #expect(asked.status == 303, "\(asked.lines)")
            let login = "\(Request.origin)/.sallyport/login?return_to=/page%3Fx%3D1"
            #expect(asked.value("location") == login, "\(asked.lines)")
            let shown = try bench.askPatiently("/page?x=1", .post, [try bench.session(), "Remote-User: root"])
            #expect(shown.status == 200, "\(shown.lines)")
            let got = try #require(bench.app.requests.last)
            #expect(got.values("remote-user") == ["ada"] && !got.text.contains("root"), "\(got.lines)")
            let count = bench.app.requests.count
            for target in ["//public/x", "/public/../page", "//page", "/page"] {
                #expect(try bench.ask(target, .fetch).status >= 400, "\(target)")
            }
            #expect(bench.app.requests.count == count)
        }
    }
}
