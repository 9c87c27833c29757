import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A browser's way through a proxy that asks the gateway, to an app that answers with the request it got.
struct ProxyBench {
    let proxy: Proxy
    let places: ProxyPlaces
    let gateway: Gateway
    let app: FakeUpstream
    private let redis: Servers.Running

    /// The address of the browser and of the native app beside it. It is none of `authorization.peers`.
    static let home = "127.0.0.7"
    /// The address of somebody else.
    static let elsewhere = "127.0.0.8"

    /// The app sets a cookie of its own, accepts WebSockets, returns their bytes, and misses one page.
    private static let app: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            guard !request.target.hasSuffix("/missing") else {
                link.answer("404 Not Found", body: "missing")
                continue
            }
            guard !request.values("sec-websocket-key").isEmpty else {
                link.answer("200 OK", "Set-Cookie: app=1; Path=/\r\n", body: String(latin1: request.head))
                continue
            }
            link.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
            )
            while case .bytes(let bytes) = link.wire.receive(seconds: 20) { link.wire.send(bytes) }
        }
    }

    /// One host with protected paths, and another without any.
    private static func settings(
        _ proxy: Proxy,
        _ places: ProxyPlaces,
        metadata: String?,
        signIn: String?,
        routes: [String],
        hosts: [String],
        redis: Int
    ) -> String {
        """
        listen: 127.0.0.1:\(places.gateway)
        event_loops: 1
        admin: {listen: 127.0.0.1:0}
        upstream: http://127.0.0.1:\(places.app)
        session: {cookie: sallyport}
        hosts:
          - public_url: \(places.origin)
            endpoints: \(signIn == nil)
            routes:
              - path: /**
        \(signIn == nil ? "        client: web" : "")
                cors: {origins: ["https://static.example.com"], methods: [GET, PUT], credentials: true}
              - {path: /public/**, auth: public}
              - {path: /fresh/**, require: {max_age: 1s}}
              - {path: /strong/**, require: {aal: aal2}}
              - {path: /admins/**, \(signIn == nil ? "client: web, " : "")require: {groups_any: [admins]}}
        \(routes.map { "      - \($0)\n" }.joined())\
        \(places.hasPort ? "" : "  - {public_url: \"http://open.example.com\", routes: [{path: /**, auth: public}]}")
        \(signIn.map { "  - {public_url: \"\($0)\", endpoints: true, routes: [{path: /**, auth: public}]}\n" } ?? "")\
        \(hosts.map { "  - \($0)\n" }.joined())\
        \(signIn == nil ? "clients:\n\(Config.clients())" : "")
        provider:
          static:
            users:
        \(Config.users)
        trusted_proxies: [127.0.0.1]
        log: {access: true}
        authorization:
          listen: 127.0.0.1:\(places.checks)
          peers: [127.0.0.1]
          cookies_on_success: \(proxy.passesCookiesOnSuccess)
        \(metadata.map { "  metadata: \($0)" } ?? "")
        store: {redis: {url: "redis://127.0.0.1:\(redis)"}}
        secret_file: secret
        drain: {delay: 0s, timeout: 1s}

        """
    }

    /// Runs `body` behind a running proxy.
    ///
    /// - Parameters:
    ///   - proxy: Ends the test if its program is missing.
    ///   - metadata: `authorization.metadata`; nil: it is not written.
    ///   - signIn: The origin of a host on which users sign in, while no native app hands over; nil: the first host.
    ///   - routes: Further routes of the first host, each in one line.
    ///   - hosts: Further hosts, each in one line.
    ///   - more: Further settings.
    ///   - nginx: The contents of nginx's `server`, if they are not what `check` prints.
    ///   - written: The proxy's configuration, if it is not what `check` prints.
    ///   - change: What an operator changes in what `check` prints.
    ///   - hasPort: Whether the public URL is the proxy's address, for a browser without a name service.
    static func with(
        _ proxy: Proxy,
        hasPort: Bool = false,
        metadata: String? = nil,
        signIn: String? = nil,
        routes: [String] = [],
        hosts: [String] = [],
        more: String = "",
        nginx: ((ProxyPlaces) -> String)? = nil,
        written: ((ProxyPlaces) -> String)? = nil,
        change: (String) -> String = { $0 },
        _ body: (ProxyBench) throws -> Void
    ) throws {
        _ = try proxy.program()
        guard let redisProgram = Servers.find(["/usr/bin/redis-server"]) else { try Servers.missing("redis-server") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        let places = ProxyPlaces(
            proxy: try ServerPorts.take(),
            checks: try ServerPorts.take(),
            gateway: try ServerPorts.take(),
            app: app.port,
            hasPort: hasPort
        )
        let redisPort = try ServerPorts.take()
        let redis = try Servers.Running(
            redisProgram,
            ["--port", "\(redisPort)", "--save", "", "--appendonly", "no", "--loglevel", "warning"],
            in: folder,
            port: redisPort
        )
        defer { redis.stop() }
        let settings =
            Self.settings(
                proxy,
                places,
                metadata: metadata,
                signIn: signIn,
                routes: routes,
                hosts: hosts,
                redis: redisPort
            ) + more + "\n"
        let files = ["secret": "of-the-tests-of-proxies-\(UInt64.random(in: 0...UInt64.max))\n"]
        try Gateway.with(settings, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            let running = try proxy.start(
                places,
                before: gateway,
                nginx?(places),
                { written?(places) ?? change($0) },
                in: folder
            )
            defer { running.stop() }
            try body(ProxyBench(proxy: proxy, places: places, gateway: gateway, app: app, redis: redis))
        }
    }

    /// Ends the store.
    func stopStore() { self.redis.stop() }

    /// Runs `body` while the store does not answer. What it was asked meanwhile, it does afterwards.
    func withoutStore(_ body: () throws -> Void) throws {
        self.redis.signal(SIGSTOP)
        defer { self.redis.signal(SIGCONT) }
        try body()
    }

    /// What a browser gets from the proxy.
    func ask(_ target: String, _ kind: Kind, _ fields: [String] = [], from source: String = Self.home) throws -> Answer
    {
        try self.connect(from: source).request(kind.request(target, fields))
    }

    /// What a browser gets from the proxy once the store has answered in time. Where other programs take the machine,
    /// Redis misses the gateway's deadline of 100 ms, or the gateway misses the proxy's, and the answer is 503.
    func askPatiently(_ target: String, _ kind: Kind, _ fields: [String] = []) throws -> Answer {
        try self.patiently { try self.ask(target, kind, fields) }
    }

    private func patiently(_ ask: () throws -> Answer) throws -> Answer {
        var last: Answer?
        _ = eventually {
            last = try? ask()
            return last.map { $0.status != 503 } ?? false
        }
        return try last ?? ask()
    }

    /// A connection to the proxy.
    func connect(from source: String = Self.home) throws -> Wire { try Wire(to: self.places.proxy, from: source) }

    /// A session cookie of a user who signed in through the proxy.
    ///
    /// - Parameter base: What stands before the path of the page.
    func session(_ user: User = .ada, below base: String = "") throws -> String {
        let form = Request.post(
            "\(base)/.sallyport/login",
            ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
            body: "identifier=\(user.identifier)&password=\(user.password)&return_to=/"
        )
        let answer = try self.patiently { try self.connect().request(form) }
        return "Cookie: sallyport=\(try #require(answer.sessionCookie, "\(answer.lines) \(answer.text)"))"
    }
}

extension ProxyPlaces {
    /// The public URL.
    var origin: String { self.hasPort ? "http://127.0.0.1:\(self.proxy)" : Request.origin }
}

/// A kind of request.
enum Kind: String, CaseIterable, Sendable {
    case navigation, fetch, post, socket, preflight

    /// The request on the wire.
    func request(_ target: String, _ fields: [String] = []) -> String {
        switch self {
        case .navigation:
            Request.get(
                target,
                ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
                    + fields
            )
        case .fetch:
            Request.get(
                target,
                ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*"]
                    + fields
            )
        case .post:
            Request.post(
                target,
                ["Origin: \(Request.origin)", "Sec-Fetch-Site: same-origin", "Accept: application/json"] + fields,
                body: "of the client"
            )
        case .socket:
            Request.get(
                target,
                [
                    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: \(Request.origin)",
                ] + fields
            )
        case .preflight:
            Request.get(
                target,
                ["Origin: https://static.example.com", "Access-Control-Request-Method: PUT"] + fields,
                method: "OPTIONS"
            )
        }
    }
}
