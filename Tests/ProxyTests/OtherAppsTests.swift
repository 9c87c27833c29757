import GatewayBench
import Testing

/// Several apps behind one proxy: the app that gets a request is the one for which it was judged.
@Suite("Several apps behind another proxy", .blocking) struct OtherAppsTests {
    /// Paths of the other app, how a client writes one below each, and how it writes one of the first app that a careless
    /// expression would take for it.
    private static let paths: [(path: String, inside: String, outside: String)] = [
        ("/c++", "/c++/x", "/ccc/x"), ("/c++", "/%63%2B+/x", "/c/x"), ("/a=b", "/a=b/x", "/aXb/x"),
        ("/it's", "/it's/x", "/itXs/x"), ("/a b", "/a%20b/x", "/aXb/x"), ("/ü", "/%C3%BC/x", "/public/x"),
        ("/ü", "/%c3%bc/x", "/XY/x"), ("/日本", "/%E6%97%A5%E6%9C%AC/x", "/public/y"),
        ("/(p|q)[r]", "/%28p%7Cq%29%5Br%5D/x", "/q/x"),
        ("/{id}", "/%7Bid%7D/x", "/public/z"), ("/a,b&c!$", "/a,b&c!$/x", "/a,b&c!/x"),
        ("/^`\"<>~@:", "/%5E%60%22%3C%3E~@:/x", "/^/x"),
        ("/v1.0", "/v1.0/x", "/v1X0/x"), ("/plain", "/pl%61in/x", "/plains/x"),
        ("/one/*/two", "/one/a/two/x", "/one/a/b/two/x"),
    ]

    /// What the main route demands: else the gateway refuses spellings that are another route to an app that does not decode.
    private static let cors =
        #"cors: {origins: ["https://static.example.com"], methods: [GET, PUT], credentials: true}"#

    @Test(
        "Whatever stands in a route's path, its requests go to its app, and no others",
        arguments: [Proxy.nginx, .caddy, .oldCaddy, .envoy, .haproxy]
    )
    func paths(_ proxy: Proxy) throws {
        let other = try FakeUpstream { link in
            while let request = link.next() { link.answer("200 OK", body: request.target) }
        }
        defer { other.stop() }
        let routes = Set(Self.paths.map(\.path)).sorted().map { path in
            "{path: \"\(path.replacing("\"", with: "\\\""))/**\", client: web, \(Self.cors), upstream: \"http://127.0.0.1:\(other.port)\"}"
        }
        try ProxyBench.with(proxy, routes: routes) { bench in
            let cookie = try bench.session()
            for (path, inside, outside) in Self.paths {
                for (target, app, rival) in [(inside, other, bench.app), (outside, bench.app, other)] {
                    let (count, others) = (app.requests.count, rival.requests.count)
                    let answer = try bench.ask(target, .fetch, [cookie])
                    // Some proxies refuse some of these bytes themselves.
                    if answer.status == 400, answer.value("x-sallyport-reason") == nil { continue }
                    #expect(answer.status == 200, "\(path) \(target): \(answer.lines)")
                    #expect(app.requests.count == count + 1, "\(path) \(target)")
                    #expect(rival.requests.count == others, "\(path) \(target) went to the other app")
                }
                #expect(try bench.ask(inside, .fetch).status != 200, "\(path)")
            }
        }
    }

    @Test(
        "Hosts whose names differ in punctuation alone keep their own apps and demands",
        arguments: [Proxy.nginx, .caddy, .envoy, .haproxy]
    )
    func hosts(_ proxy: Proxy) throws {
        let other = try FakeUpstream { link in
            while let request = link.next() { link.answer("200 OK", body: request.target) }
        }
        defer { other.stop() }
        let hosts = [
            "{public_url: \"http://a-b.example.com\", routes: [{path: /**}, {path: /x/**, auth: public}]}",
            // Longer than what nginx expects.
            "{public_url: \"http://\(String(repeating: "long.", count: 30))example.com\", routes: [{path: /**, auth: public, upstream: \"http://127.0.0.1:\(other.port)\"}]}",
            "{public_url: \"http://a.b.example.com\", routes: [{path: /**, auth: public, upstream: \"http://127.0.0.1:\(other.port)\"}]}",
        ]
        try ProxyBench.with(proxy, hosts: hosts) { bench in
            func ask(_ host: String, _ path: String) throws -> Answer {
                try bench.connect().request("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            }
            #expect(try ask("a.b.example.com", "/page").status == 200)
            #expect(other.requests.count == 1 && bench.app.requests.isEmpty)
            let refused = try ask("a-b.example.com", "/page")
            #expect(refused.status == 401, "\(refused.lines)")
            #expect(try ask("a-b.example.com", "/x/page").status == 200)
            #expect(other.requests.count == 1 && bench.app.requests.map(\.target) == ["/x/page"])
        }
    }

    @Test(
        "The names of a wildcard are judged and forwarded by their own names; hosts of their own keep theirs",
        arguments: [Proxy.nginx, .caddy, .oldCaddy, .envoy, .haproxy]
    )
    func wildcard(_ proxy: Proxy) throws {
        let other = try FakeUpstream { link in
            while let request = link.next() { link.answer("200 OK", body: String(latin1: request.head)) }
        }
        defer { other.stop() }
        let app = "upstream: \"http://127.0.0.1:\(other.port)\""
        let hosts = [
            "{public_url: \"http://*.example.com\", routes: [{path: /**, \(app)}, {path: /x/**, auth: public, \(app)}]}"
        ]
        try ProxyBench.with(proxy, hosts: hosts) { bench in
            func ask(_ host: String, _ path: String, _ fields: [String] = []) throws -> Answer {
                let lines = ["GET \(path) HTTP/1.1", "Host: \(host)"] + fields
                return try bench.connect().request(lines.joined(separator: "\r\n") + "\r\n\r\n")
            }
            let open = try ask("acme.example.com", "/x/page")
            #expect(open.status == 200, "\(open.lines) \(open.text)")
            for line in ["host: acme.example.com", "x-forwarded-host: acme.example.com"] {
                #expect(open.text.lowercased().contains(line), "\(line): \(open.text)")
            }
            #expect(try ask("acme.example.com", "/page").status == 401)
            // The session of another host.
            let cookie = try bench.session()
            #expect(try ask("acme.example.com", "/page", [cookie]).status == 401)
            let count = other.requests.count
            for name in ["a.b.example.com", "a_b.example.com", "xn--a.example.com", "acme.example.com.evil.test"] {
                // Caddy answers names of no site by 200 without a body.
                let refused = try ask(name, "/x/page")
                #expect(refused.status != 200 || refused.text.isEmpty, "\(name): \(refused.text)")
            }
            #expect(try ask("app.example.com", "/public/page").status == 200)
            #expect(other.requests.count == count && bench.app.requests.count == 1)
        }
    }
}
