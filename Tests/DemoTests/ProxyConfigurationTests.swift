import Foundation
import GatewayBench
import Testing

/// `check --for`, from the point of view of an operator who has a proxy already.
@Suite struct ProxyConfigurationTests {
    private static let folder = Gateway.root.appending(path: "deploy/proxies")
    private static let settings = Self.folder.appending(path: "sallyport.yaml").path

    private static func print(_ proxy: String, _ variables: [String: String] = [:]) throws -> (
        status: Int32, output: String
    ) {
        let arguments = variables.map { "\($0)=\($1)" }
        return try Servers.run(
            "/usr/bin/env",
            arguments + [Gateway.binary.path, "check", "--config", Self.settings, "--for", proxy]
        )
    }

    @Test(
        "The examples are what is printed for the settings beside them",
        arguments: [
            ("nginx", "nginx.conf", true), ("traefik", "traefik.yaml", true), ("envoy", "envoy.yaml", true),
            ("caddy", "Caddyfile", false), ("haproxy", "haproxy.cfg", false),
            ("ingress-nginx", "ingress-nginx.yaml", false), ("gateway-api", "gateway-api.yaml", false),
        ]
    )
    func examples(proxy: String, file: String, passesCookies: Bool) throws {
        let result = try Self.print(proxy, ["SALLYPORT_AUTHORIZATION_COOKIES_ON_SUCCESS": "\(passesCookies)"])
        let example = try String(contentsOf: Self.folder.appending(path: file), encoding: .utf8)
        #expect(result.status == 0 && result.output == example, "\(file) is not what check prints: \(result.output)")
        // Nothing of these settings is left out. What a proxy cannot do at all is said to everybody.
        let warnings = example.split(separator: "\n").filter { $0.contains("WARNING") }
        #expect(warnings.allSatisfy { $0.hasPrefix("# WARNING: this proxy re") }, "\(warnings)")
        #expect(warnings.count == (["traefik", "envoy", "haproxy"].contains(proxy) ? 0 : 1), "\(warnings)")
        let other = try Self.print(proxy, ["SALLYPORT_AUTHORIZATION_COOKIES_ON_SUCCESS": "\(!passesCookies)"])
        #expect(other.status == 0 && other.output.contains("cookies_on_success"), "\(other.output)")
    }

    @Test("A configuration is refused where the proxy could not ask")
    func refused() throws {
        let dialects = try Self.print("envoy", ["SALLYPORT_AUTHORIZATION_DIALECTS": "auth-request"])
        #expect(dialects.status == 1 && dialects.output.contains("ext-authz"), "\(dialects.output)")
        let unknown = try Self.print("apache")
        #expect(unknown.status != 0 && unknown.output.contains("gateway-api"), "\(unknown.output)")
    }

    @Test(
        "What the proxy would read in another way than the gateway is not printed",
        arguments: [
            (
                """
                public_url: https://app.example.com
                routes:
                  - {path: /**, methods: [GET], auth: public, upstream: "http://127.0.0.1:1"}
                  - {path: /**, methods: [POST], auth: public, upstream: "http://127.0.0.1:2"}
                """, "/**"
            ),
            (
                """
                public_url: https://app.example.com
                routes: [{path: /**, auth: public}]
                identity: {headers: {"X'Name": subject}}
                """, "X'Name"
            ),
            (
                """
                public_url: https://app.example.com
                routes: [{path: /**, auth: public}]
                listen: [{address: "127.0.0.1:8080", proxy_protocol: {from: [127.0.0.1]}}]
                """, "tls: false"
            ),
            (
                """
                public_url: https://app.example.com
                routes: [{path: /**, auth: public, upstream: app}]
                upstreams: {app: {servers: ["http://127.0.0.1:1", "unix:/run/app.sock"]}}
                """, "the app app is behind a socket"
            ),
        ]
    )
    func unwritable(settings: String, named: String) throws {
        let result = try Self.print("haproxy", settings: settings)
        #expect(result.status == 1 && result.output.contains(named), "\(result.output)")
        #expect(!result.output.contains("use_backend"))
    }

    @Test(
        "nginx lets the largest body pass that some route accepts",
        arguments: [("2KiB", "2048"), ("none", "0"), ("512", "1024")]
    )
    func bodies(own: String, printed: String) throws {
        let settings = """
            public_url: https://app.example.com
            upstream: "http://127.0.0.1:1"
            routes: [{path: /**, auth: public}, {path: /uploads/**, auth: public, max_body: \(own)}]
            limits: {body: 1KiB}
            """
        let result = try Self.print("nginx", settings: settings)
        #expect(result.status == 0 && result.output.contains("client_max_body_size \(printed);"), "\(result.output)")
    }

    @Test("HAProxy, which reads no line of more than 2,047 bytes, gets the names of many headers in shorter ones")
    func lineLengths() throws {
        let headers = (1...60).map { "X-Header-Of-Some-App-\($0): subject" }.joined(separator: ", ")
        let settings = """
            public_url: https://app.example.com
            upstream: "http://127.0.0.1:1"
            routes: [{path: /**, auth: public}]
            identity: {headers: {\(headers)}}
            """
        let result = try Self.print("haproxy", settings: settings)
        #expect(result.status == 0, "\(result.output)")
        let removing = result.output.split(separator: "\n").filter {
            $0.contains("http-request del-header ^") || $0.contains("req.fhdr(connection)")
        }
        for name in ["x.header.of.some.app.1", "x.header.of.some.app.60", "x.script.name", "front.end.https"] {
            let isNamed = removing.filter { $0.contains("\(name)|") || $0.contains("\(name))") }
            #expect(isNamed.count == 2, "\(name)")
        }
        #expect(removing.allSatisfy { $0.utf8.count < 2047 }, "\(removing.map(\.utf8.count))")
    }

    /// What is printed for a gateway with these settings and a listener for checks.
    private static func print(_ proxy: String, settings: String) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let authorization = "authorization: {listen: 127.0.0.1:9092, peers: [127.0.0.1]}"
        try "\(settings)\n\(authorization)\n".write(to: file, atomically: true, encoding: .utf8)
        return try Servers.run(Gateway.binary.path, ["check", "--config", file.path, "--for", proxy])
    }

    @Test(
        "Hosts and apps whose names differ in punctuation alone are told apart",
        arguments: [
            ("nginx", ["sallyport_app_of_a_b_example_com_2", "upstream sallyport_app_x_y_2 {"]),
            ("haproxy", ["acl is_a_b_example_com_2 req.fhdr(host),host_only -i a.b.example.com", "backend app_x_y_2"]),
            ("envoy", ["- name: a_b_example_com_2", "- name: app_x_y_2"]),
            ("traefik", ["host_a_b_example_com_2:", "path1_a_b_example_com:", "app_x_y_2:"]),
            ("ingress-nginx", ["name: own-a-b-example-com-2", "name: host-a-b-example-com-2"]),
            ("gateway-api", ["name: a-b-example-com-2"]),
        ]
    )
    func labels(proxy: String, names: [String]) throws {
        let settings = """
            hosts:
              - public_url: https://a-b.example.com
                routes:
                  - {path: /**, auth: public, upstream: x-y}
                  - {path: /other/**, auth: public, upstream: x_y}
              - public_url: https://a.b.example.com
                routes:
                  - {path: /**, auth: public, upstream: x_y}
                  - {path: /other/**, auth: public, upstream: x-y}
            upstreams: {x-y: {url: "http://127.0.0.1:1"}, x_y: {url: "http://127.0.0.1:2"}}
            """
        let result = try Self.print(proxy, settings: settings)
        #expect(result.status == 0, "\(result.output)")
        for name in names { #expect(result.output.contains(name), "no \(name): \(result.output)") }
    }

    @Test(
        "All servers of an app are printed, with the balance and the names as far as the proxy has them",
        arguments: [
            (
                "nginx",
                [
                    "    least_conn;\n        server a.internal:8443 weight=2;\n        server b.internal:443;",
                    "hash $remote_addr consistent;",
                    "# WARNING: app_two: sticky", "# WARNING: app_one_tls: this proxy asks",
                ]
            ),
            (
                "haproxy",
                [
                    "balance leastconn", "server app_1 a.internal:8443 ssl verify required ca-file @system-ca sni",
                    "sni str(one.internal) verifyhost one.internal weight 2", "sni str(b.one.internal)",
                    "balance source\n    hash-type consistent",
                    "option httpchk GET /healthz\n    http-check expect status 204",
                    "check inter 10000ms rise 2 fall 3",
                ]
            ),
            (
                "envoy",
                [
                    "lb_policy: LEAST_REQUEST", "load_balancing_weight: 2", "sni: b.one.internal",
                    "lb_policy: MAGLEV", "hash_policy: [{connection_properties: {source_ip: true}}]",
                    "envoy.transport_socket_match: {name: one.internal}", "interval: 10.000s",
                ]
            ),
            (
                "traefik",
                [
                    "{url: \"https://a.internal:8443\", weight: 2}, {url: \"https://b.internal:443\"}",
                    "strategy: p2c", "strategy: hrw", "serverName: one.internal", "interval: 10000ms",
                ]
            ),
            (
                "caddy",
                [
                    "https://a.internal:8443 https://b.internal:443 {", "lb_policy least_conn", "lb_policy ip_hash",
                    "tls_server_name one.internal", "health_uri /healthz",
                    "# WARNING: app_one_tls: this proxy applies weights",
                ]
            ),
        ]
    )
    func servers(proxy: String, texts: [String]) throws {
        let settings = """
            public_url: https://app.example.com
            routes:
              - {path: /**, auth: public, upstream: one}
              - {path: /two/**, auth: public, upstream: two}
            upstreams:
              one:
                servers:
                  - {url: "https://a.internal:8443", weight: 2}
                  - {url: "https://b.internal", server_name: b.one.internal}
                server_name: one.internal
              two:
                servers: [http://c.internal, http://d.internal]
                balance: sticky
                health: {path: /healthz, status: 204}
            """
        let result = try Self.print(proxy, settings: settings)
        #expect(result.status == 0, "\(result.output)")
        for text in texts { #expect(result.output.contains(text), "no \(text): \(result.output)") }
    }

    @Test(
        "explain says how the proxy is answered",
        arguments: [
            ("nginx", "answer to the proxy\n  401 Unauthorized, with Location"),
            ("traefik", "answer to the proxy\n  303 See Other, with Location"),
            ("envoy", "answer to the proxy\n  303 See Other, with Location"),
        ]
    )
    func explanation(proxy: String, answer: String) throws {
        func explain(_ path: String, _ more: [String] = []) throws -> String {
            let own = ["explain", "--config", Self.settings, "--via", proxy, "--url", "https://app.example.com\(path)"]
            return try Servers.run(Gateway.binary.path, own + more).output
        }
        let page = ["--header", "Sec-Fetch-Mode: navigate", "--header", "Accept: text/html"]
        #expect(try explain("/x", page).contains(answer))
        let open = try explain("/assets/x")
        #expect(open.contains("decision\n  allowed\n"), "\(open)")
        #expect(open.contains("answer to the proxy\n  200 OK\n"), "\(open)")
        // Nobody is signed in: nginx gets an empty field, and the others remove the client's before they ask.
        #expect(open.contains("X-Auth-Subject:") == (proxy == "nginx"), "\(open)")
        let own = try explain("/.sallyport/login")
        #expect(own.contains("authz.endpoint") && own.contains("answer to the proxy\n  403 Forbidden"), "\(own)")
        // The proxy would forward the URL as it is.
        let token = try explain("/assets/x?session_transfer_token=a")
        #expect(token.contains("303 to the same URL without the transfer token"), "\(token)")
        let status = proxy == "nginx" ? "401 Unauthorized, with Location" : "303 See Other, with Location"
        #expect(token.contains("answer to the proxy\n  \(status)"), "\(token)")
    }

    @Test("The names of the configured fields are set by the proxy, and the others are removed")
    func names() throws {
        let variables = ["SALLYPORT_IDENTITY_PRESET": "remote-user", "SALLYPORT_IDENTITY_ASSERTION_ENABLED": "false"]
        let nginx = try Self.print("nginx", variables).output
        #expect(nginx.contains("proxy_set_header Remote-User $sallyport_field_remote_user;"))
        #expect(
            nginx.contains("proxy_set_header x-auth-email \"\";") && !nginx.contains("proxy_set_header remote-user")
        )
        #expect(nginx.contains("proxy_set_header x-auth-assertion \"\";"))
        #expect(try Self.print("caddy", variables).output.contains("copy_headers Remote-User Remote-Email"))
    }
}
