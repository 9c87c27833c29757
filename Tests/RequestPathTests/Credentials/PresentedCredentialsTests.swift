import AddressIntelligence
import Endpoints
import Pages
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("Credentials in requests to endpoints")
struct PresentedCredentialsTests {
    private static let cookies = OwnCookies(
        session: "__Host-sallyport",
        handoff: ["stt"],
        attempt: "__Host-sallyport-attempt",
        handled: "__Host-sallyport-handled"
    )

    private func read(_ fields: String...) throws -> PresentedCredentials {
        try withHead("GET", fields) { PresentedCredentials($0, $1, cookies: Self.cookies) }
    }

    private func sessions(_ cookie: String) throws -> [String] {
        try self.read("Cookie: \(cookie)").sessionCookies.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test("A cookie's value is read byte for byte, among others, with and without spaces")
    func cookie() throws {
        #expect(try self.sessions("__Host-sallyport=sps_abc") == ["sps_abc"])
        #expect(try self.sessions("a=1; __Host-sallyport=x; b=2") == ["x"])
        #expect(try self.sessions("a=1;__Host-sallyport=x;b=2") == ["x"])
        #expect(try self.sessions("__Host-sallyport=x=y=z ;") == ["x=y=z"])
        #expect(try self.sessions("__Host-sallyport=\"x\"") == ["\"x\""])
        #expect(try self.sessions("__Host-sallyport=a%20b") == ["a%20b"])
        #expect(try self.sessions("__Host-sallyport=") == [""])
    }

    @Test("Of repeated cookies each value is returned once, in order, and their number is bounded")
    func repeatedCookies() throws {
        let twice = "__Host-sallyport=x; __Host-sallyport=y; __Host-sallyport=x"
        #expect(try self.sessions(twice) == ["x", "y"])
        let many = (0..<20).map { "__Host-sallyport=\($0)" }.joined(separator: "; ")
        #expect(try self.sessions(many) == (0..<PresentedCredentials.maxSessionCookies).map { "\($0)" })
    }

    @Test("Of several lines the one that has cookies of the gateway is read")
    func lines() throws {
        func read(_ fields: [String]) throws -> PresentedCredentials? {
            try withHead("GET", fields) { head, base in
                head.findOwnCookies(Self.cookies, in: base)
                    ? PresentedCredentials(head, base, cookies: Self.cookies) : nil
            }
        }
        for fields in [
            ["Cookie: a=1", "cookie: __Host-sallyport=x; stt=t", "Cookie: b=2"], ["Cookie: __Host-sallyport=x; stt=t"],
        ] {
            let found = try #require(try read(fields))
            #expect(found.sessionCookies == [Secret("x")] && found.handoff.tokens == [Secret("t")])
        }
        #expect(try read(["Cookie: a=1", "Cookie: b=2"])?.sessionCookies == [])
        #expect(try read(["Cookie: __Host-sallyport=x", "Cookie: stt=t"]) == nil)
        #expect(try read(["Cookie: __Host-sallyport-a=x", "Cookie: a=1", "Cookie: __Host-sallyport=x"]) == nil)
    }

    @Test("Companions of the session cookie are read with their labels, and their number is bounded")
    func companions() throws {
        let read = try self.read(
            "Cookie: __Host-sallyport-a=1; __Host-sallyport-b=2; x=y; __Host-sallyport-b=2; __Host-sallyport-c=3; "
                + "__Host-sallyport-c=4; __Host-sallyport-attempt=5"
        )
        #expect(read.companions.map(\.label) == ["a", "b", "b", "c", "c"] && read.sessionCookies.isEmpty)
        #expect(read.companion("a") == Secret("1") && read.companion("b") == Secret("2"))
        #expect(read.companion("c") == nil, "two different values: another site may have planted one")
        #expect(read.companion("attempt") == nil && read.companion("x") == nil)
        let many = (0..<100).map { "__Host-sallyport-\($0)=v" }.joined(separator: "; ")
        #expect(try self.read("Cookie: \(many)").companions.count == PresentedCredentials.maxCompanions)
    }

    @Test("Session-transfer tokens are read with the cookies that belong to them, and their number is bounded")
    func handoff() throws {
        let read = try self.read(
            "Cookie: stt=a; stt=b; stt=a; __Host-sallyport-handled=m.n; __Host-sallyport-attempt=secret.spt_x"
        ).handoff
        #expect(read.tokens == [Secret("a"), Secret("b")])
        #expect(read.marks == Secret("m.n") && read.attempt == Secret("secret"))
        let twice = try self.read("Cookie: __Host-sallyport-handled=m; __Host-sallyport-handled=n; sttt=a").handoff
        #expect(twice == HandoffCredentials())
        let many = (0..<20).map { "stt=\($0)" }.joined(separator: "; ")
        #expect(try self.read("Cookie: \(many)").handoff.tokens.count == HandoffCredentials.most)
    }

    /// CVE-2024-24814, CVE-2023-28625.
    @Test("Crafted cookies are ignored")
    func craftedCookies() throws {
        for cookie in ["x=;=;;x_chunks=99999999", ";;;=", "=__Host-sallyport", ""] {
            #expect(try self.sessions(cookie).isEmpty)
        }
        let names = "__host-sallyport=x; __Host-sallyport2=x; x__Host-sallyport=x; __Host-sallyport"
        #expect(try self.sessions(names).isEmpty)
        #expect(try self.sessions("a=\"; __Host-sallyport=x\"") == ["x\""])
        #expect(try self.sessions((0..<1000).map { "c\($0)=v" }.joined(separator: "; ")).isEmpty)
        #expect(try self.read("X-Cookie: __Host-sallyport=x", "Cookie2: __Host-sallyport=x").sessionCookies.isEmpty)
    }

    @Test("The session token is the value of its field; an empty value counts as none")
    func sessionToken() throws {
        #expect(try self.read("X-Session-Token:  sps_abc ").sessionToken == Secret("sps_abc"))
        #expect(try self.read("x_session_token: sps_abc").sessionToken == nil)
        #expect(try self.read("X-Session-Token:").sessionToken == nil)
        #expect(try self.read().sessionToken == nil)
    }

    @Test(
        "The scheme of Authorization is recognized in any case",
        arguments: [
            ("Bearer abc", .bearer(Secret("abc"))), ("bEARER  abc", .bearer(Secret("abc"))),
            ("Bearer", .bearer(Secret(""))), ("Bearer a b", .bearer(Secret("a b"))), ("Bearerabc", .other),
            ("Basic YTpi", .basic(Secret("YTpi"))), ("BASIC YTpi", .basic(Secret("YTpi"))),
            ("Basic", .basic(Secret(""))), ("DPoP abc", .dpop(Secret("abc"))), ("abc", .other), ("", .other),
        ] as [(String, PresentedCredentials.Authorization)]
    )
    func authorization(value: String, expected: PresentedCredentials.Authorization) throws {
        #expect(try self.read("Authorization: \(value)").authorization == expected)
    }

    @Test("A request without a credential has none")
    func none() throws {
        #expect(try self.read("Accept: text/html", "Cookie: a=b") == PresentedCredentials())
    }

    @Test(
        "An endpoint gets the request's fields, except those that present a credential or are internal to the gateway"
    )
    func fields() throws {
        let hosts = RouteTable(
            [
                HostSettings(
                    publicURL: PublicURL(isHTTPS: true, host: "app.example.com", port: nil),
                    endpoints: true,
                    routes: []
                )
            ],
            upstreams: []
        ).hosts
        let endpoint = Endpoint(path: "/{name}", methods: ["GET"]) { _ in EndpointResponse(status: 200) }
        let fields = [
            "Cookie: __Host-sallyport=x; other=y", "Authorization: Bearer b", "X-Session-Token: t", "Accept: text/html",
            "User-Agent: App/1.0", "X-Forwarded-For: 192.0.2.9", "Origin: https://app.example.com",
        ]
        let request = try withHead("GET", fields) { head, base in
            EndpointRequest(
                to: endpoint,
                head,
                base,
                path: head.path.bytes(in: base),
                host: hosts[0],
                cookies: Self.cookies,
                address: IPAddress(v4: 0xC000_0201),
                requestID: RequestID(seed: 1, sequence: 2),
                design: .included
            )
        }
        #expect(request.fields.map(\.name) == ["host", "accept", "user-agent", "origin"])
        #expect(request.credentials.sessionCookies == [Secret("x")])
        #expect(request.credentials.sessionToken == Secret("t"))
        #expect(request.credentials.authorization == .bearer(Secret("b")))
        #expect(request.path == "/x" && request.pathParameter("name") == "x" && request.pathParameter("id") == nil)
        #expect(request.origin == "https://app.example.com" && request.authority == "app.example.com")
    }
}
