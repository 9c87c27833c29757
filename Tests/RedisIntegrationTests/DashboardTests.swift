import Foundation
import GatewayBench
import RedisServers
import Testing

/// `deploy/observability`: each expression is evaluated by a real Prometheus that scrapes a gateway.
@Suite("Alerts and the dashboard", .blocking) struct DashboardTests {
    private static let program = Servers.find(["/usr/bin/prometheus", "/usr/local/bin/prometheus"])
    private static let files = Gateway.root.appending(path: "deploy/observability")

    /// A Prometheus that scrapes one gateway every quarter of a second and judges the alerts.
    private static func with(_ gateway: Gateway, _ body: (Wire) throws -> Void) throws {
        guard let program = self.program else { try Servers.missing("prometheus") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "prometheus.yml")
        try String(contentsOf: self.files.appending(path: "prometheus.yml"), encoding: .utf8)
            .replacing("15s", with: "250ms")
            .replacing(#""gateway-1:9090", "gateway-2:9090""#, with: "\"\(loopback):\(gateway.adminPort)\"")
            .write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.copyItem(
            at: self.files.appending(path: "alerts.yaml"),
            to: folder.appending(path: "alerts.yaml")
        )
        let port = try ServerPorts.take()
        let arguments = [
            "--config.file=\(file.path)", "--storage.tsdb.path=\(folder.path)/data",
            "--web.listen-address=\(loopback):\(port)",
        ]
        let prometheus = try Servers.Running(program, arguments, in: folder, port: port, within: 60)
        defer { prometheus.stop() }
        try body(try Wire(to: port))
    }

    private static func ask(_ wire: Wire, _ path: String) throws -> [String: Any] {
        let answer = try wire.request("GET \(path) HTTP/1.1\r\nHost: prometheus\r\n\r\n")
        let document = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return try #require(document, "\(answer.text)")
    }

    /// The series that an expression gives now.
    private static func evaluate(_ expression: String, _ wire: Wire) throws -> [[String: Any]] {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        let query = try #require(expression.addingPercentEncoding(withAllowedCharacters: allowed))
        let answer = try self.ask(wire, "/api/v1/query?query=\(query)")
        #expect(answer["status"] as? String == "success", "\(expression): \(answer)")
        return (answer["data"] as? [String: Any])?["result"] as? [[String: Any]] ?? []
    }

    /// The alerts as Prometheus judges them; none before the first round.
    private static func alerts(_ wire: Wire) throws -> [[String: Any]] {
        let data = try self.ask(wire, "/api/v1/rules")["data"] as? [String: Any]
        let groups = data?["groups"] as? [[String: Any]] ?? []
        return groups.flatMap { $0["rules"] as? [[String: Any]] ?? [] }
    }

    /// Whether an alert is pending or fires.
    private static func isRaised(_ name: String, _ wire: Wire) throws -> Bool {
        try !self.evaluate(#"ALERTS{alertname="\#(name)"}"#, wire).isEmpty
    }

    /// The expressions of the dashboard as Grafana sends them for all gateways.
    private static func dashboard() throws -> [String] {
        let data = try Data(contentsOf: self.files.appending(path: "dashboard.json"))
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(document["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        return try targets.map { target in
            try #require(target["expr"] as? String).replacing("$__rate_interval", with: "1m")
                .replacing("$instance", with: ".*")
        }
    }

    /// Names of metrics with the labels that an expression selects or groups by.
    private static func uses(_ expression: String) -> [(name: String, labels: Set<Substring>)] {
        let groups = expression.matches(of: /by \(([a-z_, ]+)\)/)
            .flatMap { $0.1.split { $0 == "," || $0 == " " } }
        return expression.matches(of: /((?:sallyport|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/).map { match in
            let selected = (match.2 ?? "").matches(of: /([a-z_]+)[=!]/).map(\.1)
            return (String(match.1), Set(selected + groups).subtracting(["instance", "job", "le"]))
        }
    }

    @Test(
        "Every expression is valid, names metrics and labels of a running gateway, and an alert is raised when Redis is away"
    )
    func expressions() async throws {
        try await RedisServer.with { server in
            let rule = #"rules: [{name: tries, when: 'event.request.ip == "192.0.2.1"', then: deny, dry_run: true}]"#
            try await Fleet.with([RedisURLs.standalone(server.port)], more: rule) { fleet in
                try await fleet.waitUntilReady()
                let gateway = fleet[0]
                let browser = try patiently { try gateway.browser(.ada) }
                #expect(try gateway.get("/", ["Cookie: sallyport=\(browser)"]).status == 200)
                let token = try gateway.mint(try gateway.native())
                for _ in 0..<2 { _ = try gateway.get("/?session_transfer_token=\(token)") }
                #expect(try gateway.get("/private").status != 200)

                let known = try gateway.admin("/metrics").text.split(separator: "\n")
                let alone = try Gateway.with(Config.open(upstream: 1)) { try $0.admin("/metrics").text }
                let helped = Set(
                    (known + alone.split(separator: "\n")).compactMap {
                        $0.firstMatch(of: #/^# TYPE ([a-z0-9_]+) /#)?.1
                    }
                )
                try Self.with(gateway) { wire in
                    #expect(eventually { (try? Self.evaluate("sallyport_build_info", wire).count) == 1 })
                    let areJudged = eventually {
                        (try? Self.alerts(wire))?.allSatisfy { $0["health"] as? String == "ok" } == true
                    }
                    let alerts = try Self.alerts(wire)
                    #expect(areJudged, "\(alerts)")
                    #expect(alerts.count == 25)
                    let expressions = try Self.dashboard() + alerts.compactMap { $0["query"] as? String }
                    #expect(expressions.count > 50)
                    var compared = 0
                    for expression in expressions {
                        _ = try Self.evaluate(expression, wire)
                        for use in Self.uses(expression) {
                            let family = use.name.replacing(/_(?:bucket|sum|count)$/, with: "")
                            #expect(helped.contains { $0 == use.name || $0 == family }, "\(use.name) in \(expression)")
                            // A family that hides zeros has no series before something happens; the others show labels,
                            // also empty ones, which Prometheus drops.
                            guard let series = known.first(where: { $0.hasPrefix("\(use.name){") }) else { continue }
                            let missing = use.labels.filter { label in
                                !["{", ","].contains { series.contains("\($0)\(label)=\"") }
                            }
                            #expect(missing.isEmpty, "\(missing.sorted()) of \(use.name) in \(expression)")
                            compared += 1
                        }
                    }
                    #expect(compared > 20)
                    for name in [
                        "sallyport_sign_ins_total", "sallyport_decisions_total", "sallyport_http_requests_total",
                    ] {
                        #expect(try !Self.evaluate(name, wire).isEmpty, "\(name)")
                    }
                    for name in ["SallyportRedisDown", "SallyportDown"] { #expect(try !Self.isRaised(name, wire)) }
                    server.kill()
                    #expect(eventually { (try? Self.isRaised("SallyportRedisDown", wire)) == true })
                }
            }
        }
    }

    @Test("The dashboard leads from a request id to its trace, in the data source that was chosen")
    func traceOfRequest() throws {
        let data = try Data(contentsOf: Self.files.appending(path: "dashboard.json"))
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let list = try #require((document["templating"] as? [String: Any])?["list"] as? [[String: Any]])
        let names = Set(list.compactMap { $0["name"] as? String })
        let links = try #require(document["links"] as? [[String: Any]])
        let url = try #require(links.first?["url"] as? String)
        #expect(Set(url.matches(of: /\$\{([a-z]+)\}/).map { String($0.1) }) == ["traces", "request"])
        #expect(names.isSuperset(of: ["traces", "request"]))
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        let filled = url.replacing("${traces}", with: "tempo-1").replacing("${request}", with: id)
        let items = try #require(URLComponents(string: filled)?.queryItems)
        let panes = try #require(items.first { $0.name == "panes" }?.value)
        let pane = try JSONSerialization.jsonObject(with: Data(panes.utf8)) as? [String: [String: Any]]
        let query = try #require((pane?["t"]?["queries"] as? [[String: Any]])?.first)
        #expect(query["query"] as? String == id)
        #expect((query["datasource"] as? [String: Any])?["uid"] as? String == "tempo-1")
    }
}
