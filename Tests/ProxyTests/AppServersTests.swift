import GatewayBench
import Testing

/// Apps on several servers behind another proxy: `check --for` prints all of them.
@Suite("Apps on several servers behind another proxy", .blocking) struct AppServersTests {
    private static let proxies: [Proxy] = [.nginx, .caddy, .envoy, .haproxy, .traefik]

    private static func app(_ number: Int) throws -> FakeUpstream {
        try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "\(number)") })
    }

    @Test("All servers get requests, as often as their weights say", arguments: Self.proxies)
    func all(_ proxy: Proxy) throws {
        let apps = try (0..<2).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let servers = zip(apps, [3, 1]).map { "{url: \"http://127.0.0.1:\($0.port)\", weight: \($1)}" }
        let weights = proxy == .caddy ? apps.map { "http://127.0.0.1:\($0.port)" } : servers
        let upstreams = "upstreams: {several: {servers: [\(weights.joined(separator: ", "))], balance: round_robin}}\n"
        let routes = ["{path: /spread/**, auth: public, upstream: several}"]
        try ProxyBench.with(proxy, routes: routes, more: upstreams) { bench in
            var counts: [String: Int] = [:]
            for index in 0..<40 {
                let answer = try bench.ask("/spread/\(index)", .fetch)
                #expect(answer.status == 200, "\(answer.lines)")
                counts[answer.text, default: 0] += 1
            }
            let expected = proxy == .caddy ? 20 : 30
            #expect(abs(counts["0", default: 0] - expected) <= 4 && counts["1", default: 0] > 0, "\(counts)")
        }
    }

    @Test("Sticky goes by the client's address, and the least requests are known", arguments: Self.proxies)
    func balance(_ proxy: Proxy) throws {
        let apps = try (0..<3).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let servers = apps.map { "http://127.0.0.1:\($0.port)" }.joined(separator: ", ")
        let upstreams = """
            upstreams:
              sticky: {servers: [\(servers)], balance: sticky, health: {path: "/health?it's=1", interval: 1s}}
              least: {servers: [\(servers)], slow_start: 30s}

            """
        let routes = ["{path: /s/**, auth: public, upstream: sticky}", "{path: /l/**, auth: public, upstream: least}"]
        try ProxyBench.with(proxy, routes: routes, more: upstreams) { bench in
            var places: [String: Set<String>] = [:]
            for index in 0..<20 {
                for folder in ["s", "l"] {
                    let answer = try bench.ask("/\(folder)/\(index)", .fetch)
                    #expect(answer.status == 200, "\(answer.lines)")
                    places[folder, default: []].insert(answer.text)
                }
            }
            #expect(places["s"]?.count == 1, "\(places)")
            #expect((places["l"]?.count ?? 0) > 1, "\(places)")
        }
    }
}
