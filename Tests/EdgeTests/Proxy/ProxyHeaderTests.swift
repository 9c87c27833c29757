import Foundation
import GatewayBench
import Testing

/// A listener whose peers name their clients in the PROXY protocol, on the wire.
@Suite("A listener with the PROXY protocol", .blocking) struct ProxyHeaderTests {
    private static let client = "203.0.113.7"

    @Test("The named client is the peer for the app and for the log", arguments: [1, 2])
    func namesTheClient(version: Int) throws {
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, app throws in
            let header = version == 1 ? Header.line(Self.client) : Header.binary(Self.client)
            // What the client says about itself counts for nothing.
            let request = Request.get("/public/", ["X-Forwarded-For: 198.51.100.9", "Forwarded: for=198.51.100.9"])
            #expect(try gateway.request(header, request).status == 200)
            #expect(app.requests.first?.values("x-forwarded-for") == [Self.client])
            #expect(eventually { gateway.output.contains("\"client\":\"\(Self.client)\"") })
            #expect(gateway.output.contains("\"proxy.version\":\(version)"))
            #expect(try gateway.headers("v\(version)") == 1)
        }
    }

    @Test("A proxy that connects for itself is the client, and its checks are answered")
    func local() throws {
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, app throws in
            for header in [Header.local, Array("PROXY UNKNOWN\r\n".utf8)] {
                #expect(try gateway.request(header, Request.get("/public/")).status == 200)
            }
            #expect(app.requests.map { $0.values("x-forwarded-for") } == [["127.0.0.1"], ["127.0.0.1"]])
            #expect(try gateway.headers("local") == 2)
        }
    }

    @Test("A client behind the named one is believed only where trusted_proxies names the named one")
    func forwardingFields() throws {
        let more = "trusted_proxies: [\(Self.client)]\n"
        try ProxiedGateway.with(listen: ProxiedGateway.listen(), more: more) { gateway, app throws in
            let request = Request.get("/public/", ["X-Forwarded-For: 198.51.100.9"])
            #expect(try gateway.request(Header.binary(Self.client), request).status == 200)
            #expect(try gateway.request(Header.binary("203.0.113.8"), request).status == 200)
            #expect(app.requests.map { $0.values("x-forwarded-for") } == [["198.51.100.9"], ["203.0.113.8"]])
        }
    }

    @Test("CVE-2024-23324: what a header says is escaped in the log, and names the requests if it can")
    func logsWhatIsSaid() throws {
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, _ throws in
            let header = Header.binary(
                Self.client,
                [
                    (0x02, [0xFF, 0x22, 0x0A] + Array("x\",\"decision\":\"allowed".utf8)), (0x05, Array("conn-1".utf8)),
                    (0x20, [0x01, 0, 0, 0, 0]), (0xEA, [1] + Array("vpce-08d2bf15fac5001c9".utf8)),
                    (0xE0, [0xFF, 0, 0, 0, 0, 0, 0, 1]), (0xEE, [1, 4, 3, 2, 1]),
                ]
            )
            let wire = try gateway.connect()
            wire.send(header + Array((Request.get("/public/1") + Request.get("/public/2")).utf8))
            let ids = try (1...2).map { _ in try wire.answer().value("x-request-id") ?? "" }
            #expect(ids.allSatisfy { $0.wholeMatch(of: /conn-1-[0-9]+/) != nil } && Set(ids).count == 2, "\(ids)")
            #expect(eventually { ids.allSatisfy { gateway.output.contains("\"request_id\":\"\($0)\"") } })
            for member in [
                #""proxy.authority":"\u00ff\"\u000ax\",\"decision\":\"allowed""#, #""proxy.tls":true"#,
                #""proxy.aws_vpce":"vpce-08d2bf15fac5001c9""#, #""proxy.gcp_psc":"18374686479671623681""#,
                #""proxy.azure_link":16909060"#,
            ] {
                #expect(gateway.output.contains(member), "\(member)")
            }
            // An id that is no token is not used.
            let other = Header.binary(Self.client, [(0x05, Array("a b\"".utf8))])
            #expect(try gateway.request(other, Request.get("/public/")).value("x-request-id")?.count == 32)
        }
    }

    @Test("A peer that is not named is refused, counted and told of, with and without a header")
    func unnamedPeers() throws {
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, app throws in
            for header in [[], Header.line(Self.client), Header.binary(Self.client)] {
                let wire = try gateway.connect(from: "127.0.0.2")
                wire.send(header + Array(Request.get("/public/").utf8))
                #expect(wire.endsNow())
            }
            #expect(app.requests.isEmpty)
            #expect(try gateway.headers("refused") == 3)
            #expect(eventually { gateway.output.contains("a peer that is not in proxy_protocol was refused") })
        }
    }

    @Test("Where others are plain, they speak for themselves, and a header of theirs is refused")
    func plainPeers() throws {
        try ProxiedGateway.with(listen: ProxiedGateway.listen(others: "plain")) { gateway, app throws in
            #expect(try gateway.get("/public/", from: "127.0.0.2").status == 200)
            #expect(app.requests.map { $0.values("x-forwarded-for") } == [["127.0.0.2"]])
            for header in [Header.line(Self.client), Header.binary(Self.client)] {
                let wire = try gateway.connect(from: "127.0.0.2")
                wire.send(header + Array(Request.get("/public/").utf8))
                #expect(try wire.answer().status == 400)
            }
            // A named peer without a header is no client.
            let wire = try gateway.connect()
            wire.send(Request.get("/public/"))
            #expect(wire.endsNow())
            #expect(app.requests.count == 1)
        }
    }

    @Test("A header where none is expected is refused, and the log says what to set", arguments: [1, 2])
    func unexpected(version: Int) throws {
        try ProxiedGateway.with(listen: "127.0.0.1:0") { gateway, app throws in
            let header = version == 1 ? Header.line(Self.client) : Header.binary(Self.client)
            #expect(try gateway.request(header, Request.get("/public/")).status == 400)
            #expect(app.requests.isEmpty)
            #expect(eventually { gateway.output.contains("looks like the PROXY protocol") })
            #expect(gateway.output.contains("set proxy_protocol"))
        }
    }

    @Test("The limit per address is that of the named clients")
    func limits() throws {
        let more = "limits: {connections_per_address: 2}\n"
        try ProxiedGateway.with(listen: ProxiedGateway.listen(), more: more) { gateway, _ throws in
            let open = try (0..<6).map { index in
                let wire = try gateway.connect()
                wire.send(Header.binary("203.0.113.\(index / 2)") + Array(Request.get("/public/").utf8))
                #expect(try wire.answer().status == 200)
                return wire
            }
            let third = try gateway.connect()
            third.send(Header.binary("203.0.113.0") + Array(Request.get("/public/").utf8))
            #expect(third.endsNow())
            #expect(
                try gateway.metric(#"sallyport_connections_refused_total{listener="public",limit="per_address"}"#) == 1
            )
            open[0].close()
            #expect(
                eventually {
                    let status = try? gateway.request(Header.binary("203.0.113.0"), Request.get("/public/")).status
                    return status == 200
                }
            )
        }
    }

    @Test("A reload changes who is named for new connections, and other addresses wait for the next start")
    func reload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        func settings(_ listen: String) -> String { Config.file(upstream: app.port, listen: listen) }
        let named = "[{address: 127.0.0.1:0, proxy_protocol: {from: [127.0.0.1]}}]"
        try Gateway.with(settings(named)) { gateway throws in
            #expect(try gateway.request(Header.line(Self.client), Request.get("/public/")).status == 200)
            try gateway.reload(settings("127.0.0.1:0"))
            #expect(try gateway.get("/public/").status == 200)
            try gateway.reload(settings(named.replacing("127.0.0.1]", with: "127.0.0.2]")))
            #expect(
                try gateway.request(Header.line(Self.client), Request.get("/public/"), from: "127.0.0.2").status == 200
            )
            #expect(try gateway.connect().endsNow())
            let port = try ServerPorts.take()
            try gateway.reload(settings("[127.0.0.1:\(port), 127.0.0.1:0]"))
            #expect(eventually { gateway.output.contains("listen: the addresses have changed") })
            #expect(try gateway.connect().endsNow())
        }
    }

    @Test("Connections that send a part of a header are gone after five seconds, and nobody else is refused")
    func unfinished() throws {
        let count = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 10_000 : 1000
        let more = "limits: {connections: \(2 * count)}\n"
        let port = try ServerPorts.take()
        let listen = "[127.0.0.1:0, {address: 127.0.0.1:\(port), proxy_protocol: {from: [127.0.0.1]}}]"
        DescriptorLimit.raise()
        try ProxiedGateway.with(listen: listen, more: more) { gateway, app throws in
            let silent = try (0..<count).map { index in
                let wire = try Wire(to: port)
                wire.send(index % 2 == 0 ? Array("PROXY TCP4 203.".utf8) : Header.signature + [0x21, 0x11, 0])
                return wire
            }
            for _ in 0..<5 { #expect(try gateway.get("/public/").status == 200) }
            let named = try Wire(to: port)
            named.send(Header.binary(Self.client) + Array(Request.get("/public/").utf8))
            #expect(try named.answer(seconds: 20).status == 200)
            #expect(app.requests.count == 6)
            for wire in silent { #expect(wire.endsNow(within: 20)) }
            // Where descriptors are few, the oldest have made room.
            let evicted = try gateway.metric(#"sallyport_connections_evicted_total{listener="public"}"#)
            #expect(try gateway.headers("late") + evicted == Double(count))
            #expect(eventually { (try? gateway.metric(#"sallyport_connections_open{listener="public"}"#)) == 1 })
        }
    }
}
