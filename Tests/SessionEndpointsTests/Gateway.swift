import AddressIntelligence
import Cryptography
import EndpointBench
import Endpoints
import JOSE
import NIOCore
import NIOPosix
import Pages
import Providers
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// The endpoints of one host with a real store and a real provider, and a clock that the test moves.
struct Gateway {
    static let password = "correct horse battery staple"
    static let secret = Secret("a secret of at least thirty-two bytes, for tests")

    let store: ScriptedStore
    let time: MovableClock
    let audit: Ledger
    let authority: TokenAuthority
    let host: String
    let cookieReach: CookieScope
    let endpoints: [Endpoint]

    /// - Parameters:
    ///     - users: Knows the users.
    ///     - sibling: Another host of the same process, whose store, clock and audit stream are shared.
    ///     - session: The lifetimes and limits of sessions.
    ///     - successor: A new secret.
    ///     - accepted: Other secrets that are accepted: the first one.
    ///     - known: The event loops on which endpoints run, and what finds the sessions that those know.
    ///     - caches: Told by the store of what ends.
    init(
        host: String = "app.example.com",
        beside sibling: Gateway? = nil,
        provider: (any PasswordProvider)? = nil,
        browser: (any BrowserProvider)? = nil,
        users: (any UserDirectory)? = nil,
        providerEndsSessions: Bool = false,
        limiter: (any RateLimiter)? = nil,
        successor: Secret? = nil,
        accepted: [Secret] = [Self.secret],
        exchange: ExchangeSettings = Self.exchange,
        verifiers: SocialVerifiers = SocialVerifiers(),
        rules: RuleBook = RuleBook(),
        session: SessionSettings = SessionSettings(),
        persistence: SessionSettings.Persistence = .never,
        clearedSiteData: [SessionSettings.SiteData] = [],
        cookieReach: CookieScope = .site,
        known: (loops: any EventLoopGroup, resolvers: SessionResolvers)? = nil,
        caches: SessionCaches = SessionCaches()
    ) throws {
        self.host = host
        self.authority = TokenAuthority(current: successor ?? Self.secret, accepted: accepted)
        self.time = sibling?.time ?? MovableClock(startingAt: UnixTime(seconds: 1_795_000_000))
        self.audit = sibling?.audit ?? Ledger()
        self.store = sibling?.store ?? ScriptedStore(clock: self.time.clock, caches: caches)
        self.cookieReach = cookieReach
        var settings = session
        settings.browser.persistence = persistence
        settings.clearedSiteData = clearedSiteData
        let records = RecordAccess(
            store: self.store,
            authority: self.authority,
            loops: known?.loops ?? MultiThreadedEventLoopGroup.singleton,
            clock: self.time.clock
        )
        let sessions = SessionService(
            records: records,
            settings: settings,
            devices: DeviceObserver(directory: nil),
            providerSessions: providerEndsSessions ? ProviderSessions(records: records) : nil,
            users: RealmUsers(.default, users),
            rules: rules,
            journal: self.audit.journal
        )
        let limiter = limiter ?? LocalRateLimiter(clock: self.time.clock)
        let passwords = PasswordSignIn(
            sessions: sessions,
            provider: try provider ?? StaticProvider(users: [Self.alice()]),
            limiter: limiter,
            familiar: FamiliarAddresses(),
            accounts: AccountNames(successor ?? Self.secret)
        )
        let kind =
            browser.map { browser in
                SignInWay.Kind.provider(
                    BrowserSignInFlow(
                        sessions: sessions,
                        provider: browser,
                        limiter: limiter,
                        keys: SealingKeyRing(current: successor ?? Self.secret, accepted: accepted)
                    )
                )
            } ?? .password(passwords)
        let cookieName = SessionSettings().cookieName
        let native = NativeSignIns(
            sessions: sessions,
            settings: exchange,
            limiter: limiter
        )
        let users = UserSessions(sessions: sessions)
        let way = SignInWay(kind, name: "default", button: ProviderButton(label: "The only one"))
        let browsers = BrowserSessionEndpoints(
            try #require(SignInWays([way])),
            sessions: sessions,
            cookieName: cookieName,
            handoffParameter: "session_transfer_token",
            native: native
        )
        var client = ClientSettings(clientID: "rp")
        client.logoutURLs = [Self.logoutURL, "com.example.app:/bye?x=1"]
        self.endpoints =
            NativeFlowEndpoints(
                native: native,
                passwords: browser == nil ? passwords : nil,
                idTokens: IDTokenSignIns(
                    sessions: sessions,
                    verifiers: verifiers,
                    proofs: SocialProofs(
                        onces: ScriptedOnces(),
                        loops: MultiThreadedEventLoopGroup.singleton
                    ),
                    limiter: limiter
                ),
                current: successor ?? Self.secret,
                accepted: [Self.secret]
            ).endpoints
            + NativeSessionEndpoints(sessions: sessions, resolvers: known?.resolvers).endpoints
            + SessionListEndpoints(users: users).endpoints
            + [SessionsPage(users: users, cookieName: cookieName).endpoint]
            + browsers.endpoints
            + ClientLogoutEndpoints(
                browser: browsers,
                clients: ClientRegistry([client, ClientSettings(clientID: "other")]),
                keys: .file(Self.idTokenKeys),
                issuer: "https://\(host)/"
            ).endpoints
    }

    /// Apps may come back to two places, and the browser leads to one provider.
    static let exchange: ExchangeSettings = {
        var settings = ExchangeSettings()
        settings.returnTo = ["myapp://auth/callback", "http://127.0.0.1/done?from=app"].compactMap(RedirectURI.init)
        settings.providers = [ExchangeSettings.Choice(id: "company", label: "Company account")]
        return settings
    }()

    static let logoutURL = "https://rp.example.com/bye"
    /// Made once: a key takes a tenth of a second.
    static let idTokenKeys: SigningKeyRing = {
        guard let ring = SigningKeyRing([SigningKey.generated(.rs256)]) else { preconditionFailure("a ring has a key") }
        return ring
    }()

    static func alice(id: String = "9f1c") throws -> UserSettings {
        let salt = Random.bytes(16)
        let cost = Scrypt.Cost(n: 1024, r: 8, p: 1)
        let hash = try #require(Scrypt.derive(password: Array(Self.password.utf8), salt: salt, cost: cost, count: 32))
        return UserSettings(
            identifier: "alice@example.com",
            id: id,
            passwordHash: Secret("scrypt:1024:8:1:\(Base64URL.encode(salt)):\(Base64URL.encode(hash))"),
            traits: ["email": "alice@example.com"],
            aal: .aal1
        )
    }

    /// A loop for calls of the store.
    var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

    func send(
        _ method: String,
        _ target: String,
        fields: [(name: String, value: String)] = [],
        body: String = "",
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        let path = String(target.prefix { $0 != "?" })
        let endpoint = try self.endpoint(path)
        try #require(endpoint.methods.contains(method))
        let request = WireRequest(
            method,
            path,
            query: String(target.dropFirst(path.count + 1)),
            fields: fields,
            body: Array(body.utf8),
            from: try #require(IPAddress(address)),
            on: self.host,
            cookieReach: self.cookieReach
        )
        return await request.answer(of: endpoint)
    }

    /// Sends a request with a decoded query.
    func send(
        _ method: String,
        _ path: String,
        query: [(name: String, value: String)],
        fields: [(name: String, value: String)] = [],
        body: String = "",
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        let target = query.isEmpty ? path : "\(path)?\(FormText.encoded(query))"
        return try await self.send(method, target, fields: fields, body: body, from: address)
    }

    /// The endpoint with this path.
    func endpoint(_ path: String) throws -> Endpoint {
        try #require(
            self.endpoints.first { $0.path == path }
                ?? self.endpoints.first { endpoint in
                    Array(path.utf8).withUnsafeBufferPointer { endpoint.pattern.matches($0) }
                }
        )
    }

    /// Posts a form as a page of this host does.
    func post(
        _ path: String,
        _ form: String,
        cookies: [String] = [],
        fields: [(name: String, value: String)]? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        let origin = [(name: "origin", value: "https://\(self.host)"), (name: "sec-fetch-site", value: "same-origin")]
        return try await self.send(
            "POST",
            path,
            fields: [("content-type", "application/x-www-form-urlencoded")] + (fields ?? origin)
                + Self.cookies(cookies),
            body: form,
            from: address
        )
    }

    /// A `Cookie` field that presents these sessions.
    static func cookies(_ tokens: [String]) -> [(name: String, value: String)] {
        tokens.isEmpty ? [] : [("cookie", tokens.map { "__Host-sallyport=\($0)" }.joined(separator: "; "))]
    }

    /// Signs a browser in and returns its token.
    func signInBrowser() async throws -> String {
        let answer = try await self.post("/.sallyport/login", Self.credentials)
        return try #require(answer.cookie)
    }

    static let credentials = "identifier=alice%40example.com&password=correct+horse+battery+staple"

    /// Starts a native flow and returns its id.
    func flow() async throws -> String {
        let answer = try await self.send("GET", "/self-service/login/api")
        return try #require(answer.document?["id"]?.string)
    }

    func signInNative(
        flow: String? = nil,
        _ body: String? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        let flow = if let flow { flow } else { try await self.flow() }
        let right = #"{"method":"password","identifier":"alice@example.com","password":"\#(Self.password)"}"#
        return try await self.send(
            "POST",
            "/self-service/login?flow=\(flow)",
            fields: [("content-type", "application/json")],
            body: body ?? right,
            from: address
        )
    }

    /// Signs a native app in and returns its token.
    func nativeToken() async throws -> String {
        try #require(try await self.signInNative().document?["session_token"]?.string)
    }

    func whoami(_ fields: (name: String, value: String)...) async throws -> EndpointResponse {
        try await self.send("GET", "/sessions/whoami", fields: fields)
    }

    func session(_ tokens: String...) async throws -> EndpointResponse {
        try await self.send("GET", "/.sallyport/session", fields: Self.cookies(tokens))
    }
}

extension EndpointResponse {
    var document: JSONValue? { JSONText.decode(self.body) }
    var text: String { String(decoding: self.body, as: UTF8.self) }

    func values(_ name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }

    func value(_ name: String) -> String? {
        let values = self.values(name)
        return values.count == 1 ? values[0] : nil
    }

    /// The session token that the answer sets; nil if it sets none or clears it.
    var cookie: String? {
        let set = self.values("set-cookie").first { $0.hasPrefix("__Host-sallyport=") }
        guard let set, !set.contains("Max-Age=0") else { return nil }
        return String(set.dropFirst("__Host-sallyport=".count).prefix { $0 != ";" })
    }

    /// True for a 503 with Retry-After that leaves the browser's cookie alone.
    var isOutage: Bool {
        self.status == 503 && self.value("retry-after") != nil && self.values("set-cookie").isEmpty
    }
}
