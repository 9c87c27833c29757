import Foundation
import GatewayBench
import Testing

/// What Authelia's manual says for nginx, which makes a redirect of each 401.
@Suite("nginx as Authelia's manual configures it", .blocking) struct AutheliaNginxTests {
    private static let portal = "http://auth.example.com"

    private static func server(_ places: ProxyPlaces) -> String {
        """
        location /.sallyport/ {
            proxy_pass http://127.0.0.1:\(places.gateway);
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
        }
        set $upstream_authelia http://127.0.0.1:\(places.checks)/api/authz/auth-request;
        location /internal/authelia/authz {
            internal;
            proxy_pass $upstream_authelia;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header Content-Length "";
            proxy_set_header Connection "";
            proxy_pass_request_body off;
            proxy_http_version 1.1;
            proxy_cache_bypass $cookie_session;
            proxy_no_cache $cookie_session;
        }
        location / {
            auth_request /internal/authelia/authz;
            auth_request_set $user $upstream_http_remote_user;
            auth_request_set $groups $upstream_http_remote_groups;
            auth_request_set $name $upstream_http_remote_name;
            auth_request_set $email $upstream_http_remote_email;
            proxy_set_header Remote-User $user;
            proxy_set_header Remote-Groups $groups;
            proxy_set_header Remote-Email $email;
            proxy_set_header Remote-Name $name;
            auth_request_set $redirection_url $upstream_http_location;
            error_page 401 =302 $redirection_url;
            proxy_pass http://127.0.0.1:\(places.app);
            proxy_set_header Host $host;
        }
        """
    }

    /// The same with the portal at a host of its own, all of which nginx sends to the address that it asks.
    private static func withPortal(_ places: ProxyPlaces) -> String {
        """
        server_name app.example.com;
        \(Self.server(places))
        }
        server {
        listen 80;
        server_name auth.example.com;
        location / {
            proxy_pass http://127.0.0.1:\(places.checks);
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
        }
        """
    }

    @Test("A user signs in, and the app knows the user")
    func signIn() throws {
        try ProxyBench.with(.nginx, more: "identity: {preset: authelia}", nginx: Self.server) { bench in
            let asked = try bench.ask("/page?x=1", .navigation)
            #expect(asked.status == 302, "\(asked.lines)")
            #expect(asked.value("location")?.hasPrefix("\(Request.origin)/.sallyport/login?return_to=") == true)
            let cookie = try bench.session()
            let shown = try bench.ask("/page?x=1", .navigation, [cookie, "Remote-User: root", "Remote-Groups: root"])
            #expect(shown.status == 200, "\(shown.lines)")
            let got = try #require(bench.app.requests.last)
            #expect(got.values("remote-user") == ["ada"] && !got.text.contains("root"), "\(got.lines)")
            #expect(
                got.values("remote-email") == [User.ada.identifier] && got.values("remote-name") == ["Ada Lovelace"]
            )
            let count = bench.app.requests.count
            #expect(try bench.ask("/admins/x", .fetch, [try bench.session(.grace)]).status == 403)
            #expect(bench.app.requests.count == count)
        }
    }

    @Test("A refused script is led to the sign-in, as a page is")
    func scripts() throws {
        try ProxyBench.with(.nginx, more: "identity: {preset: authelia}", nginx: Self.server) { bench in
            let login = "\(Request.origin)/.sallyport/login?return_to="
            for kind in [Kind.navigation, .fetch, .post, .socket] {
                for fields in [[], ["Cookie: sallyport=x"], ["Authorization: Bearer x"], ["X-Session-Token: x"]] {
                    let answer = try bench.ask("/page?x=1", kind, fields)
                    #expect(answer.status == 302, "\(kind) \(fields): \(answer.lines)")
                    #expect(answer.value("location")?.hasPrefix(login) == true, "\(kind) \(fields): \(answer.lines)")
                }
            }
            #expect(bench.app.requests.isEmpty)
        }
    }

    @Test("Links of apps to the portal lead to the sign-in and the sign-out, and those to the app stay the app's")
    func links() throws {
        try ProxyBench.with(
            .nginx,
            signIn: Self.portal,
            more: "identity: {preset: authelia}",
            nginx: Self.withPortal
        ) { bench in
            func visit(_ target: String, _ method: String = "GET", at host: String = "auth.example.com") throws
                -> Answer
            {
                let request = Kind.navigation.request(target).replacing(
                    "Host: \(Request.host)\r\n",
                    with: "Host: \(host)\r\n"
                )
                return try bench.connect().request(method + request.dropFirst("GET".count))
            }
            let signIn = try visit("/?rd=\(Request.origin)/page%3Fx%3D1&rm=GET")
            let login = "\(Request.origin)/.sallyport/login?return_to=/page%3Fx%3D1"
            #expect(signIn.status == 303 && signIn.value("location") == login, "\(signIn.lines)")
            let elsewhere = try visit("/?rd=https://evil.example/")
            #expect(elsewhere.status == 303, "\(elsewhere.lines)")
            #expect(elsewhere.value("location")?.hasSuffix("/.sallyport/sessions") == true, "\(elsewhere.lines)")
            for method in ["GET", "POST"] {
                let signOut = try visit("/logout?rd=\(Request.origin)/", method)
                #expect(signOut.status == 303, "\(method): \(signOut.lines)")
                let place = signOut.value("location") ?? ""
                #expect(place.contains("/.sallyport/logout?return_to=%2F%3Frd%3Dhttp"), "\(method): \(signOut.lines)")
            }
            for target in ["/.sallyport/sessions", "/.sallyport/logout"] {
                let page = try visit(target)
                #expect([200, 303, 401].contains(page.status), "\(target): \(page.lines)")
            }
            // Neither another path nor another host has them, and no app is reached by the address of checks.
            for target in ["/logout/", "/logoutx", "/consent", "/%6Cogout"] {
                #expect(try visit(target).status >= 400, "\(target)")
            }
            #expect(bench.app.requests.isEmpty, "\(bench.app.requests.map(\.lines))")
            let app = try visit("/public/logout", at: Request.host)
            #expect(app.status == 200 && bench.app.requests.last?.target == "/public/logout", "\(app.lines)")
            let asked = try visit("/logout", at: Request.host)
            #expect(
                asked.status == 302 && asked.value("location")?.contains("/.sallyport/login") == true,
                "\(asked.lines)"
            )
        }
    }

    @Test("A portal without an app has them at the gateway itself, too, and a host with an app has not")
    func listener() throws {
        let app = try FakeUpstream { link in while link.next() != nil { link.answer("200 OK", body: "app") } }
        defer { app.stop() }
        let port = try ServerPorts.take()
        let settings = """
            listen: 127.0.0.1:\(port)
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            session: {cookie: sallyport}
            identity: {preset: authelia}
            hosts:
              - {public_url: "http://auth.example.com", endpoints: true, routes: [{path: /**}]}
              - public_url: http://app.example.com
                endpoints: true
                routes: [{path: /**, auth: public, upstream: "http://127.0.0.1:\(app.port)"}]
            provider:
              static:
                users:
            \(Config.users)
            authorization: {listen: "127.0.0.1:\(try ServerPorts.take())", peers: [127.0.0.1]}
            secret_file: secret
            drain: {delay: 0s, timeout: 1s}

            """
        try Gateway.with(
            settings,
            files: ["secret": "of-the-tests-of-the-portal-\(UInt64.random(in: 0...UInt64.max))\n"]
        ) { _ in
            func get(_ target: String, _ host: String) throws -> Answer {
                try Wire(to: port).request("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            }
            let signIn = try get("/?rd=http://app.example.com/x", "auth.example.com")
            #expect(
                signIn.value("location") == "http://app.example.com/.sallyport/login?return_to=/x",
                "\(signIn.lines)"
            )
            let signOut = try get("/logout", "auth.example.com")
            #expect(signOut.status == 303, "\(signOut.lines)")
            #expect(try get("/other", "auth.example.com").status == 404)
            for target in ["/logout", "/?rd=http://app.example.com/x"] {
                let answer = try get(target, "app.example.com")
                #expect(answer.status == 200 && answer.text == "app", "\(answer.lines)")
            }
        }
    }
}
