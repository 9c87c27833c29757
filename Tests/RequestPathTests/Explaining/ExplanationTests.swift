import AddressIntelligence
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("The judge's steps in words")
struct ExplanationTests {
    private func explain(
        _ bench: JudgeBench,
        _ method: String = "GET",
        _ target: String = "/x",
        _ fields: [String] = [],
        session: CachedSession? = nil
    ) -> [(title: String, lines: [String])] {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: app.example.com"] + fields
        return Explanation(
            of: Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8),
            from: JudgeBench.peer,
            session: session,
            authority: bench.authority,
            configuration: bench.configuration,
            now: JudgeBench.now
        ).steps
    }

    private func last(_ steps: [(title: String, lines: [String])]) -> String {
        steps.last.map { "\($0.title): \($0.lines.joined(separator: "; "))" } ?? ""
    }

    @Test("A permitted request is explained step by step, up to the head that the app gets")
    func permitted() throws {
        let bench = try JudgeBench()
        let live = try bench.live()
        let steps = self.explain(
            bench,
            "GET",
            "/x",
            ["Cookie: \(bench.cookie())=\(live.token)"],
            session: live.session
        )
        #expect(
            steps.map(\.title)
                == ["request", "route", "credentials", "session", "decision", "head towards the app"]
        )
        #expect(steps[2].lines == ["a session cookie"] && steps[3].lines == ["web, of ada"])
        #expect(steps[4].lines == ["forwarded"] && steps[5].lines.contains("X-Auth-Subject: ada"))
        #expect(!steps.contains { $0.lines.contains { $0.contains(live.token) } })
    }

    @Test("What a route sets for its app is named, and its value is not shown")
    func setFields() throws {
        let secret = route("/**", .public) {
            $0.requestHeaders.set = [.init(name: "X-Secret", value: "s3cr3t-value-42")]
        }
        let head = try #require(self.explain(try JudgeBench([secret]), "GET", "/x", ["X-Secret: mine"]).last).lines
        #expect(head.contains("X-Secret: <set by the route>"), "\(head)")
        #expect(!head.joined().contains("s3cr3t") && !head.joined().contains("mine"), "\(head)")
    }

    @Test("The explanation names the path that apps read which decode it twice, or which know backslashes")
    func furtherReadings() throws {
        let bench = try JudgeBench([route("/**", .public), route("/admin/**", .required)])
        func lines(_ path: String) -> [String] {
            self.explain(bench, "GET", path).flatMap(\.lines).filter { $0.contains("read") }
        }
        #expect(
            lines("/job/feature%252Fx/") == [
                "the path reads as /job/feature%2Fx/", "some apps read it as /job/feature/x/",
            ]
        )
        #expect(lines("/back%5Cslash") == ["the path reads as /back\\slash", "some apps read it as /back/slash"])
        #expect(lines("/a%20b") == ["the path reads as /a b"])
        #expect(
            self.last(self.explain(bench, "GET", "/admin%5Cx")).hasSuffix("refused: 400 Bad Request, path.backslash")
        )
    }

    @Test("A token is judged by its form, and only the live session's token is live")
    func tokens() throws {
        let bench = try JudgeBench()
        let live = try bench.live(.native)
        func answer(_ token: String) -> String {
            self.last(self.explain(bench, "GET", "/x", ["Authorization: Bearer \(token)"], session: live.session))
        }
        let other = bench.authority.make(.session, in: bench.authority.newLineage()).token
        let foreign = TokenAuthority(secret: Secret("another")).make(.session, in: bench.authority.newLineage()).token
        #expect(answer("abc") == "decision: refused: 401 Unauthorized, credential.malformed")
        #expect(
            answer(String(decoding: other.bytes, as: UTF8.self))
                == "decision: refused: 401 Unauthorized, session.unknown"
        )
        #expect(
            answer(String(decoding: foreign.bytes, as: UTF8.self))
                == "decision: refused: 401 Unauthorized, credential.other_key"
        )
        #expect(answer(live.token).hasPrefix("head towards the app"))
    }

    @Test("The challenge to a native app is explained, with the sign-in that it demands")
    func nativeChallenge() throws {
        var client = ClientSettings(clientID: "web")
        client.allowsCookie = true
        let strong = route("/**", .required) {
            $0.client = "web"
            $0.handoff = true
            $0.require.aal = .aal2
        }
        let bench = try JudgeBench([strong]) { $0.clients = [client] }
        let fields = ["Accept: text/html", "Sallyport-Native: 1"]
        #expect(
            self.last(self.explain(bench, "GET", "/x", fields))
                == "decision: refused: 401 Unauthorized, credential.missing; "
                + "the native app is asked for another transfer token"
        )
        let live = try bench.live { $0.origin = .transfer }
        let cookie = "Cookie: \(bench.cookie())=\(live.token)"
        #expect(
            self.last(self.explain(bench, "GET", "/x", fields + [cookie], session: live.session))
                == "decision: refused: 403 Forbidden, require.aal; "
                + "the native app is asked for a new sign-in and another transfer token"
        )
    }

    @Test("A body that is too large, a preflight and its refusal are explained as they are answered")
    func answeredAtTheRoute() throws {
        let open = route("/**", .required) {
            $0.maxBody = 10
            $0.cors = CORSSettings()
            $0.cors?.origins = ["https://b.example"]
        }
        let bench = try JudgeBench([open])
        let large = self.explain(bench, "POST", "/x", ["Content-Length: 11"])
        #expect(self.last(large) == "decision: refused: 413 Content Too Large, request.body_too_large")
        let ask = ["Access-Control-Request-Method: POST"]
        let allowed = self.explain(bench, "OPTIONS", "/x", ask + ["Origin: https://b.example"])
        #expect(
            self.last(allowed)
                == "decision: answered: 204 No Content; answered by the gateway itself, as a CORS preflight"
        )
        let refused = self.explain(bench, "OPTIONS", "/x", ask + ["Origin: https://evil.example"])
        #expect(self.last(refused).hasPrefix("decision: refused: 403 Forbidden, request.cross_site"))
        let login = self.explain(bench, "POST", "/.sallyport/login", ["Content-Length: 101"])
        #expect(self.last(login) == "route: refused: 413 Content Too Large, request.body_too_large")
    }

    @Test(
        "A transfer token is not consumed: both outcomes are described, and the explanation continues without the token"
    )
    func handoff() throws {
        var client = ClientSettings(clientID: "web")
        (client.allowsCookie, client.allowsQuery) = (true, true)
        let handoff = route("/**", .required) {
            $0.client = "web"
            $0.handoff = true
        }
        let bench = try JudgeBench([handoff]) { $0.clients = [client] }
        let query = self.explain(bench, "GET", "/x?session_transfer_token=spt_x&a=1")
        #expect(query[2].lines == ["none", "a transfer token in the query"])
        #expect(query[3].title == "handoff")
        #expect(self.last(query) == "decision: 303 to the same URL without the transfer token")
        let cookie = self.explain(bench, "GET", "/x", ["Cookie: session_transfer_token=spt_x"])
        #expect(cookie.map(\.title) == ["request", "route", "credentials", "handoff", "decision"])
        #expect(self.last(cookie) == "decision: refused: 401 Unauthorized, credential.missing")
        let program = self.explain(bench, "POST", "/x?session_transfer_token=spt_x")
        #expect(program[2].lines == ["none", "a transfer token in the query, which this request may not use"])
        #expect(!(query + cookie + program).contains { $0.lines.contains { $0.contains("spt_x") } })
    }

    @Test("A redirect to the sign-in page is explained with what the sign-in has to reach")
    func demands() throws {
        let strong = route("/**", .required) {
            $0.require.aal = .aal2
            $0.require.maxAge = .seconds(600)
        }
        let navigation = ["Accept: text/html"]
        let password = try JudgeBench([strong])
        #expect(
            self.last(self.explain(password, "GET", "/x", navigation))
                == "decision: 303 to the login page, credential.missing"
        )
        let bench = try JudgeBench([strong]) { settings in
            var provider = OpenIDSettings(issuer: "https://idp.example.com", client: ProviderClientSettings(id: "c"))
            provider.claims.levels = [.init(claim: .acr, value: "mfa", level: .aal2)]
            settings.provider = provider
        }
        #expect(
            self.last(self.explain(bench, "GET", "/x", navigation))
                == "decision: 303 to the login page, at aal2, at most 600 s ago, credential.missing"
        )
        let live = try bench.live()
        let steps = self.explain(
            bench,
            "GET",
            "/x",
            navigation + ["Cookie: \(bench.cookie())=\(live.token)"],
            session: live.session
        )
        #expect(self.last(steps) == "decision: 303 to the login page, at aal2, at most 600 s ago, require.aal")
    }

    @Test("The device of an assumed session has the client's address according to trusted proxies")
    func device() throws {
        let bench = try JudgeBench { $0.trustedProxies = [.init("192.0.2.0/24")].compactMap { $0 } }
        let head = "GET / HTTP/1.1\r\nHost: app.example.com\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n"
        let device = Explanation.device(
            of: Array(head.utf8),
            from: JudgeBench.peer,
            configuration: bench.configuration
        )
        #expect(device.address.description == "203.0.113.9")
    }

    // MARK: HTTP/2

    private func read(_ fields: [(String, String)], isSecure: Bool = true) throws -> String {
        let bench = try JudgeBench()
        let bytes = fields.map { (name: Array($0.0.utf8), value: Array($0.1.utf8)) }
        switch Explanation.read(bytes, isSecure: isSecure, by: bench.configuration) {
        case .read(let head): return String(decoding: head, as: UTF8.self)
        case .refused(let explanation): return self.last(explanation.steps)
        }
    }

    @Test("A request of HTTP/2 is read as its connection reads it")
    func http2() throws {
        let start = [(":method", "GET"), (":scheme", "https"), (":authority", "app.example.com"), (":path", "/x")]
        #expect(
            try self.read(start + [("cookie", "a=1"), ("cookie", "b=2")])
                == "GET /x HTTP/1.1\r\nHost: app.example.com\r\nCookie: a=1; b=2\r\n\r\n"
        )
        let unsafe = start.map { $0.0 == ":scheme" ? ($0.0, "http") : $0 }
        #expect(try self.read(unsafe) == "request: refused: 400 Bad Request, request.target")
        #expect(try self.read(start, isSecure: false).hasPrefix("GET /x HTTP/1.1\r\n"))
        #expect(try self.read(start + [("connection", "close")]).hasPrefix("request: invalid HTTP/2 request"))
        let post = [(":method", "POST")] + start.dropFirst() + [("content-length", "5")]
        #expect(try self.read(post).hasPrefix("POST /x HTTP/1.1\r\n"))
        let connect = [(":method", "CONNECT"), (":protocol", "websocket")] + start.dropFirst()
        #expect(try self.read(connect).contains("\r\nUpgrade: websocket\r\n"))
        let plain = try self.read([(":method", "CONNECT"), (":authority", "a:443")])
        #expect(plain.hasPrefix("request: refused: 405 Method Not Allowed, request.method; Allow: "), "\(plain)")
    }
}
