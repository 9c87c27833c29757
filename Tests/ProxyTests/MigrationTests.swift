import GatewayBench
import Testing

/// Proxies that were configured for others, as the others' manuals say, and now ask the gateway.
@Suite("Configurations that were made for others", .blocking) struct MigrationTests {
    @Test("nginx as oauth2-proxy's manual configures it")
    func oauth2Proxy() throws {
        let server: (ProxyPlaces) -> String = { places in
            """
            location /.sallyport/ {
                proxy_pass http://127.0.0.1:\(places.gateway);
                proxy_set_header Host $host;
                proxy_set_header X-Forwarded-For $remote_addr;
            }
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
        try ProxyBench.with(.nginx, more: "compat: {oauth2_proxy: true}", nginx: server) { bench in
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
            #expect(login.hasPrefix("\(Request.origin)/.sallyport/login?return_to=/page"), "\(login)")
            let page = try visit(String(login.dropFirst(Request.origin.count)))
            #expect(page.status == 200 && page.text.contains("password"), "\(page.lines)")
            jar = String(try bench.session().dropFirst("Cookie: ".count))
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
            let signOut = try visit("/oauth2/sign_out")
            #expect(signOut.status == 303, "\(signOut.lines)")
            #expect(signOut.value("location")?.contains("/.sallyport/logout") == true, "\(signOut.lines)")
        }
    }

    @Test("nginx as Authelia's manual configures it")
    func authelia() throws {
        let server: (ProxyPlaces) -> String = { places in
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
        try ProxyBench.with(.nginx, more: "identity: {preset: authelia}", nginx: server) { bench in
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
}
