import Foundation
import GatewayBench
import Testing

/// How the client's address of a request is determined (T14).
@Suite("Client address", .blocking) struct AddressTests {
    @Test("T14: X-Forwarded-For is used only from trusted proxies, from the right, and the app gets one address")
    func forwardedFor() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "trusted_proxies: [127.0.0.1/32, 10.0.0.0/8]\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            let cases: [(sent: [String], from: String?, seen: String)] = [
                (["203.0.113.7"], nil, "203.0.113.7"), (["198.51.100.1, 203.0.113.7"], nil, "203.0.113.7"),
                (["198.51.100.1, 203.0.113.7, 10.1.2.3"], nil, "203.0.113.7"),
                (["198.51.100.1", "203.0.113.7"], nil, "203.0.113.7"),
                (["203.0.113.7, 10.0.0.1,10.0.0.2 , 127.0.0.1"], nil, "203.0.113.7"),
                (["2001:DB8::1"], nil, "2001:db8::1"),
                (["::ffff:203.0.113.7"], nil, "203.0.113.7"), (["203.0.113.7"], "127.0.0.2", "127.0.0.2"),
                ([], nil, "127.0.0.1"), (["10.0.0.1"], nil, "10.0.0.1"),
            ]
            for (sent, from, seen) in cases {
                let answer = try gateway.get("/", sent.map { "X-Forwarded-For: \($0)" }, from: from)
                #expect(answer.status == 200)
                #expect(
                    app.requests.last?.values("x-forwarded-for") == [seen],
                    "\(sent): \(app.requests.last?.text ?? "")"
                )
                #expect(app.requests.last?.values("forwarded") == [])
            }
            // After an entry that is not an address, entries further left, which the client may have written, are not
            // used.
            for odd in ["198.51.100.1, unknown", "198.51.100.1, _hidden", "198.51.100.1,nonsense"] {
                let answer = try gateway.get("/", ["X-Forwarded-For: \(odd)"])
                #expect(
                    answer.status == 400 || app.requests.last?.values("x-forwarded-for") != ["198.51.100.1"],
                    "\(odd)"
                )
            }
            // The other field is not read at all.
            _ = try gateway.get("/", ["Forwarded: for=203.0.113.9"])
            #expect(app.requests.last?.values("x-forwarded-for") == ["127.0.0.1"])
        }
    }

    @Test("If Forwarded is configured, it is read and X-Forwarded-For is not")
    func forwarded() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "trusted_proxies: [127.0.0.1/32]\nforwarded_header: forwarded\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            for (field, seen) in [
                ("Forwarded: for=203.0.113.7", "203.0.113.7"),
                ("Forwarded: For=\"[2001:db8::1]:4711\";proto=https", "2001:db8::1"),
                ("Forwarded: for=198.51.100.1, for=203.0.113.7;by=10.0.0.1", "203.0.113.7"),
                ("X-Forwarded-For: 203.0.113.7", "127.0.0.1"),
            ] {
                _ = try gateway.get("/", [field])
                #expect(app.requests.last?.values("x-forwarded-for") == [seen], "\(field)")
            }
        }
    }

    @Test("A start with an https URL and without trusted proxies gives a warning")
    func unnamedProxy() throws {
        let origin = "https://\(Request.host)"
        let plain = Config.file(upstream: 1, routes: "  - path: /**\n", publicURL: origin)
        try Gateway.with(plain) { #expect($0.output.contains("trusted_proxies is empty")) }
        try Gateway.with(Config.file(upstream: 1, publicURL: origin)) {
            #expect($0.output.contains("--insecure-unnamed-proxy: trusted_proxies is empty"))
        }
        let named = Config.file(upstream: 1, publicURL: origin, more: "trusted_proxies: [127.0.0.1]\n")
        try Gateway.with(named) { #expect(!$0.output.contains("trusted_proxies")) }
    }

    @Test(
        "One warning is given if a peer that is not trusted sends forwarding fields",
        arguments: ["X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7", "X-Real-IP: 203.0.113.7"]
    )
    func strayForwarding(field: String) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let name = String(field.prefix { $0 != ":" })
        func warnings(_ gateway: Gateway) -> [Substring] {
            gateway.output.split(separator: "\n").filter { $0.contains("from a peer that is not in trusted_proxies") }
        }
        try Gateway.with(Config.open(upstream: app.port, more: "trusted_proxies: [127.0.0.1]\n")) { gateway throws in
            for from in [nil, "127.0.0.2", "127.0.0.3", nil] {
                // An identity field is stripped in any case and is not a sign of a proxy.
                _ = try gateway.get("/", ["X-Auth-Subject: x"], from: from)
            }
            _ = try gateway.get("/", [field])
            #expect(warnings(gateway).isEmpty, "believed")
            for from in ["127.0.0.2", "127.0.0.3", "127.0.0.2"] {
                #expect(try gateway.get("/", ["X-Auth-Subject: x", field], from: from).status == 200)
            }
            #expect(eventually { !warnings(gateway).isEmpty })
            let told = warnings(gateway)
            #expect(told.count == 1 && told[0].contains("127.0.0.2") && told[0].contains(name), "\(told)")
            #expect(!told[0].contains("203.0.113.7"), "what it said is not repeated")
        }
    }

    @Test("CVE-2026-33495: URLs that the gateway makes have the public URL's scheme, whatever a client or proxy claims")
    func scheme() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: "trusted_proxies: [127.0.0.1/32]\n")) { gateway throws in
            let fields = [
                "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example", "X-Forwarded-Prefix: /x",
                "Accept: text/html",
            ]
            for from in [nil, "127.0.0.2"] {
                let answer = try gateway.get("/hello", fields, from: from)
                #expect(answer.value("location") == "\(Request.origin)/.sallyport/login?return_to=/hello")
            }
            _ = try gateway.get("/public/", fields)
            #expect(app.requests.last?.values("x-forwarded-proto") == ["http"])
            #expect(app.requests.last?.values("x-forwarded-host") == [Request.host])
        }
    }

    @Test("CVE-2026-34457: a health checker's User-Agent opens nothing")
    func healthCheckers() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            for agent in ["GoogleHC/1.0", "kube-probe/1.30", "ELB-HealthChecker/2.0"] {
                #expect(try gateway.get("/private", ["User-Agent: \(agent)"]).status == 401)
            }
            for path in ["/healthz", "/readyz", "/metrics", "/ping"] {
                #expect(try gateway.get(path).status == 401, "\(path)")
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("P32: settings that trust every address are refused at the start")
    func trustAll() throws {
        for block in ["0.0.0.0/0", "\"::/0\""] {
            #expect(throws: BenchFailure.self) {
                try Gateway(Config.open(upstream: 1, more: "trusted_proxies: [\(block)]\n")).stop()
            }
        }
    }

    @Test("P33: a PROXY protocol line is not accepted as part of a request")
    func proxyProtocol() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for preamble in ["PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n", "\r\n\r\n\0\r\nQUIT\n\u{21}\u{11}\0\u{0C}"] {
                let wire = try gateway.connect()
                wire.send(preamble + Request.get())
                let answer = try wire.answer()
                #expect([400, 505].contains(answer.status) && wire.endsNow(), "\(answer.lines)")
            }
            #expect(app.requests.isEmpty)
        }
    }
}
