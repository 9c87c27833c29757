import Foundation
import GatewayBench
import Testing

/// What oauth2-proxy's manual says for Traefik and ingress-nginx, with the hosts' names of the tests.
@Suite("Traefik and ingress-nginx as oauth2-proxy's manual configures them", .blocking)
struct OAuth2ProxyManualTests {
    private static let compat = "compat: {oauth2_proxy: true}"

    /// A configuration of the manual with the addresses of the test; it names several hosts as Traefik 2 did.
    private static func traefik(_ manual: String, _ places: ProxyPlaces) -> String {
        manual.replacing("https://oauth.example.com", with: "http://127.0.0.1:\(places.checks)")
            .replacing("      rule: ", with: "      ruleSyntax: v2\n      rule: ") + """
                    auth-headers: {headers: {browserXssFilter: true, contentTypeNosniff: true, forceSTSHeader: true}}
                  services:
                    a-service-backend: {loadBalancer: {servers: [{url: "http://127.0.0.1:\(places.app)"}]}}
                    oauth-backend: {loadBalancer: {servers: [{url: "http://127.0.0.1:\(places.checks)"}]}}

                """
    }

    /// "ForwardAuth with 401 errors middleware".
    private static let errors = """
        http:
          routers:
            a-service:
              rule: "Host(`app.example.com`)"
              service: a-service-backend
              middlewares:
                - oauth-errors
                - oauth-auth
            oauth:
              rule: "Host(`app.example.com`, `oauth.example.com`) && PathPrefix(`/oauth2/`)"
              middlewares:
                - auth-headers
              service: oauth-backend
          middlewares:
            oauth-auth:
              forwardAuth:
                address: https://oauth.example.com/oauth2/auth
                trustForwardHeader: true
            oauth-errors:
              errors:
                status:
                  - "401-403"
                service: oauth-backend
                query: "/oauth2/sign_in?rd={url}"
                statusRewrites:
                  "401": 302

        """

    /// "ForwardAuth with static upstreams configuration".
    private static let root = """
        http:
          routers:
            a-service-route-1:
              rule: "Host(`app.example.com`, `other.example.com`) && PathPrefix(`/`)"
              service: a-service-backend
              middlewares:
                - oauth-auth-redirect
            services-oauth2-route:
              rule: "Host(`app.example.com`, `other.example.com`) && PathPrefix(`/oauth2/`)"
              middlewares:
                - auth-headers
              service: oauth-backend
            oauth2-proxy-route:
              rule: "Host(`oauth.example.com`) && PathPrefix(`/`)"
              middlewares:
                - auth-headers
              service: oauth-backend
          middlewares:
            oauth-auth-redirect:
              forwardAuth:
                address: https://oauth.example.com/
                trustForwardHeader: true
                authResponseHeaders:
                  - X-Auth-Request-Email
                  - Authorization

        """

    @Test("Traefik with the middleware for errors: sign-in, page, sign-out, and nothing by a spoofed field")
    func errors() throws {
        try ProxyBench.with(
            .traefik,
            metadata: "forwarded",
            more: Self.compat,
            written: { Self.traefik(Self.errors, $0) }
        ) {
            bench in
            let asked = try bench.ask("/page?x=1", .navigation)
            let login = "\(Request.origin)/oauth2/.sallyport/login?return_to=/page%3Fx%3D1"
            #expect(asked.status == 302 && asked.value("location") == login, "\(asked.lines)")
            try self.signsInAndOut(bench)
            try self.isClosed(bench)
            // A redirect with a session would be lost there, so a token is left for a way that works.
            let native = try bench.gateway.native(.grace, from: ProxyBench.home)
            let token = try bench.gateway.mint(native, from: ProxyBench.home)
            let refused = try bench.ask("/page?session_transfer_token=\(token)", .navigation)
            #expect(refused.status == 403 && refused.sessionCookie == nil, "\(refused.lines)")
            let used = try bench.gateway.get(
                "/page?session_transfer_token=\(token)",
                ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"],
                from: ProxyBench.home
            )
            #expect(used.status == 303 && used.sessionCookie != nil, "\(used.lines)")
        }
    }

    @Test("Traefik with the whole answer: sign-in, page, handoff, sign-out, and nothing by a spoofed field")
    func root() throws {
        try ProxyBench.with(
            .traefik,
            metadata: "forwarded",
            more: Self.compat,
            written: { Self.traefik(Self.root, $0) }
        ) { bench in
            let asked = try bench.ask("/page?x=1", .navigation)
            let login = "\(Request.origin)/oauth2/.sallyport/login?return_to=/page%3Fx%3D1"
            #expect(asked.status == 303 && asked.value("location") == login, "\(asked.lines)")
            try self.signsInAndOut(bench)
            let got = try #require(bench.app.requests.last)
            #expect(got.values("x-auth-request-email") == [User.ada.identifier], "\(got.lines)")
            try self.isClosed(bench)
            let native = try bench.gateway.native(.grace, from: ProxyBench.home)
            let token = try bench.gateway.mint(native, from: ProxyBench.home)
            let used = try bench.ask("/page?session_transfer_token=\(token)", .navigation)
            #expect(used.status == 303 && used.sessionCookie != nil, "\(used.lines)")
            #expect(used.value("location")?.hasSuffix("/page") == true, "\(used.lines)")
        }
    }

    private func signsInAndOut(_ bench: ProxyBench) throws {
        let page = try bench.ask("/oauth2/.sallyport/login", .navigation)
        #expect(page.status == 200 && page.text.contains("action=\"/oauth2/.sallyport/login\""), "\(page.text)")
        let cookie = try bench.session(below: "/oauth2")
        let signOut = try bench.ask("/oauth2/sign_out", .navigation, [cookie])
        #expect(
            signOut.value("location") == "\(Request.origin)/oauth2/.sallyport/logout?return_to=%2F",
            "\(signOut.lines)"
        )
        let form = Request.post(
            "/oauth2/.sallyport/logout",
            ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded", cookie],
            body: "return_to=/"
        )
        for target in ["/page", "/page?x=%2F"] {
            let shown = try bench.ask(target, .navigation, [cookie])
            #expect(shown.status == 200, "\(shown.lines)")
            #expect(try #require(bench.app.requests.last).target == target)
        }
        #expect(try bench.ask("/page", .post, [cookie]).status == 200)
        #expect(try bench.connect().request(form).status == 303)
        #expect(try bench.ask("/page", .fetch, [cookie]).status != 200)
    }

    /// The method is told there, and what a client says of itself counts for nothing.
    private func isClosed(_ bench: ProxyBench) throws {
        let cookie = try bench.session(below: "/oauth2")
        let count = bench.app.requests.count
        for fields in [
            ["X-Forwarded-Uri: /public/x"], ["X-Forwarded-Host: open.example.com"], ["X_Forwarded_Uri: /public/x"],
            ["X-Forwarded-Method: OPTIONS"], ["X-Original-URL: \(Request.origin)/public/x"],
        ] {
            #expect(try bench.ask("/page", .fetch, fields).status != 200, "\(fields)")
        }
        let foreign = ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site", cookie]
        #expect(try bench.connect().request(Request.post("/page", foreign, body: "a=b")).status == 403)
        #expect(bench.app.requests.count == count)
    }

    /// What ingress-nginx makes of `auth-url: https://$host/oauth2/auth` and
    /// `auth-signin: https://$host/oauth2/start?rd=$escaped_request_uri`: its template's lines, `/oauth2` being the path of a
    /// second ingress.
    private static func ingress(_ places: ProxyPlaces) -> String {
        """
        location /oauth2 {
            proxy_pass http://127.0.0.1:\(places.checks);
            proxy_set_header Host $http_host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Host $http_host;
            proxy_set_header X-Forwarded-Proto http;
        }
        location = /_external-auth {
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Forwarded-Proto "";
            proxy_set_header X-Request-ID $request_id;
            proxy_set_header Host $host;
            proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Sent-From "nginx-ingress-controller";
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Auth-Request-Redirect $request_uri;
            proxy_pass http://127.0.0.1:\(places.checks)/oauth2/auth;
        }
        location @sign_in {
            return 302 http://$host/oauth2/start?rd=$request_uri;
        }
        location / {
            auth_request /_external-auth;
            auth_request_set $email $upstream_http_x_auth_request_email;
            proxy_set_header X-Auth-Request-Email $email;
            error_page 401 = @sign_in;
            proxy_pass http://127.0.0.1:\(places.app);
            proxy_set_header Host $host;
        }
        """
    }

    @Test("ingress-nginx with its two annotations: sign-in, page, sign-out, and nothing by a spoofed field")
    func ingress() throws {
        try ProxyBench.with(.nginx, metadata: "original", more: Self.compat, nginx: Self.ingress) { bench in
            let asked = try bench.ask("/page", .navigation)
            #expect(asked.status == 302, "\(asked.lines)")
            let start = try #require(asked.value("location"))
            let led = try bench.ask(String(start.dropFirst(Request.origin.count)), .navigation)
            let login = "\(Request.origin)/oauth2/.sallyport/login?return_to=/page"
            #expect(led.status == 303 && led.value("location") == login, "\(led.lines)")
            try self.signsInAndOut(bench)
            #expect(try #require(bench.app.requests.last).values("x-auth-request-email") == [User.ada.identifier])
            try self.isClosed(bench)
        }
    }
}
