import Foundation
import GatewayBench
import Testing

/// Handoffs and checks through each proxy while something goes wrong.
@Suite("Behind another proxy, in trouble", .blocking) struct FaultTests {
    /// A browser's cookies.
    private struct Jar {
        private var cookies: [String: String] = [:]

        subscript(name: String) -> String? { self.cookies[name] }
        var fields: [String] {
            self.cookies.isEmpty
                ? []
                : ["Cookie: " + self.cookies.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; ")]
        }

        mutating func take(_ answer: Answer) {
            for line in answer.values("set-cookie") {
                let pair = line.prefix { $0 != ";" }.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                let isCleared = line.contains("Max-Age=0")
                self.cookies[String(pair[0])] = isCleared ? nil : String(pair[1])
            }
        }
    }

    @Test(
        "The page that asks before a handoff, and the way on from it, go through the proxy",
        arguments: Proxy.allCases
    )
    func confirmed(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            var jar = Jar()
            let token = try bench.gateway.mint(try bench.gateway.native(from: ProxyBench.home), from: ProxyBench.home)
            let foreign = try bench.connect().request(
                Request.get(
                    "/page?a=1&session_transfer_token=\(token)",
                    [
                        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document",
                        "Accept: text/html",
                    ]
                )
            )
            #expect(foreign.status == 303 && foreign.sessionCookie == nil, "\(foreign.lines)")
            #expect(foreign.value("location") == "\(Request.origin)/.sallyport/handoff", "\(foreign.lines)")
            jar.take(foreign)
            let page = try bench.ask("/.sallyport/handoff", .navigation, jar.fields)
            let proof = try #require(page.text.firstMatch(of: /name="proof" value="([^"]+)"/), "\(page.lines)").1
            let form =
                ["Origin: \(Request.origin)", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate"]
                + ["Content-Type: application/x-www-form-urlencoded"] + jar.fields
            let yes = try bench.connect().request(Request.post("/.sallyport/handoff", form, body: "proof=\(proof)"))
            #expect(yes.status == 303 && yes.value("location") == "\(Request.origin)/page?a=1", "\(yes.lines)")
            jar.take(yes)
            #expect(jar["sallyport-attempt"] != nil, "\(yes.lines)")
            let count = bench.app.requests.count
            let signedIn = try bench.ask("/page?a=1", .navigation, jar.fields)
            #expect(
                signedIn.status == 303 && signedIn.value("location") == "\(Request.origin)/page?a=1",
                "\(signedIn.lines)"
            )
            // A lost answer is asked for again, with the same cookies.
            let again = try bench.ask("/page?a=1", .navigation, jar.fields)
            #expect(again.sessionCookie == signedIn.sessionCookie && again.sessionCookie != nil, "\(again.lines)")
            #expect(bench.app.requests.count == count, "the app was asked before the browser was signed in")
            jar.take(signedIn)
            #expect(jar["sallyport-attempt"] == nil, "\(signedIn.lines)")
            #expect(try bench.ask("/page?a=1", .navigation, jar.fields).status == 200)
            #expect(bench.app.requests.last?.values("x-auth-origin") == ["transfer"])
            #expect(bench.app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("A handoff while the store does not answer is completed by a reload", arguments: Proxy.allCases)
    func handoff(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            var jar = Jar()
            let native = try bench.gateway.native(from: ProxyBench.home)
            let token = try bench.gateway.mint(native, from: ProxyBench.home)
            let signedIn = try bench.session(.grace)
            try bench.withoutStore {
                let first = try bench.ask("/page?a=1&session_transfer_token=\(token)", .navigation)
                // The token leaves the URL and waits in the attempt cookie.
                #expect(first.status == 303 && first.sessionCookie == nil, "\(first.lines)")
                #expect(first.value("location") == "\(Request.origin)/page?a=1", "\(first.lines)")
                jar.take(first)
                #expect(jar["sallyport-attempt"] != nil, "\(first.lines)")
                let second = try bench.ask("/page?a=1", .navigation, jar.fields)
                #expect(second.status == 503 && second.clearedCookies.isEmpty, "\(second.lines)")
                // Nobody is taken for signed out.
                let other = try bench.ask("/page", .navigation, [signedIn])
                #expect([200, 503].contains(other.status) && other.clearedCookies.isEmpty, "\(other.lines)")
            }
            var last: Answer?
            #expect(
                eventually {
                    last = try? bench.ask("/page?a=1", .navigation, jar.fields)
                    return last?.status != 503
                }
            )
            let answer = try #require(last)
            #expect(answer.status == 303 && answer.sessionCookie != nil, "\(answer.lines) \(answer.text)")
            #expect(try bench.ask("/page?a=1", .navigation, jar.fields).sessionCookie == answer.sessionCookie)
            jar.take(answer)
            #expect(try bench.ask("/page?a=1", .navigation, jar.fields).status == 200)
            #expect(bench.app.requests.last?.values("x-auth-subject") == [User.ada.id])
            #expect(try bench.ask("/page", .navigation, [signedIn]).status == 200)
            // Nobody else has a second session by the same token.
            let replay = try bench.ask("/page?session_transfer_token=\(token)", .navigation)
            #expect(replay.status == 303 && replay.sessionCookie == nil, "\(replay.lines)")
        }
    }

    @Test("A check that a proxy repeats on its own signs in once at most", arguments: Proxy.Dialect.allCases)
    func repeated(_ dialect: Proxy.Dialect) throws {
        try ProxyBench.with(.nginx) { bench in
            let native = try bench.gateway.native(from: ProxyBench.home)
            let navigation =
                "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nAccept: text/html\r\n"
            for isCookie in [false, true] {
                let token = try bench.gateway.mint(native, from: ProxyBench.home)
                let target = isCookie ? "/page" : "/page?session_transfer_token=\(token)"
                let cookie = isCookie ? "Cookie: session_transfer_token=\(token)\r\n" : ""
                let check = dialect.check(target) + navigation + cookie + "\r\n"
                // At the same time on three connections, as after a lost answer, and once more.
                let wires = try (0..<3).map { _ in try Wire(to: bench.places.checks) }
                for wire in wires { wire.send(check) }
                var answers = try wires.map { try $0.answer() }
                answers.append(try Wire(to: bench.places.checks).request(check))
                let sessions = answers.compactMap(\.sessionCookie)
                #expect(sessions.count == 1, "\(answers.map(\.lines))")
                for answer in answers where answer.sessionCookie == nil {
                    #expect([303, 401].contains(answer.status), "\(answer.lines)")
                }
            }
            #expect(bench.app.requests.isEmpty)
        }
    }

    /// Adds a line to a configuration in YAML, above one of the same depth.
    private static func adding(_ line: String, before mark: String) -> (String) -> String {
        { text in
            guard let place = text.range(of: mark), let start = text[..<place.lowerBound].lastIndex(of: "\n") else {
                return text
            }
            let indentation = text[text.index(after: start)..<place.lowerBound]
            return text.replacingCharacters(in: place, with: "\(line)\n\(indentation)\(mark)")
        }
    }

    @Test("Envoy asks again while the store does not answer, and the answer stays no verdict")
    func retries() throws {
        let retries = "retry_policy: {retry_on: \"5xx,reset\", num_retries: 2}"
        let change = Self.adding(retries, before: "path_prefix:")
        try ProxyBench.with(.envoy, change: change) { bench in
            let native = try bench.gateway.native(from: ProxyBench.home)
            let token = try bench.gateway.mint(native, from: ProxyBench.home)
            let cookie = try bench.session(.mary)
            var jar = Jar()
            try bench.withoutStore {
                #expect(try bench.ask("/page", .fetch, [cookie]).status == 503)
                let first = try bench.ask("/page?session_transfer_token=\(token)", .navigation)
                #expect(first.status == 303 && first.sessionCookie == nil, "\(first.lines)")
                jar.take(first)
            }
            #expect(bench.app.requests.isEmpty)
            #expect(eventually { (try? bench.ask("/page", .navigation, jar.fields).sessionCookie) != nil })
            #expect(eventually { (try? bench.ask("/page", .fetch, [cookie]).status) == 200 })
        }
    }

    @Test(
        "Envoy may send us the bodies of requests: they change nothing, and the app gets them",
        arguments: [false, true]
    )
    func bodies(asBytes: Bool) throws {
        let body = "{max_request_bytes: 4096, allow_partial_message: true, pack_as_bytes: \(asBytes)}"
        let change = Self.adding("with_request_body: \(body)", before: "failure_mode_allow:")
        try ProxyBench.with(.envoy, change: change) { bench in
            let cookie = try bench.session()
            let check = Proxy.Dialect.extAuthz.check("/public/x") + "\r\n"
            let bodies = [
                "of the client", check, String(repeating: check, count: 40), String(repeating: "x", count: 200_000),
                "0\r\n\r\n" + check, "",
            ]
            let wire = try bench.connect()
            for body in bodies {
                let own = ["Origin: \(Request.origin)", "Sec-Fetch-Site: same-origin", "Accept: application/json"]
                let count = bench.app.requests.count
                let denied = try wire.request(Request.post("/page", own, body: body))
                #expect(denied.status == 401 && bench.app.requests.count == count, "\(denied.lines)")
                let answer = try wire.request(Request.post("/page", own + [cookie], body: body))
                #expect(answer.status == 200, "\(body.prefix(20)): \(answer.lines)")
                let got = try #require(bench.app.requests.last)
                #expect(got.body == Array(body.utf8) && got.values("x-auth-subject") == [User.ada.id], "\(got.lines)")
                #expect(bench.app.requests.count == count + 1)
            }
            let chunked =
                "POST /page HTTP/1.1\r\nHost: \(Request.host)\r\nOrigin: \(Request.origin)\r\nSec-Fetch-Site: same-origin\r\n"
                + "\(cookie)\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            #expect(try wire.request(chunked).status == 200)
            #expect(bench.app.requests.last.map { String(latin1: $0.body).contains("hello") } == true)
            #expect(try wire.request(Kind.fetch.request("/page", [cookie])).status == 200)
        }
    }

    @Test(
        "Nobody passes while a reload has removed the checks, and all is as before when they are back",
        arguments: Proxy.allCases
    )
    func removed(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            let cookie = try bench.session()
            let file = bench.gateway.folder.appending(path: "settings.yaml")
            let settings = try String(contentsOf: file, encoding: .utf8)
            let start = try #require(settings.range(of: "authorization:\n"))
            let end = try #require(settings.range(of: "store: {redis"))
            #expect(try bench.ask("/page", .fetch, [cookie]).status == 200)
            let none = settings.replacingCharacters(in: start.lowerBound..<end.lowerBound, with: "")
            let peers = settings.replacing("  peers: [127.0.0.1]\n", with: "  peers: [10.0.0.0/24]\n")
            let other = proxy.dialect == .authRequest ? "ext-authz" : "auth-request"
            let dialects = settings.replacing("  peers:", with: "  dialects: [\(other)]\n  peers:")
            for changed in [none, peers, dialects] {
                let count = bench.app.requests.count
                try bench.gateway.reload(changed)
                for target in ["/page", "/public/x"] {
                    for kind in Kind.allCases {
                        let answer = try bench.ask(target, kind, [cookie])
                        #expect(answer.status >= 400, "\(kind): \(answer.lines)")
                        #expect(answer.clearedCookies.isEmpty && answer.values("location").isEmpty, "\(answer.lines)")
                    }
                }
                #expect(bench.app.requests.count == count)
                // Browsers still get the gateway's own pages.
                #expect(try bench.ask("/.sallyport/login", .navigation).status < 400)
                try bench.gateway.reload(settings)
                #expect(try bench.ask("/page", .fetch, [cookie]).status == 200)
                #expect(try bench.ask("/page", .navigation).status == 303)
            }
        }
    }
}
