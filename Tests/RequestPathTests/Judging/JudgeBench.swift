import AddressIntelligence
import Cryptography
import Endpoints
import JOSE
import NIOCore
import NIOEmbedded
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// One host with its routes and live sessions. Requests to it are judged step by step, without a socket.
final class JudgeBench {
    static let origin = "https://app.example.com"
    static let now = UnixTime(seconds: 1_800_000_000)
    static let peer = IPAddress(v4: 0xC000_0201)

    let configuration: PathConfiguration
    let parser: RequestParser
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    /// Signs assertions, if the settings have them.
    let keys = SigningKeyRing(SecretRing(current: Secret("a secret of the tests")))
    private let loop = EmbeddedEventLoop()
    private let store: MemoryStore
    /// Remembers proofs.
    let onces = ScriptedOnces()
    let resolver: SessionResolver
    let proofKeys = DPoPKeyCache()
    let namedHosts = NamedHostCache()
    /// Opens what the judge seals.
    let confirmation: HandoffConfirmation

    /// - Parameters:
    ///   - generation: The number of the configuration.
    ///   - share: With it, the host's users sign in on another host.
    ///   - change: Changes to the default settings.
    init(
        _ routes: [RouteSettings] = [route("/**", .required)],
        generation: UInt64 = 1,
        share: HandoffShare? = nil,
        _ change: (inout Settings) -> Void = { _ in }
    ) throws {
        let host = HostSettings(
            publicURL: PublicURL(isHTTPS: true, host: "app.example.com", port: nil),
            endpoints: share == nil,
            routes: routes
        )
        let app = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: 3000)
        var settings = Settings(hosts: [host], upstreams: [app])
        settings.provider = FixedUsersSettings([
            UserSettings(identifier: "ada", id: "ada", passwordHash: Secret(""), traits: .object([:]), aal: .aal2)
        ])
        change(&settings)
        let sealing = SealingKeyRing(current: Secret("a secret of the tests"))
        self.confirmation = HandoffConfirmation(settings.handoff.confirmation, keys: sealing)
        let clock = Clock { Self.now }
        let caches = SessionCaches()
        self.store = MemoryStore(maxSessions: 100, maxMarkers: 100, clock: clock, caches: caches)
        self.resolver = SessionResolver(
            loop: self.loop,
            cache: SessionCache(),
            store: self.store,
            authority: self.authority,
            clock: clock
        )
        let identity = IdentityProfile(settings, key: self.keys.current)
        self.parser = RequestParser(
            names: FieldNames(
                roles: FieldNames.requestRoles,
                managedNames: identity.managed.names,
                managedPrefixes: identity.managed.prefixes
            ),
            limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
            dropsUnderscore: true
        )
        var page = Endpoint(path: "/.sallyport/sessions", methods: ["GET", "HEAD", "POST"], scope: .everyHost) { _ in
            EndpointResponse(status: 200)
        }
        page.usesTransferTokens = true
        self.configuration = try PathConfiguration(
            settings,
            endpoints: [
                Endpoint(path: "/.sallyport/login", methods: ["GET", "POST"], scope: .everyHost, bodyLimit: 100) { _ in
                    EndpointResponse(status: 200)
                },
                page,
            ],
            generation: generation,
            judging: .forTests(
                settings,
                store: self.store,
                authority: self.authority,
                clock: clock,
                identity: identity,
                confirmation: self.confirmation,
                share: share,
                onces: self.onces
            )
        )
    }

    deinit {
        try? self.loop.syncShutdownGracefully()
    }

    /// A live session and its token.
    func live(
        _ kind: Session.Kind = .web,
        _ change: (inout Session) -> Void = { _ in }
    ) throws -> (token: String, session: CachedSession) {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        var session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: kind == .web ? .browser : .native,
            lineage: lineage,
            identity: Identity(id: "ada", traits: ["groups": ["staff"]]),
            host: kind == .web ? "app.example.com" : nil,
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: Self.now,
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(900),
            device: DeviceFacts(address: Self.peer, asn: nil, userAgent: nil)
        )
        change(&session)
        try self.store.create(NewSession(key: key, session: session), on: self.loop).wait()
        let resolution = token.bytes.withUnsafeBytes { self.resolver.resolve(kind, token: $0, now: Self.now) }
        guard case .miss(let read) = resolution else { throw Unexpected("no read: \(resolution)") }
        var found: CachedSession?
        read.whenFound { found = (try? $0.get()) ?? nil }
        self.loop.run()
        guard let found else { throw Unexpected("the session does not live") }
        return (String(decoding: token.bytes, as: UTF8.self), found)
    }

    /// The name of one of the gateway's cookies on this host.
    func cookie(_ suffix: String = "") -> String { self.configuration.settings.session.cookieName + suffix }

    struct Unexpected: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

/// A request and its judge. The result of each step is a value that can be compared.
final class JudgedRequest {
    enum Told: Equatable {
        case ask(Session.Kind, SessionQuestion.Purpose)
        case consume(HandoffTransport)
        /// With the thumbprint of the key that was proven.
        case redeem(String)
        case collect(String)
        case permitted(route: String, subject: String?)
        case answer(Int, Reason?)
    }

    private(set) var judge = RequestJudge(requestID: RequestID(seed: 1, sequence: 1))
    /// The last answer, the last requested consumption, and the last token that was asked for.
    private(set) var answer: LocalAnswer?
    /// The lines about the user, if the request was permitted with a session.
    private(set) var identity: IdentityLines?
    private(set) var handoff: HandoffRequest?
    private(set) var token = ""
    /// Whether the last token that was asked for is the provider's own cookie.
    private(set) var isProviders = false
    private let bench: JudgeBench
    private let bytes: [UInt8]
    private let head = RequestHead(fieldCount: 100)
    private let peer: IPAddress
    private let now: UnixTime
    private let wallNow: UnixTime
    /// Kept, as the driver does.
    private let certificate: ClientCertificate?

    /// - Parameters:
    ///   - age: How long after `JudgeBench.now` it is judged.
    ///   - skew: How far the machine's clock is ahead of the store's.
    init(
        _ bench: JudgeBench,
        _ method: String = "GET",
        _ target: String = "/x",
        _ fields: [String] = [],
        host: String = "app.example.com",
        from peer: IPAddress = JudgeBench.peer,
        after age: Duration = .zero,
        skew: Duration = .zero,
        certificate: ClientCertificate? = nil
    ) {
        self.bench = bench
        self.certificate = certificate
        self.peer = peer
        self.now = JudgeBench.now.advanced(by: age)
        self.wallNow = self.now.advanced(by: skew)
        let lines = ["\(method) \(target) HTTP/1.1", "Host: \(host)"] + fields
        self.bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        self.judge.findings.certificate = certificate
    }

    /// The client was shown a certificate for another host.
    func misdirect() { self.judge.findings.isMisdirected = true }

    func begin() throws -> Told {
        try self.step { judge, given in
            #expect(self.bench.parser.parse(given.base, self.bytes.count, into: self.head) == .complete)
            return judge.begin(given)
        }
    }

    func found(_ session: CachedSession?) throws -> Told { try self.found(session.map { .found($0) } ?? .none) }

    func found(_ answer: SessionAnswer) throws -> Told {
        try self.step { judge, given in judge.sessionFound(answer, given) }
    }

    func ended(_ outcome: HandoffOutcome) throws -> Told {
        try self.step { judge, given in judge.handoffEnded(JudgedHandoff(outcome), given) }
    }

    func redeemed(_ refusal: DPoPRefusal?) throws -> Told {
        try self.step { judge, given in judge.proofRedeemed(refusal, given) }
    }

    func unavailable(_ error: StoreError = .unavailable) throws -> Told {
        try self.step { judge, given in judge.unavailable(error, .storeUnavailable, given) }
    }

    /// The values of a field of the last answer, including the fields that every answer must have.
    func values(_ name: String) -> [String] {
        let lines = self.judge.findings.answerLines.map { String(decoding: $0.dropLast(2), as: UTF8.self) }
        return lines.filter { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
            + (self.answer?.response.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value) ?? [])
    }

    /// The names of the cookies that are set, and of those that are cleared.
    var cookies: (set: Set<String>, cleared: Set<String>) {
        let lines = self.values("Set-Cookie")
        func names(_ lines: [String]) -> Set<String> { Set(lines.map { String($0.prefix { $0 != "=" }) }) }
        return (
            names(lines.filter { !$0.contains("Max-Age=0") }), names(lines.filter { $0.contains("Max-Age=0") })
        )
    }

    /// The reasons for which tokens were rejected, in order.
    var turnedAway: [Reason] {
        self.judge.findings.events.compactMap { if case .turnedAway(let reason, _) = $0 { reason } else { nil } }
    }

    /// The kinds of audit events that were recorded, in order.
    var audited: [String] {
        self.judge.findings.events.compactMap { if case .audit(let event) = $0 { event.kind.rawValue } else { nil } }
    }

    private func step(
        _ body: (inout RequestJudge, JudgingContext) -> JudgeAction
    ) throws -> Told {
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16_384) { scratch in
            try self.bytes.withUnsafeBufferPointer { bytes in
                let base = try #require(bytes.baseAddress)
                let given = JudgingContext(
                    self.head,
                    base,
                    configuration: self.bench.configuration,
                    clients: try #require(self.bench.configuration.judging).clients.snapshot,
                    peer: self.peer,
                    now: self.now,
                    wallNow: self.wallNow,
                    scratch: scratch,
                    proofKeys: Pinned(self.bench.proofKeys),
                    namedHosts: Pinned(self.bench.namedHosts),
                    notesStrayForwarding: true
                )
                return self.notify(body(&self.judge, given), base)
            }
        }
    }

    private func notify(_ action: consuming JudgeAction, _ base: Bytes) -> Told {
        switch consume action {
        case .ask(let question):
            self.token = String(decoding: question.token.bytes(in: base), as: UTF8.self)
            self.isProviders = question.isProviders
            return .ask(question.kind, question.purpose)
        case .consume(let request):
            self.handoff = request.value
            return .consume(request.value.transport)
        case .redeem(let proof):
            return .redeem(proof.value.thumbprint)
        case .collect(let call):
            return .collect(call.value.endpoint.path)
        case .permitted(let permit, let identity):
            self.identity = identity
            return .permitted(route: permit.route.name, subject: permit.session?.session.subject)
        case .answer(let answer):
            self.answer = answer
            return .answer(answer.response.status, answer.response.reason)
        }
    }
}
