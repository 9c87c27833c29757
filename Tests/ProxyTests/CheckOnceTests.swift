import GatewayBench
import Testing

/// HAProxy's script asks by itself, because HAProxy's client of its scripts repeats what fails.
@Suite("HAProxy's check", .blocking) struct CheckOnceTests {
    /// How the gateway behaves that is asked.
    private static let answers: [(name: String, serve: @Sendable (Link) -> Void)] = [
        ("closes", { link in _ = link.next() }),
        ("closes within the head", { link in if link.next() != nil { link.send("HTTP/1.1 200 OK\r\nX-Auth-Sub") } }),
        (
            "closes within the body",
            { link in if link.next() != nil { link.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nabc") } }
        ),
        ("speaks something else", { link in if link.next() != nil { link.send("+PONG\r\n+PONG\r\n\r\n") } }),
        ("says 503", { link in while link.next() != nil { link.answer("503 Service Unavailable") } }),
        ("says 500", { link in while link.next() != nil { link.answer("500 Internal Server Error") } }),
        ("hangs", { link in if link.next() != nil { _ = link.wire.receive(seconds: 60) } }),
        (
            "sends a byte now and then",
            { link in
                guard link.next() != nil, link.send("HTTP/1.1 200 OK\r\n") else { return }
                while link.send("X"), case .silence = link.wire.receive(seconds: 1) {}
            }
        ),
    ]

    @Test(
        "A check is asked once, whatever becomes of it, and nobody is let in",
        arguments: Self.answers.map(\.name)
    )
    func once(_ name: String) throws {
        let serve = try #require(Self.answers.first { $0.name == name }).serve
        let checks = try FakeUpstream(serve: serve)
        defer { checks.stop() }
        let change: (String) -> String = { printed in
            printed.replacing(#/lua\.sallyport 127\.0\.0\.1:[0-9]+ /#, with: "lua.sallyport 127.0.0.1:\(checks.port) ")
        }
        try ProxyBench.with(.haproxy, change: change) { bench in
            let wire = try bench.connect()
            wire.send(Kind.navigation.request("/page?session_transfer_token=spt_x"))
            // Its own limit of 5 seconds ends what hangs.
            let answer = try wire.answer(seconds: 30)
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(name): \(answer.lines)")
            #expect(checks.requests.count == 1, "\(name): \(checks.requests.map(\.lines))")
            #expect(bench.app.requests.isEmpty)
        }
    }
}
