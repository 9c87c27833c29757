import AddressIntelligence
import Cryptography
import EndpointBench
import Endpoints
import JOSE
import NIOCore
import NIOPosix
import Providers
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// The endpoints of the authorization server on a memory store, with a signed-in native app.
final class TokenBench: Sendable {
    static let api = "https://api.example.com"
    static let callback = "https://app.example.com/callback?tenant=1"
    /// RFC 7636 appendix B
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let now = UnixTime(seconds: 1_800_000_000)
    static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    static let sessionTokenType = "urn:sallyport:params:oauth:token-type:session_token"

    static let secret = Secret("a secret of the tests, 32 bytes or more")

    let clock = MovableClock(startingAt: TokenBench.now)
    let authority = TokenAuthority(secret: TokenBench.secret)
    let store: ScriptedStore
    /// Remembers proofs.
    let onces = ScriptedOnces()
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let endpoint: TokenEndpoint
    let revocation: RevocationEndpoint
    let introspection: IntrospectionEndpoint
    let authorization: AuthorizationEndpoint
    let pushed: PushedRequestEndpoint
    let userInfo: UserInfoEndpoint
    /// The endpoints below `/sessions`.
    let sessionEndpoints: [Endpoint]
    /// Signs browsers in and out.
    let sessions: SessionService
    let records = Records()
    let blocks: UserBlocks
    let registry: ClientRegistry
    /// Made once: a key takes a tenth of a second.
    static let idTokenKeys: SigningKeyRing = {
        guard let ring = SigningKeyRing([SigningKey.generated(.rs256)]) else { preconditionFailure("a ring has a key") }
        return ring
    }()

    /// What was recorded.
    final class Records: UserDirectory {
        private let kept = Mutex<[AuditRecord]>([])
        /// The subject that the provider does not know any more.
        let lostUser = Mutex<String?>(nil)
        let hasRoom = Atomic<Bool>(true)

        func hasLostUser(of session: Session) -> Bool { self.lostUser.withLock { $0 == session.subject } }

        var all: [AuditRecord] { self.kept.withLock { $0 } }

        func keep(_ record: AuditRecord) -> Bool {
            self.kept.withLock { $0.append(record) }
            return self.hasRoom.load(ordering: .relaxed)
        }
    }

    /// - Parameters:
    ///   - accessTokens: Knows the access tokens of a provider.
    ///   - refreshTokens: Knows the refresh tokens of a provider.
    ///   - session: The lifetimes and limits of sessions.
    ///   - notifier: Notifies clients; nil: none is notified.
    ///   - change: Changes the clients `native-app` (public), `server app` (with a secret), `plain` and `web`.
    init(
        apis: [APISettings] = [APISettings(audience: TokenBench.api, scopes: ["orders:read", "orders:write"])],
        social: SocialVerifiers = SocialVerifiers(),
        accessTokens: (any TokenProvider)? = nil,
        refreshTokens: (any TokenProvider)? = nil,
        rules: RuleBook = RuleBook(),
        session: SessionSettings = SessionSettings(),
        notifier: (any ClientNotifier)? = nil,
        _ change: (inout ClientSettings) -> Void = { _ in }
    ) {
        let clock = self.clock.clock
        let store = ScriptedStore(clock: clock)
        self.store = store
        var native = ClientSettings(clientID: "native-app")
        native.canCreateTransferToken = true
        native.callbacks = [Self.callback, "myapp://auth/callback", "http://127.0.0.1/cb"].compactMap(RedirectURI.init)
        var server = ClientSettings(clientID: "server app")
        server.canCreateTransferToken = true
        server.clientSecrets = [Secret("s3cr%t+:ü")]
        var web = ClientSettings(clientID: "web")
        web.allowsQuery = true
        web.binding = .none
        web.callbacks = [RedirectURI("https://web.example.com/cb")].compactMap(\.self)
        var clients = [native, server, ClientSettings(clientID: "plain"), web]
        for index in clients.indices { change(&clients[index]) }
        let registry = ClientRegistry(clients)
        self.registry = registry
        let group = MultiThreadedEventLoopGroup.singleton
        let devices = DeviceObserver(directory: nil)
        let records = self.records
        let limiter = LocalRateLimiter(clock: clock)
        let authority = self.authority
        let access = RecordAccess(
            store: store,
            authority: authority,
            loops: group,
            clock: clock,
            notifier: notifier
        )
        self.blocks = access.blocks
        let known = [accessTokens, refreshTokens].map { provider in
            provider.map {
                ProviderTokens(
                    [$0],
                    authority: authority,
                    store: store,
                    clock: clock,
                    isBlocked: { access.blocks.isBlocked($0.identity, on: $1) }
                )
            }
        }
        let foreign = ForeignGrants(
            tokens: [known[0]].compactMap(\.self),
            refreshTokens: [known[1]].compactMap(\.self),
            ends: nil
        )
        let sessions = SessionService(
            records: access,
            settings: session,
            devices: devices,
            tokens: [known[0]].compactMap(\.self),
            users: RealmUsers(.default, records, clients: registry),
            journal: AuditJournal { _ in true }
        )
        let tokens = TokenService(
            records: access,
            refreshTokens: RefreshTokenAuthority(current: Self.secret),
            apis: APIDirectory(apis),
            lifetimes: SessionSettings().native,
            devices: devices,
            limiter: limiter,
            users: RealmUsers(.default, records, clients: registry),
            journal: AuditJournal { records.keep($0) },
            rules: rules,
            foreign: foreign,
            sessions: sessions
        )
        let idTokens = IDTokenIssuer(
            keys: .file(Self.idTokenKeys),
            issuer: "https://auth.example.com/",
            clock: clock
        )
        let proofs = ProofCheck(
            gate: DPoPGate(SecretRing(current: Self.secret), onces: self.onces),
            loops: group,
            clock: clock
        )
        let journal = AuditJournal { _ in true }
        let limits = TokenLimits(limiter: limiter, loops: group)
        let authentication = ClientAuthentication(
            clients: registry,
            assertions: ClientAssertions(
                origin: "https://auth.example.com",
                onces: self.onces,
                loops: group,
                clock: clock
            ),
            limits: limits
        )
        self.endpoint = TokenEndpoint(
            authentication: authentication,
            hosts: [
                PublicURL(isHTTPS: true, host: "auth.example.com", port: nil),
                PublicURL(isHTTPS: true, host: "app.example.com", port: 8443),
                PublicURL(isHTTPS: false, host: "[::1]", port: nil),
            ].enumerated().map { HostSettings(publicURL: $1, endpoints: $0 == 0, routes: []) },
            tokens: tokens,
            mint: HandoffMint(
                records: access,
                limiter: limiter,
                settings: HandoffSettings(),
                asn: nil,
                users: RealmUsers(.default, records, clients: registry),
                journal: journal
            ),
            social: SocialSignIns(
                verifiers: social,
                proofs: SocialProofs(onces: self.onces, loops: group),
                tokens: tokens
            ),
            proofs: proofs,
            idTokens: idTokens
        )
        let levels = AuthenticationLevels(Self.providers)
        self.pushed = PushedRequestEndpoint(
            authentication: authentication,
            proofs: proofs,
            clients: registry,
            tokens: tokens,
            idTokens: idTokens,
            levels: levels
        )
        self.userInfo = UserInfoEndpoint(limits: limits, tokens: tokens, proofs: proofs)
        let accessTokens = AccessTokenSessions(tokens: tokens, clients: registry, proofs: proofs)
        self.sessionEndpoints =
            NativeSessionEndpoints(sessions: sessions, accessTokens: accessTokens).endpoints
            + SessionListEndpoints(users: UserSessions(sessions: sessions), accessTokens: accessTokens).endpoints
        self.sessions = sessions
        self.revocation = RevocationEndpoint(authentication: authentication, tokens: tokens, sessions: sessions)
        self.introspection = IntrospectionEndpoint(
            authentication: authentication,
            tokens: tokens,
            issuer: "https://auth.example.com/"
        )
        self.authorization = AuthorizationEndpoint(
            clients: registry,
            tokens: tokens,
            sessions: sessions,
            handoff: HandoffConsumer(
                records: access,
                sessions: SessionSettings(),
                asn: nil,
                directory: RealmUsers(.default, records, clients: registry),
                clients: registry,
                journal: journal
            ),
            cookies: HandoffCookies(Settings(hosts: [], upstreams: [])),
            keys: SealingKeyRing(current: Self.secret),
            idTokens: idTokens,
            levels: levels
        )
    }

    /// A provider that calls the second level `mfa`.
    private static let providers: [NamedProvider] = {
        var provider = OpenIDSettings(issuer: "https://idp.example.com", client: ProviderClientSettings(id: "gateway"))
        provider.claims.levels = [ClaimSettings.Level(claim: .acr, value: "mfa", level: .aal2)]
        var settings = Settings(hosts: [], upstreams: [])
        settings.provider = provider
        return settings.providers
    }()

    /// Signs a user in and returns the session token.
    func signIn(
        kind: Session.Kind = .native,
        origin: Session.Origin = .native,
        client: String? = nil,
        host: String? = nil,
        subject: String = "alice",
        aal: AssuranceLevel = .aal1,
        actor: String? = nil,
        traits: JSONValue = ["email": "a@example.com", "name": "Ada"]
    ) async throws -> String {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: origin,
            lineage: lineage,
            identity: Identity(id: subject, traits: traits),
            clientID: client,
            host: host,
            aal: aal,
            methods: ["password"],
            authenticatedAt: self.clock.now,
            issuedAt: self.clock.now,
            expiresAt: self.clock.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(3600),
            actor: actor
        )
        try await self.store.create(NewSession(key: key, session: session), on: self.loop).get()
        return String(decoding: token.bytes, as: UTF8.self)
    }

    /// The parameters of a successful exchange.
    func parameters(_ token: String) -> [String: String] {
        [
            "grant_type": Self.exchange,
            "client_id": "native-app",
            "subject_token": token,
            "subject_token_type": Self.sessionTokenType,
            "audience": "urn:auth.example.com:session_transfer",
        ]
    }

    func post(json parameters: [String: String], authorization: String? = nil) async -> Answer {
        let body = JSONText.encode(.object(parameters.mapValues(JSONValue.string)))
        return await self.post(body, type: "application/json", authorization: authorization)
    }

    func post(form parameters: [String: String], authorization: String? = nil) async -> Answer {
        let pairs = parameters.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }
        return await self.post(
            Array(pairs.joined(separator: "&").utf8),
            type: "application/x-www-form-urlencoded",
            authorization: authorization
        )
    }

    func post(_ body: [UInt8], type: String?, authorization: String? = nil) async -> Answer {
        var fields: [(name: String, value: String)] = [("user-agent", "App/1.0")]
        if let type { fields.append(("content-type", type)) }
        if let authorization { fields.append(("authorization", authorization)) }
        return await self.post(body, fields: fields)
    }

    func post(_ body: [UInt8], fields: [(name: String, value: String)]) async -> Answer {
        await self.post(body, fields: fields, to: self.endpoint.endpoint)
    }

    func post(_ body: [UInt8], fields: [(name: String, value: String)], to endpoint: Endpoint) async -> Answer {
        Answer(
            response: await Self.request("POST", endpoint.path, fields: fields, body: body).answer(of: endpoint)
        )
    }

    /// A request to the host with the endpoints.
    static func request(
        _ method: String,
        _ path: String,
        query: String = "",
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) -> WireRequest {
        WireRequest(
            method,
            path,
            query: query,
            fields: fields,
            body: body,
            from: IPAddress(v4: 0x0180_0001),
            on: "auth.example.com",
            requestID: "req"
        )
    }

    /// A form as a client with or without a secret sends it.
    func form(
        _ parameters: [String: String],
        to endpoint: Endpoint? = nil,
        fields: [(name: String, value: String)] = []
    ) async -> Answer {
        let pairs = parameters.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }
        return await self.post(
            Array(pairs.joined(separator: "&").utf8),
            fields: [("content-type", "application/x-www-form-urlencoded")] + fields,
            to: endpoint ?? self.endpoint.endpoint
        )
    }

    // MARK: Codes and refresh tokens

    /// Sends a browser to `/authorize`.
    ///
    /// - Parameters:
    ///   - cookie: The session cookie.
    ///   - fields: Further fields; `cookie` among them holds all cookies.
    func authorize(
        _ parameters: [String: String?] = [:],
        cookie: String? = nil,
        fields: [(name: String, value: String)] = []
    ) async -> Answer {
        var all: [String: String] = [
            "client_id": "native-app", "response_type": "code", "redirect_uri": Self.callback, "state": "a state",
            "code_challenge": Self.challenge, "code_challenge_method": "S256", "scope": "offline_access orders:read",
        ]
        for (name, value) in parameters { all[name] = value }
        let query = all.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return await self.authorize(query, cookie: cookie, fields: fields)
    }

    func authorize(
        _ query: [(name: String, value: String)],
        cookie: String? = nil,
        fields: [(name: String, value: String)] = []
    ) async -> Answer {
        let session = cookie.map { [(name: "cookie", value: "__Host-sallyport=\($0)")] } ?? []
        return Answer(
            response: await Self.request(
                "GET",
                AuthorizationEndpoint.path,
                query: FormText.encoded(query),
                fields: session + fields
            ).answer(of: self.authorization.endpoint)
        )
    }

    /// A code for a user who is signed in in a browser.
    func code(_ parameters: [String: String?] = [:]) async throws -> String {
        let cookie = try await self.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        return try #require(await self.authorize(parameters, cookie: cookie).redirect["code"])
    }

    func redeem(_ code: String, _ parameters: [String: String?] = [:], proof: String? = nil) async -> Answer {
        var all = [
            "grant_type": "authorization_code", "client_id": "native-app", "code": code,
            "redirect_uri": Self.callback, "code_verifier": Self.verifier,
        ]
        for (name, value) in parameters { all[name] = value }
        return await self.form(all, fields: Self.fields(proof))
    }

    /// The field of a proof.
    static func fields(_ proof: String?) -> [(name: String, value: String)] { proof.map { [("dpop", $0)] } ?? [] }

    /// The answer to a redeemed code: an access token and a refresh token.
    func tokens() async throws -> Answer { await self.redeem(try await self.code()) }

    func refresh(_ token: String, _ parameters: [String: String?] = [:], proof: String? = nil) async -> Answer {
        var all = ["grant_type": "refresh_token", "client_id": "native-app", "refresh_token": token]
        for (name, value) in parameters { all[name] = value }
        return await self.form(all, fields: Self.fields(proof))
    }

    /// Whether a session or an access token is alive.
    func lives(_ token: String) async throws -> Bool {
        guard case .record(let key) = self.authority.readSession(Array(token.utf8)) else { return false }
        return try await self.store.session(key, on: self.loop).get() != nil
    }

    /// Escapes every byte except letters and digits, as a careful client does.
    static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            guard scalar.isASCII, scalar.properties.isAlphabetic || scalar.properties.numericType != nil else {
                return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
            return String(Character(scalar))
        }.joined()
    }
}

/// An answer of the endpoint, parsed as a client does.
struct Answer: Sendable {
    var response: EndpointResponse

    var status: Int { self.response.status }
    var body: JSONValue { JSONText.decode(self.response.body) ?? .null }
    var error: String? { self.body["error"]?.string }
    var description: String? { self.body["error_description"]?.string }
    var reason: Reason? { self.response.reason }

    func text(_ member: String) -> String { self.body[member]?.string ?? "" }

    /// The parameters of the query of `Location`.
    var redirect: [String: String] {
        let query = (self.field("location") ?? "").split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return Dictionary(FormText.pairs(Array(query.utf8)).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    func field(_ name: String) -> String? {
        self.response.fields.first { $0.name == name }?.value
    }
}

extension AuditRecord {
    /// What the client presented, or did.
    var tokenAct: TokenAct? {
        if case .token(let act, _) = self.act { act } else { nil }
    }
}
