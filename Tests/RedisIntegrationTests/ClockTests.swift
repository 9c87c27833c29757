import Foundation
import GatewayBench
import RedisServers
import Testing

/// Gateways on machines whose clocks are wrong (T31).
@Suite("Clocks that differ", .blocking) struct ClockTests {
    @Test("F17, T31: gateways whose machines' clocks differ by minutes accept each other's sessions and tokens")
    func skew() async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            let skews: [Duration] = [.zero, .seconds(300), .seconds(-300)]
            try await Fleet.with([url, url, url], skews: skews) { fleet in
                try await fleet.waitUntilReady()
                // The clocks really differ, and each gateway knows by how much.
                for (index, skew) in skews.enumerated() {
                    let offset = try fleet[index].metric("sallyport_redis_clock_offset_seconds")
                    #expect(abs(offset + Double(skew.components.seconds)) < 3, "gateway \(index): \(offset)")
                }
                for writer in 0..<3 {
                    for reader in 0..<3 where reader != writer {
                        try self.share(fleet[writer], fleet[reader], from: "127.2.\(5 + writer).\(reader + 1)")
                    }
                }
            }
        }
    }

    /// Signs in and mints at one gateway, and uses the session and the token at the other.
    private func share(_ writer: Gateway, _ reader: Gateway, from address: String) throws {
        let cookie = ["Cookie: sallyport=\(try patiently { try writer.browser(.ada, from: address) })"]
        let native = try patiently { try writer.native(.ada, from: address) }
        let token = try patiently { try writer.mint(native, from: address) }
        #expect(eventually { (try? reader.get("/", cookie).status) == 200 })
        #expect(eventually { (try? reader.get("/", ["Authorization: Bearer \(native)"]).status) == 200 })
        let consumer = Consumer { reader.port }
        let outcome = consumer.complete(token)
        guard case .signedIn(let derived) = outcome else {
            Issue.record("the other gateway does not take the token: \(outcome)")
            return
        }
        let both = [writer, reader]
        for gateway in both {
            #expect(eventually { (try? gateway.get("/", ["Cookie: sallyport=\(derived)"]).status) == 200 })
        }
        for gateway in both {
            if case .refused = consumer.consume(token) { continue }
            Issue.record("a used token is taken again by \(gateway.port)")
        }
        try self.confirm(try writer.mint(native, from: address), writer, reader)
    }

    /// Follows a link on another site at one gateway, and confirms it at the other.
    private func confirm(_ token: String, _ first: Gateway, _ second: Gateway) throws {
        let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        let link = try first.get("/?session_transfer_token=\(token)", navigation + ["Sec-Fetch-Site: cross-site"])
        let waiting = link.values("set-cookie").first { $0.hasPrefix("sallyport-handoff=") }
        let jar = "Cookie: \(try #require(waiting, "\(link.lines)").prefix { $0 != ";" })"
        let page = try second.get("/.sallyport/handoff", navigation + [jar])
        let proof = try #require(page.text.firstMatch(of: /name="proof" value="([^"]+)"/), "\(page.lines)").1
        let own = [
            "Sec-Fetch-Site: same-origin", "Origin: \(Request.origin)", jar,
            "Content-Type: application/x-www-form-urlencoded",
        ]
        let answer = try second.request(
            Request.post("/.sallyport/handoff", navigation + own, body: "proof=\(proof)")
        )
        #expect(answer.status == 303, "\(second.port): \(answer.lines)")
    }

    @Test(
        "From the first ready moment on, a gateway whose clock is minutes behind Redis's confirms links at every loop",
        arguments: [Duration.seconds(-300), .seconds(300)]
    )
    func firstSecond(_ skew: Duration) async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], skews: [.zero, skew], loops: 2) { fleet in
                try await fleet.waitUntilReady()
                let native = try patiently { try fleet[0].native() }
                for _ in 0..<2 {
                    try fleet.replace(1)
                    let token = try patiently { try fleet[0].mint(native) }
                    let late = fleet[1]
                    // Not a moment later than its balancer may send requests.
                    #expect(eventually { (try? late.admin("/readyz").status) == 200 })
                    // Clients go to the loops in turn.
                    try self.confirm(token, fleet[0], late)
                    try self.confirm(try patiently { try fleet[0].mint(native) }, late, late)
                }
            }
        }
    }

    @Test("check --network reports the difference between Redis's clock and the machine's")
    func check() async throws {
        try await RedisServer.with { server in
            let folder = try Servers.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "settings.yaml")
            try Data(Config.file(upstream: 1, more: "secret_file: secret\n").utf8).write(to: file)
            try Data("\(String(repeating: "s", count: 48))\n".utf8).write(to: folder.appending(path: "secret"))
            func verdict(aheadBy skew: Duration) throws -> String {
                var environment = try FakeTime.environment(aheadBy: skew)
                environment["SALLYPORT_REDIS_URL"] = RedisURLs.standalone(server.port)
                let arguments = ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
                let output = try Servers.run(Gateway.binary.path, arguments, environment: environment).output
                return output.split(separator: "\n").first { $0.contains(" clock: ") }.map(String.init) ?? output
            }
            #expect(try verdict(aheadBy: .zero).contains("ok "))
            let behind = try verdict(aheadBy: .seconds(300))
            #expect(
                behind.contains("warning") && behind.contains(/it is (299|300) s behind this machine's/),
                "\(behind)"
            )
            let ahead = try verdict(aheadBy: .seconds(-300))
            #expect(
                ahead.contains("warning") && ahead.contains(/it is (299|300) s ahead of this machine's/),
                "\(ahead)"
            )
        }
    }
}
