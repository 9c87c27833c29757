import AddressIntelligence
import Endpoints
import JOSE
import NIOCore
import NIOEmbedded
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Transport
import Vocabulary

/// Its turn ends when what is due runs.
extension EmbeddedEventLoop: TurnLoop {
    func atTurnEnd(_ task: any TurnEndTask) {
        nonisolated(unsafe) let task = task
        self.execute { task.turnEnded() }
    }

    var taskExecutor: (any TaskExecutor)? { nil }
}

/// A loop without sockets. It serves `app.example.com` with public routes only, and an app with scripted connections.
final class ExchangeBench {
    let eventLoop = EmbeddedEventLoop()
    let clock: Clock
    let store: MemoryStore
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    let pool = ScriptedPool()
    let resolver: SessionResolver
    let loop: PathLoop
    let configuration: PathConfiguration
    let target: UpstreamTarget
    private let registry = MetricsRegistry()
    let client = ScriptedClient()
    let exchange: Exchange

    /// - Parameters:
    ///   - endpoints: Endpoints of the gateway, served on the host if there are any.
    ///   - clock: The sessions'.
    ///   - service: What becomes of the client's requests.
    ///   - tracer: nil: nothing is traced.
    ///   - forms: The forms of the checks of other proxies. `nil` if they are those of the settings.
    ///   - tls: The TLS of each listener for clients. `nil` if a listener has none.
    init(
        _ endpoints: [Endpoint] = [],
        clock: Clock = .system,
        service: RequestService = .apps,
        tracer: Tracer? = nil,
        forms: CheckForms? = nil,
        tls: [ListenerTLS?] = [],
        _ change: (inout Settings) -> Void = { _ in }
    ) throws {
        self.clock = clock
        self.store = MemoryStore(maxSessions: 64, maxMarkers: 8, clock: clock, caches: SessionCaches())
        let upstream = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: 9)
        let host = HostSettings(publicURL: Gate.app, endpoints: !endpoints.isEmpty, routes: [route("/app/**", .public)])
        var settings = Settings(hosts: [host], upstreams: [upstream])
        change(&settings)
        self.target = try UpstreamTarget(upstream)
        self.configuration = try PathConfiguration(
            settings,
            endpoints: endpoints,
            registry: self.registry,
            judging: .forTests(settings, store: self.store, authority: self.authority, clock: clock),
            forms: forms,
            tls: tls
        )
        self.resolver = SessionResolver(
            loop: self.eventLoop,
            cache: SessionCache(capacity: 64),
            store: self.store,
            authority: self.authority,
            clock: clock
        )
        let pool = self.pool
        self.loop = PathLoop(
            eventLoop: self.eventLoop,
            configuration: self.configuration,
            sessions: self.resolver,
            shard: self.registry.makeShard(on: self.eventLoop),
            accessLog: nil,
            tracer: tracer,
            sessionClock: clock,
            makePool: { _, _, _ in pool }
        )
        self.exchange = Exchange(
            loop: self.loop,
            peer: try #require(IPAddress("192.0.2.1")),
            service: service
        )
        self.exchange.attach(self.client)
        self.client.exchange = self.exchange
    }

    deinit {
        self.exchange.detach()
        self.client.exchange = nil
    }

    /// Replaces the settings of the loop.
    func reload(_ change: (inout Settings) -> Void) throws {
        var settings = self.configuration.settings
        change(&settings)
        let configuration = try PathConfiguration(
            settings,
            registry: self.registry,
            generation: 2,
            judging: .forTests(settings, store: self.store, authority: self.authority, clock: self.clock)
        )
        self.loop.adopt(configuration)
    }

    /// Makes a real pool of an app, and has the next request sent on a connection of that pool over this stream.
    ///
    /// - Parameter target: The app. `nil` for the one that the loop has.
    func keep(
        _ stream: ScriptedStream,
        to target: UpstreamTarget? = nil
    ) throws -> (group: ServerGroup, connection: UpstreamConnection) {
        let group = ServerGroup(
            target: target ?? self.target,
            index: 0,
            loop: self.loop,
            transport: try TransportLoop()
        )
        let connection = UpstreamConnection(stream, pool: group.members[0].pool)
        try stream.start(connection)
        self.pool.kept = [connection]
        return (group, connection)
    }

    /// A native session of this user, unless it is changed.
    func signIn(_ subject: String, _ change: (inout Session) -> Void = { _ in }) throws -> (
        token: Secret, key: RecordKey
    ) {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let now = self.clock.now()
        var session = Session(
            id: self.authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: lineage,
            identity: Identity(id: subject, traits: [:]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(900)
        )
        change(&session)
        try self.store.create(NewSession(key: key, session: session), on: self.eventLoop).wait()
        return (token, key)
    }

    /// Begins an exchange with the received part of a request.
    func begin(_ text: String) throws {
        let parser = RequestParser(
            names: FieldNames(roles: FieldNames.requestRoles, managedNames: [], managedPrefixes: []),
            limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
            dropsUnderscore: true
        )
        var buffer = ByteBuffer(string: text)
        let head = self.loop.requestHead
        let result = buffer.withUnsafeReadableBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map { parser.parse($0, bytes.count, into: head) }
        }
        try #require(result == .complete)
        self.client.message = HTTP1Message(head, keepsAlive: head.keepsAlive)
        self.client.body = BodyDecoder(head.framing)
        self.exchange.begin(head, &buffer, by: self.configuration)
        self.client.input = buffer
        self.client.passBody()
    }

    static let upgrade = request([
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13",
    ])
    /// The app's answer to it.
    static let upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    static func request(_ fields: [String]) -> String { self.request("GET", fields) }

    /// The bytes of a request from the client.
    static func request(
        _ method: String = "GET",
        path: String = "/app/x",
        _ fields: [String] = [],
        body: String = ""
    ) -> String {
        (["\(method) \(path) HTTP/1.1", "Host: app.example.com"] + fields).joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}
