import Foundation
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

    /// Has HAProxy ask somebody else.
    private static func asking(_ checks: FakeUpstream) -> (String) -> String {
        { $0.replacing(#/lua\.sallyport 127\.0\.0\.1:[0-9]+ /#, with: "lua.sallyport 127.0.0.1:\(checks.port) ") }
    }

    @Test(
        "A check is asked once, whatever becomes of it, and nobody is let in",
        arguments: Self.answers.map(\.name)
    )
    func once(_ name: String) throws {
        let serve = try #require(Self.answers.first { $0.name == name }).serve
        let checks = try FakeUpstream(serve: serve)
        defer { checks.stop() }
        try ProxyBench.with(.haproxy, change: Self.asking(checks)) { bench in
            let wire = try bench.connect()
            wire.send(Kind.navigation.request("/page?session_transfer_token=spt_x"))
            // Its own limit of 5 seconds ends what hangs.
            let answer = try wire.answer(seconds: 30)
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(name): \(answer.lines)")
            #expect(checks.requests.count == 1, "\(name): \(checks.requests.map(\.lines))")
            #expect(bench.app.requests.isEmpty)
        }
    }

    @Test("An answer that is larger than HAProxy's usual buffer reaches the client as it is")
    func long() throws {
        let long = String(repeating: "a", count: 60_000)
        let checks = try FakeUpstream { link in
            while let request = link.next() {
                switch request.values("x-forwarded-uri").first {
                case "/page":
                    link.answer("403 Forbidden", "Content-Type: text/html\r\n", body: long + long + long + long)
                case "/moved": link.answer("302 Found", "Location: /\(long)\r\nX-Sallyport-Reason: a\r\n", body: long)
                case "/too-long":
                    link.answer("403 Forbidden", body: String(repeating: long, count: 7))
                default: link.answer("200 OK", "X-Auth-Subject: \(long)\r\n")
                }
            }
        }
        defer { checks.stop() }
        try ProxyBench.with(.haproxy, change: Self.asking(checks)) { bench in
            let page = try bench.ask("/page", .navigation)
            #expect(page.status == 403 && page.text == long + long + long + long, "\(page.status)")
            let moved = try bench.ask("/moved", .navigation)
            #expect(
                moved.status == 302 && moved.value("location") == "/\(long)" && moved.text == long,
                "\(moved.status)"
            )
            #expect(bench.app.requests.isEmpty)
            #expect(try bench.ask("/allowed", .navigation).status == 200)
            #expect(bench.app.requests.last?.values("x-auth-subject") == [long])
            // Nothing is cut off.
            let refused = try bench.ask("/too-long", .navigation)
            #expect(refused.status == 503 && refused.value("retry-after") != nil, "\(refused.lines)")
            #expect(bench.app.requests.count == 1)
        }
    }

    @Test("A page with the largest logo and the largest icon reaches the client whole")
    func logo() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let start = #"<svg xmlns="http://www.w3.org/2000/svg"><!--"#
        let space = String(repeating: " ", count: 65_536 - start.utf8.count - "--></svg>".utf8.count)
        let image = folder.appending(path: "logo.svg")
        try Data((start + space + "--></svg>").utf8).write(to: image)
        let pages = "pages: {logo: \"\(image.path)\", icon: \"\(image.path)\"}"
        try ProxyBench.with(.haproxy, more: pages) { bench in
            let cookie = try bench.session(.grace)
            let direct = try Wire(to: bench.places.gateway, from: ProxyBench.home)
                .request(Kind.navigation.request("/admins/x", [cookie]))
            let answer = try bench.ask("/admins/x", .navigation, [cookie])
            #expect(answer.status == direct.status && direct.status == 403, "\(answer.status) \(direct.status)")
            #expect(answer.body.count == direct.body.count && direct.body.count > 2 * 87_000, "\(answer.body.count)")
        }
    }
}
