import AddressIntelligence
import Cryptography
import EndpointBench
import Endpoints
import NIOCore
import NIOPosix
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("The page that asks to confirm a sign-in by a link") struct HandoffEndpointTests {
    /// A gateway with a live transfer token and a browser that was sent to the page with it.
    private struct Bench {
        static let path = "/.sallyport/handoff"
        static let target = "/a//b?x=%2F"
        let gateway: Gateway
        let confirmation = HandoffConfirmation(.crossSite, keys: SealingKeyRing(current: Gateway.secret))
        let endpoint: Endpoint
        let token: Secret
        var jar = BrowserJar()

        init(from address: String = "192.0.2.1") async throws {
            self.gateway = try Gateway()
            var client = ClientSettings(clientID: "web")
            client.allowsQuery = true
            let records = RecordAccess(
                store: self.gateway.store,
                authority: self.gateway.authority,
                loops: MultiThreadedEventLoopGroup.singleton,
                clock: self.gateway.time.clock
            )
            let endpoints = HandoffEndpoint(
                handoff: HandoffConsumer(
                    records: records,
                    sessions: SessionSettings(),
                    asn: nil,
                    journal: AuditJournal { _ in true }
                ),
                confirmation: self.confirmation,
                sessions: SessionService(
                    records: records,
                    settings: SessionSettings(),
                    devices: DeviceObserver(directory: nil),
                    journal: self.gateway.audit.journal
                ),
                clients: ClientRegistry([client]),
                cookieName: SessionSettings().cookieName,
                cookies: HandoffCookies(Settings(hosts: [], upstreams: []))
            ).endpoints
            self.endpoint = try #require(endpoints.first)
            self.token = try await Self.mint(self.gateway, from: address)
            try self.arrive()
        }

        static func key(_ gateway: Gateway, _ token: [UInt8]) throws -> RecordKey {
            guard case .record(let key) = gateway.authority.read(.session, token) else {
                return try #require(nil, "no session token")
            }
            return key
        }

        private static func mint(_ gateway: Gateway, from address: String) async throws -> Secret {
            let native = Secret(Array(try await gateway.nativeToken().utf8))
            let parent = try Self.key(gateway, native.bytes)
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let session = try #require(try await gateway.store.session(parent, on: loop).get()?.record)
            let (token, key) = gateway.authority.make(.transfer, in: session.lineage)
            let now = gateway.time.now
            let device = DeviceFacts(address: try #require(IPAddress(address)), asn: nil, userAgent: nil)
            let record = TransferToken(
                parent: session,
                parentKey: parent,
                clientID: "app",
                device: device,
                scopes: [],
                issuedAt: now,
                expiresAt: now.advanced(by: .seconds(60))
            )
            try await gateway.store.create(record, key: key, on: loop).get()
            return token
        }

        /// The browser follows a link with the token.
        mutating func arrive() throws {
            let pending = PendingHandoff(
                token: self.token,
                transport: .query,
                target: Self.target,
                clientID: "web"
            )
            let now = self.gateway.time.now
            let sealed = try #require(self.confirmation.seal(pending, on: self.gateway.host, now: now))
            self.jar["__Host-sallyport-handoff"] = String(decoding: sealed.bytes, as: UTF8.self)
        }

        mutating func send(
            _ method: String,
            _ fields: [(name: String, value: String)] = [],
            body: String = ""
        ) async throws -> EndpointResponse {
            let fields = fields + self.jar.fields
            let request = WireRequest(
                method,
                Self.path,
                fields: [("content-type", "application/x-www-form-urlencoded")] + fields,
                body: Array(body.utf8),
                on: self.gateway.host
            )
            let answer = await request.answer(of: self.endpoint)
            self.jar.take(answer)
            return answer
        }

        mutating func post(_ page: EndpointResponse) async throws -> EndpointResponse {
            let proof = page.text.firstMatch(of: /name="proof" value="([^"]+)"/).map { String($0.1) } ?? ""
            return try await self.send("POST", Self.own, body: "proof=\(proof)")
        }

        static let own = [(name: "sec-fetch-site", value: "same-origin")]
        var moved: String? { self.jar["__Host-sallyport-attempt"] }
    }

    @Test("The page names account and host, has no script, cannot be framed, and changes nothing")
    func page() async throws {
        var bench = try await Bench()
        let page = try await bench.send("GET")
        #expect(page.status == 200 && page.value("x-frame-options") == "DENY")
        #expect(page.value("content-security-policy")?.contains("frame-ancestors 'none'") == true)
        #expect(page.value("cache-control") == "no-store")
        #expect(page.text.contains("alice@example.com") && page.text.contains("app.example.com"))
        #expect(page.text.contains(#"href="https://app.example.com/a//b?x=%2F""#))
        #expect(!page.text.contains("<script") && !page.text.contains("spt_"))
        #expect(page.values("set-cookie").isEmpty)
    }

    @Test("The button moves the token into the attempt cookie and leads to the page; a second click does the same")
    func confirm() async throws {
        var bench = try await Bench()
        let page = try await bench.send("GET")
        let answer = try await bench.post(page)
        #expect(answer.status == 303 && answer.value("location") == "https://app.example.com\(Bench.target)")
        let moved = try #require(bench.moved)
        #expect(moved.contains(".\(String(decoding: bench.token.bytes, as: UTF8.self)).query."))
        #expect(try await bench.post(page).value("location") == answer.value("location"))
        #expect(bench.moved == moved, "the same try")
    }

    @Test("Another site's form, one without the proof, or the form of another tab's link confirms nothing")
    func forged() async throws {
        var bench = try await Bench()
        let page = try await bench.send("GET")
        let foreign = try await bench.send("POST", [(name: "sec-fetch-site", value: "cross-site")], body: "proof=x")
        #expect(foreign.status == 403 && foreign.reason == .requestCrossSite)
        for body in ["", "proof=", "proof=x"] {
            let again = try await bench.send("POST", Bench.own, body: body)
            #expect(again.status == 303 && again.value("location") == Bench.path)
        }
        try bench.arrive()
        #expect(try await bench.post(page).value("location") == Bench.path)
        #expect(bench.moved == nil)
        // The page of the newer link is confirmed by its own form.
        let newer = try await bench.send("GET")
        #expect(try await bench.post(newer).value("location") == "https://app.example.com\(Bench.target)")
    }

    @Test("A token of another device leads on to the page, signed out, and is burned")
    func otherDevice() async throws {
        var bench = try await Bench(from: "192.0.2.99")
        let answer = try await bench.send("GET")
        #expect(answer.status == 303 && answer.reason == .bindingIPMismatch)
        #expect(answer.value("location") == "https://app.example.com\(Bench.target)")
        #expect(bench.jar.cookies == ["__Host-sallyport-notice": "1"])
        try bench.arrive()
        #expect(try await bench.send("GET").reason == .handoffBurned)
    }

    @Test("Another user's session is not ended by the link, and the token is burned")
    func otherUser() async throws {
        var bench = try await Bench()
        let other = try await bench.gateway.signInBrowser()
        bench.jar["__Host-sallyport"] = other
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let key = try Bench.key(bench.gateway, Array(other.utf8))
        let stored = try #require(try await bench.gateway.store.session(key, on: loop).get())
        var grace = stored.record
        grace.identity = Identity(id: "grace", traits: [:])
        let (token, graceKey) = bench.gateway.authority.make(.session, in: grace.lineage)
        try await bench.gateway.store.create(NewSession(key: graceKey, session: grace), on: loop).get()
        bench.jar["__Host-sallyport"] = String(decoding: token.bytes, as: UTF8.self)
        let answer = try await bench.send("GET")
        #expect(answer.status == 303 && answer.reason == .handoffOtherUser)
        #expect(bench.jar["__Host-sallyport"] != nil)
        #expect(try await bench.gateway.store.session(graceKey, on: loop).get() != nil)
    }

    @Test("Without a link that waits, the page says so; a browser that is signed in goes to the start page")
    func nothing() async throws {
        var bench = try await Bench()
        bench.gateway.time.advance(by: .seconds(61))
        for method in ["GET", "POST"] {
            let answer = try await bench.send(method, method == "POST" ? Bench.own : [])
            #expect(answer.status == 403 && answer.reason == .handoffUnconfirmed)
        }
        bench.jar["__Host-sallyport"] = try await bench.gateway.signInBrowser()
        #expect(try await bench.send("GET").value("location") == "/")
    }

    @Test("HEAD, a prefetch and a frame see no page; while the store cannot answer, nothing is lost")
    func notNow() async throws {
        var bench = try await Bench()
        #expect(try await bench.send("HEAD").status == 204)
        for field in [("sec-purpose", "prefetch"), ("sec-fetch-dest", "iframe")] {
            #expect(try await bench.send("GET", [(name: field.0, value: field.1)]).reason == .handoffNotNavigation)
        }
        bench.gateway.store.fail(with: .unavailable)
        #expect(try await bench.send("GET").isOutage)
        bench.gateway.store.fail(with: nil)
        #expect(try await bench.send("GET").status == 200)
    }
}
