import Foundation
import GatewayBench
import Testing

/// The page for people and the document for programs of the same refusal.
@Suite("Pages of refusals", .blocking) struct RefusalPageTests {
    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"]
    private static let form =
        ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded"]

    private static let routes = """
          - path: /**
            client: web
          - path: /public/**
            auth: public
          - path: /small/**
            auth: public
            methods: [GET, POST]
            max_body: 10
          - path: /admins/**
            require: {groups_any: [admins]}
          - path: /told/**
            unauthenticated: 401
        """

    private func with(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try Gateway.withApp({ Config.file(upstream: $0, routes: Self.routes) }, body)
    }

    private func expectPage(
        _ answer: Answer,
        _ status: Int,
        _ reason: String,
        _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status && answer.pageReason == reason, "\(answer.lines)", sourceLocation: place)
        #expect(answer.isWhole && answer.text.hasSuffix("</html>\n"), sourceLocation: place)
        for (name, value) in [
            ("content-language", "en"), ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"), ("x-frame-options", "SAMEORIGIN"),
        ] { #expect(answer.values(name) == [value], sourceLocation: place) }
        let policy = answer.value("content-security-policy") ?? ""
        #expect(
            policy.wholeMatch(
                of:
                    /default-src 'none'; style-src 'sha256-[A-Za-z0-9+\/]{43}='; img-src data:; base-uri 'none'; frame-ancestors 'self'/
            ) != nil,
            "\(policy)",
            sourceLocation: place
        )
        let text = answer.text.lowercased()
        for word in [
            "<script", "javascript:", "style=", " onclick", "http:", "https:", "session_transfer_token", "spt_",
        ] {
            #expect(!text.contains(word), "\(word)", sourceLocation: place)
        }
        let id = answer.value("x-request-id") ?? "?"
        #expect(answer.text.contains("<code>\(id)</code>"), sourceLocation: place)
    }

    @Test("A navigation gets a page and a program gets the problem document, whatever causes the refusal")
    func everyStatus() throws {
        let closed = try ServerPorts.take()
        let silent = try FakeUpstream(serve: { _ = $0.wire.receiveAll(seconds: 20) })
        defer { silent.stop() }
        let broken = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.send("nonsense\r\n\r\n") })
        defer { broken.stop() }
        let routes = """
            \(Self.routes)
              - {path: /posted/**, auth: public, methods: [POST]}
              - path: /closed/**
                auth: public
                upstream: http://127.0.0.1:\(closed)
              - path: /silent/**
                auth: public
                upstream: http://127.0.0.1:\(silent.port)
                timeouts: {response: 300ms}
              - path: /broken/**
                auth: public
                upstream: http://127.0.0.1:\(broken.port)
            """
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, routes: routes, more: "timeouts: {connect: 300ms}\n")
        try Gateway.with(settings) { gateway in
            for (target, status, reason) in [
                ("/%70ublic/x", 400, "path.ambiguous"), ("/public/../x", 400, "path.dot_segment"),
                ("/told/x", 401, "credential.missing"), ("/posted/x", 405, "route.method_not_allowed"),
                ("/closed/x", 502, "upstream.unreachable"), ("/broken/x", 502, "upstream.malformed"),
                ("/silent/x", 504, "upstream.timeout"), ("/.sallyport/session", 401, "credential.missing"),
            ] {
                let page = try gateway.get(target, Self.navigation)
                self.expectPage(page, status, reason)
                for fields in [[], ["Accept: */*"], ["Accept: text/html", "Sec-Fetch-Mode: cors"]] {
                    let problem = try gateway.get(target, fields)
                    #expect(problem.status == status && problem.reason == reason, "\(target): \(problem.lines)")
                }
                let head = try gateway.request(Request.get(target, Self.navigation, method: "HEAD"))
                guard status != 405 else { continue }
                #expect(
                    head.status == status && head.body.isEmpty && head.value("content-language") == "en",
                    "\(target)"
                )
                #expect(head.value("content-length") == page.value("content-length"), "\(target)")
            }
            let other = "GET / HTTP/1.1\r\nHost: other.example\r\nSec-Fetch-Mode: navigate\r\n\r\n"
            let unknown = try gateway.request(other)
            self.expectPage(unknown, 404, "route.unknown_host")
            #expect(!unknown.text.contains("<a "), "there is no page to go to on a host that is not served")
        }
    }

    @Test("A program's problem document is the documented one, byte for byte")
    func problem() throws {
        try self.with { gateway, _ in
            let answer = try gateway.get("/x")
            let id = try #require(answer.value("x-request-id"))
            #expect(
                answer.text
                    == #"{"type":"about:blank","title":"Unauthorized","status":401,"reason":"credential.missing","request_id":"\#(id)","login_url":"\#(Request.origin)/.sallyport/login"}"#
                    + "\n"
            )
            #expect(answer.values("content-type") == ["application/problem+json"])
            #expect(answer.value("content-language") == nil && answer.value("content-security-policy") == nil)
        }
    }

    @Test(
        "After a form without a session, the page says that the data was not sent on, and sign-in leads back to the form"
    )
    func formWithoutSession() throws {
        try self.with { gateway, app in
            func post(_ fields: [String]) throws -> Answer {
                try gateway.request(Request.post("/orders/send", Self.form + fields, body: "card=4111"))
            }
            func link(_ answer: Answer) -> String? {
                answer.text.firstMatch(of: /class="way" href="([^"]*)"/).map { String($0.1) }
            }
            let login = "/.sallyport/login?return_to="
            let page = try post(["Referer: \(Request.origin)/orders/new?id=7&x=%22"])
            self.expectPage(page, 401, "credential.missing")
            #expect(
                page.text.contains("What you entered was not sent on and is not kept.") && !page.text.contains("4111")
            )
            #expect(link(page) == "\(login)/orders/new%3Fid%3D7%26x%3D%2522", "\(page.text)")
            #expect(page.value("www-authenticate") == #"Bearer realm="sallyport""#)
            for (referer, target) in [
                ("https://evil.example/orders/new", "/"), ("\(Request.origin).evil.example/x", "/"),
                ("\(Request.origin)//evil.example/", "/"), ("\(Request.origin)", "/"), ("x", "/"),
                ("\(Request.origin)/a?b=1&session%5Ftransfer_token=spt_x", "/a%3Fb%3D1"),
                ("\(Request.origin)/\"><b>", "/%22%3E%3Cb%3E"),
            ] { #expect(link(try post(["Referer: \(referer)"])) == login + target, "\(referer)") }
            #expect(link(try post([])) == login + "/")

            let signedOut = try gateway.browser()
            _ = try gateway.signOut(signedOut)
            let stale = [
                ("session.unknown", signedOut), ("credential.other_key", "sps_" + String(repeating: "A", count: 55)),
            ]
            for (reason, token) in stale {
                let ended = try post(["Cookie: sallyport=\(token)", "Origin: \(Request.origin)"])
                self.expectPage(ended, 401, reason)
                #expect(
                    ended.text.contains("Your session has ended. What you entered was not sent on and is not kept.")
                )
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("A user who may not see a page can sign in with another account; a form from another site is refused")
    func forbidden() throws {
        try self.with { gateway, _ in
            let grace = "Cookie: sallyport=\(try gateway.browser(.grace))"
            let page = try gateway.get("/admins/x?a=1", Self.navigation + [grace])
            self.expectPage(page, 403, "require.groups")
            #expect(page.text.contains("href=\"/.sallyport/login?return_to=/admins/x%3Fa%3D1&amp;prompt=login\""))
            let forged = try gateway.request(
                Request.post("/x", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: cross-site", grace], body: "a=b")
            )
            self.expectPage(forged, 403, "request.cross_site")
        }
    }

    @Test("Requests that are too large or too long get a page if the head shows a browser")
    func tooLarge() throws {
        try self.with { gateway, _ in
            let body = String(repeating: "x", count: 100)
            self.expectPage(
                try gateway.request(Request.post("/small/x", Self.form, body: body)),
                413,
                "request.body_too_large"
            )
            let chunked =
                "POST /small/x HTTP/1.1\r\nHost: app.example.com\r\nAccept: text/html\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n64\r\n\(body)\r\n0\r\n\r\n"
            self.expectPage(try gateway.request(chunked), 413, "request.body_too_large")
            let cookies = (0..<5).map { "Cookie\($0): \(String(repeating: "x", count: 15_000))" }
            self.expectPage(try gateway.get("/", ["Accept: text/html"] + cookies), 431, "request.fields_too_large")
            #expect(try gateway.get("/", ["Accept: */*"] + cookies).reason == "request.fields_too_large")
            let long = try gateway.get("/\(String(repeating: "x", count: 9000))", ["Accept: text/html"])
            #expect(long.status == 414 && (long.pageReason ?? long.reason) == "request.line_too_long")
            // A malformed head does not show what sent it.
            let malformed = "GET / HTTP/1.1\r\nAccept: text/html\r\nHost : app.example.com\r\n\r\n"
            #expect(try gateway.request(malformed).reason == "request.malformed")
        }
    }

    @Test("A page of the gateway keeps the connection, and further requests on it are answered")
    func keepsTheConnection() throws {
        try self.with { gateway, _ in
            let wire = try gateway.connect()
            for _ in 0..<3 {
                #expect(try wire.request(Request.get("/%70ublic/x", Self.navigation)).status == 400)
                #expect(try wire.request(Request.get("/public/x", Self.navigation)).status == 200)
                let head = Request.get("/told/x", Self.navigation, method: "HEAD")
                #expect(try wire.request(head).status == 401)
            }
        }
    }

    @Test("While sign-in and sign-out are impossible, a browser gets a page with Retry-After")
    func outage() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let full = Config.file(upstream: app.port, routes: Self.routes, more: "store: {memory: {max_sessions: 1}}")
        try Gateway.with(full) { gateway in
            let token = try gateway.transferToken()
            let page = try gateway.get("/x", Self.navigation + ["Cookie: session_transfer_token=\(token)"])
            self.expectPage(page, 503, "store.full")
            #expect(page.values("retry-after") == ["1"] && page.text.contains("you have not been signed out"))
            #expect(page.text.contains("<a class=\"way\" href=\"\">Try again</a>"))
        }
    }
}
