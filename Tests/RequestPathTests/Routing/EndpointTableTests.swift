import Endpoints
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("The gateway's own paths")
struct EndpointTableTests {
    private enum Answer: Equatable {
        case none, forward(route: String, upstream: Int), methodNotAllowed(String), refused(Reason), unreadable(Reason)
        /// The pattern of the endpoint, and the values of its parameters.
        case endpoint(String, [String])
    }

    private static let hosts = RouteTable(
        [
            HostSettings(
                publicURL: PublicURL(isHTTPS: true, host: "auth.example.com", port: nil),
                endpoints: true,
                routes: [route("/**", .required)]
            ),
            HostSettings(
                publicURL: PublicURL(isHTTPS: true, host: "app.example.com", port: nil),
                endpoints: false,
                routes: [route("/**", .required)]
            ),
        ],
        upstreams: ["app"]
    )

    private static func table(
        _ endpoints: [Endpoint],
        forwarding: [ForwardingEndpoint] = []
    ) throws -> EndpointTable {
        try EndpointTable(endpoints, forwarding: forwarding, on: self.hosts, upstreams: ["app", "provider"])
    }

    private static func endpoint(
        _ path: String,
        _ methods: String...,
        scope: EndpointScope = .endpointHosts
    ) -> Endpoint {
        Endpoint(path: path, methods: methods, scope: scope) { _ in EndpointResponse(status: 200) }
    }

    private static func ask(_ table: EndpointTable, _ path: String, _ method: String = "GET", host: Int = 0) -> Answer {
        withReading(Array(path.utf8)) { outcome in
            let reading: PathReading
            switch outcome {
            case .refused(let reason): return .unreadable(reason)
            case .read(let read): reading = read
            }
            let match = Array(method.utf8).withUnsafeBufferPointer {
                table.match(reading, method: $0, host: self.hosts.hosts[host])
            }
            switch match {
            case .none: return .none
            case .endpoint(let endpoint):
                let parameters = endpoint.pattern.parameters(of: reading.bytes)
                return .endpoint(endpoint.path, parameters.map { "\($0.name)=\($0.value)" })
            case .forward(let route): return .forward(route: route.name, upstream: route.upstreamIndex ?? -1)
            case .methodNotAllowed(let allow, _): return .methodNotAllowed(allow)
            case .refused(let reason, _): return .refused(reason)
            }
        }
    }

    private static func clients() throws -> EndpointTable {
        try self.table([
            self.endpoint("/clients/{id}", "GET", "PATCH"),
            self.endpoint("/clients/{client}", "DELETE"),
            self.endpoint("/clients/new", "GET"),
            self.endpoint("/clients", "GET"),
            self.endpoint("/{kind}/new", "POST"),
            self.endpoint("/clients/{id}/keys/{key}", "GET"),
        ])
    }

    @Test("A literal segment has precedence over a parameter, and an earlier literal segment over a later one")
    func precedence() throws {
        let table = try Self.clients()
        #expect(Self.ask(table, "/clients") == .endpoint("/clients", []))
        #expect(Self.ask(table, "/clients/new") == .endpoint("/clients/new", []))
        #expect(Self.ask(table, "/clients/newer") == .endpoint("/clients/{id}", ["id=newer"]))
        #expect(Self.ask(table, "/clients/a", "DELETE") == .endpoint("/clients/{client}", ["client=a"]))
        #expect(Self.ask(table, "/grants/new", "POST") == .endpoint("/{kind}/new", ["kind=grants"]))
        #expect(
            Self.ask(table, "/clients/a/keys/b") == .endpoint("/clients/{id}/keys/{key}", ["id=a", "key=b"])
        )
        // The path decides, then the method: DELETE is not passed on to the other pattern, which has it.
        #expect(Self.ask(table, "/clients/new", "DELETE") == .methodNotAllowed("GET"))
    }

    @Test("Any other method gets 405 with the methods of the path's endpoints")
    func methods() throws {
        let table = try Self.clients()
        #expect(Self.ask(table, "/clients/a", "POST") == .methodNotAllowed("GET, PATCH, DELETE"))
        #expect(Self.ask(table, "/clients", "HEAD") == .methodNotAllowed("GET"))
        #expect(Self.ask(table, "/clients", "get") == .methodNotAllowed("GET"))
    }

    @Test("An empty segment is not a parameter", arguments: ["/clients/", "/clients/a/", "/clients/a/keys/", "/"])
    func emptySegment(path: String) throws {
        #expect(Self.ask(try Self.clients(), path) == .none)
    }

    @Test(
        "A path that reads like one of the gateway's own in another spelling is refused",
        arguments: [
            "/clients/a%2Fb", "/clients/%61", "/clients//a", "//clients/a", "/clients/a;v=1", "/client%73",
            "/clients;x",
        ]
    )
    func otherSpellings(path: String) throws {
        #expect(Self.ask(try Self.clients(), path) == .refused(.pathAmbiguous))
    }

    @Test("An endpoint that merges slashes takes runs of them, and no other spelling")
    func mergedSlashes() throws {
        let table = try Self.table([
            Endpoint(path: "/clients/{id}", methods: ["GET"], mergesSlashes: true) { _ in EndpointResponse(status: 200)
            }
        ])
        for path in ["/clients/a", "/clients//a", "//clients///a"] {
            #expect(Self.ask(table, path) == .endpoint("/clients/{id}", ["id=a"]), "\(path)")
        }
        for path in ["/clients//%61", "/clients//a;v=1", "/clients//a%2Fb"] {
            #expect(Self.ask(table, path) == .refused(.pathAmbiguous), "\(path)")
        }
    }

    @Test("An endpoint that takes escapes takes those in names, and no other spelling")
    func escapes() throws {
        let table = try Self.table([
            Endpoint(path: "/users/{id}/end", methods: ["GET"], allowsEscapedParameters: true) { _ in
                EndpointResponse(status: 200)
            }
        ])
        for (name, id) in [
            ("google%7C7", "google|7"), ("ada%40example.com", "ada@example.com"), ("a%20b", "a b"),
            ("urn%3Aa", "urn:a"),
            ("50%25", "50%"), ("%2541", "%41"), ("a%3Fb%23c", "a?b#c"), ("%C3%A4", "\u{e4}"), ("a.", "a."),
        ] {
            #expect(Self.ask(table, "/users/\(name)/end") == .endpoint("/users/{id}/end", ["id=\(id)"]), "\(name)")
        }
        for path in ["/users/a%2Fb/end", "/users//a/end", "/users/a;v=1/end", "/users/a%3Bv=1/end"] {
            #expect(Self.ask(table, path) == .refused(.pathAmbiguous), "\(path)")
        }
    }

    @Test("An endpoint that plays an app takes every spelling of its paths")
    func playedApp() throws {
        let table = try Self.table([
            Endpoint(path: "/**", methods: ["GET"], isApp: true) { _ in EndpointResponse(status: 200) }
        ])
        for path in ["/", "/a", "/a//b", "/a/%61", "/a;v=1/b", "/a%2Fb"] {
            #expect(Self.ask(table, path) == .endpoint("/**", []), "\(path)")
        }
        #expect(Self.ask(table, "/a/..") == .unreadable(.pathDotSegment))
    }

    @Test("A dot segment is not a parameter")
    func dotSegments() throws {
        let table = try Self.clients()
        #expect(Self.ask(table, "/clients/..") == .unreadable(.pathDotSegment))
        #expect(Self.ask(table, "/clients/%2e%2e") == .unreadable(.pathDotSegment))
    }

    @Test("A host without endpoints has only those with the scope of every host")
    func scopes() throws {
        let table = try Self.table([
            Self.endpoint("/sessions/{id}", "GET"), Self.endpoint("/.sallyport/login", "GET", scope: .everyHost),
            Self.endpoint("/.sallyport/x/{id}", "GET", scope: .everyHost),
        ])
        for host in 0...1 {
            #expect(Self.ask(table, "/.sallyport/login", host: host) == .endpoint("/.sallyport/login", []))
            #expect(Self.ask(table, "/.sallyport/x/1", host: host) == .endpoint("/.sallyport/x/{id}", ["id=1"]))
        }
        #expect(Self.ask(table, "/sessions/a") == .endpoint("/sessions/{id}", ["id=a"]))
        #expect(Self.ask(table, "/sessions/a", host: 1) == .none)
        let settings = Self.hosts.hosts.map(\.settings)
        #expect(table.takenPaths(of: settings[0]) == ["/.sallyport/login", "/.sallyport/x/{id}", "/sessions/{id}"])
        #expect(table.takenPaths(of: settings[1]) == ["/.sallyport/login", "/.sallyport/x/{id}"])
    }

    @Test("A route is dead where one endpoint has all of its paths")
    func deadRoutes() throws {
        let table = try Self.table([
            Self.endpoint("/self-service/**", "GET"), Self.endpoint("/sessions/{id}", "GET"),
            Self.endpoint("/oauth/token", "POST"), Self.endpoint("/.sallyport/login", "GET", scope: .everyHost),
        ])
        let hosts = Self.hosts.hosts.map(\.settings)
        func isDead(_ path: String, host: Int = 0) -> Bool { table.scope(taking: path, on: hosts[host]) != nil }
        for path in [
            "/self-service/**", "/self-service/login", "/self-service/*/a", "/self-service/a/**", "/sessions/a",
            "/sessions/*", "/oauth/token",
        ] {
            #expect(isDead(path) && !isDead(path, host: 1), "\(path)")
        }
        #expect(isDead("/.sallyport/login") && isDead("/.sallyport/login", host: 1))
        for path in [
            "/**", "/", "/*", "/*/**", "/self-service", "/self-service2/**", "/sessions", "/sessions/**",
            "/sessions/a/b",
            "/sessions/", "/oauth/**", "/oauth/*", "/oauth/token/", "/oauth/token/**", "/OAuth/token",
        ] {
            #expect(!isDead(path), "\(path)")
        }
    }

    @Test("The app of a host has the paths of endpoints that have no job there")
    func jobs() throws {
        let endpoints = [
            Self.endpoint("/sessions", "GET", scope: .hostsWith(.nativeApps)),
            Self.endpoint("/authorize", "GET", scope: .hostsWith(.clients)),
            Self.endpoint("/.sallyport/login", "GET", scope: .everyHost),
        ]
        func served(_ jobs: EndpointGroups, endpoints isServed: Bool = true) throws -> [String] {
            var host = HostSettings(publicURL: Gate.app, endpoints: isServed, routes: [route("/**", .required)])
            host.jobs = jobs
            let table = RouteTable([host], upstreams: ["app"])
            let own = try EndpointTable(endpoints, forwarding: [], on: table, upstreams: ["app"])
            let answered = endpoints.map(\.path).filter { path in
                withReading(Array(path.utf8)) { outcome in
                    guard case .read(let reading) = outcome else { return false }
                    let match = Array("GET".utf8).withUnsafeBufferPointer {
                        own.match(reading, method: $0, host: table.hosts[0])
                    }
                    if case .endpoint = match { return true }
                    return false
                }
            }
            #expect(answered.sorted() == own.takenPaths(of: host))
            return answered
        }
        #expect(try served(.all) == ["/sessions", "/authorize", "/.sallyport/login"])
        #expect(try served([]) == ["/.sallyport/login"])
        #expect(try served(.nativeApps) == ["/sessions", "/.sallyport/login"])
        #expect(try served(.clients) == ["/authorize", "/.sallyport/login"])
        #expect(try served(.all, endpoints: false) == ["/.sallyport/login"])
    }

    @Test("A host that names apps has the documents for it, with or without the other endpoints")
    func namingApps() throws {
        func names(_ host: HostSettings) throws -> Bool {
            let table = RouteTable([host], upstreams: ["app"])
            let endpoints = try EndpointTable(
                [Self.endpoint("/.well-known/x", "GET", scope: .appLinkHosts)],
                forwarding: [],
                on: table,
                upstreams: ["app"]
            )
            let taken = endpoints.takenPaths(of: host)
            #expect(taken == (host.namesApps ? ["/.well-known/x"] : []))
            return withReading(Array("/.well-known/x".utf8)) { outcome in
                guard case .read(let reading) = outcome else { return false }
                let match = Array("GET".utf8).withUnsafeBufferPointer {
                    endpoints.match(reading, method: $0, host: table.hosts[0])
                }
                if case .endpoint = match { return true }
                return false
            }
        }
        for settings in Self.hosts.hosts.map(\.settings) {
            var host = settings
            #expect(try !names(host))
            host.namesApps = true
            #expect(try names(host))
        }
    }

    @Test("A path longer than any literal one can still match an endpoint")
    func longPaths() throws {
        let long = String(repeating: "x", count: 300)
        let table = try Self.table([Self.endpoint("/\(long)", "GET"), Self.endpoint("/a/{id}", "GET")])
        #expect(Self.ask(table, "/\(long)") == .endpoint("/\(long)", []))
        #expect(Self.ask(table, "/\(long)y") == .none)
        #expect(Self.ask(table, "/a/\(long)") == .endpoint("/a/{id}", ["id=\(long)"]))
    }

    @Test("A forwarding endpoint is a public route of its host to the provider")
    func forwarding() throws {
        let table = try Self.table(
            [Self.endpoint("/sessions/whoami", "GET")],
            forwarding: [ForwardingEndpoint(path: "/sessions/{id}", methods: ["GET", "DELETE"], upstream: "provider")]
        )
        let route = "auth.example.com/sessions/{id}"
        #expect(Self.ask(table, "/sessions/whoami") == .endpoint("/sessions/whoami", []))
        #expect(Self.ask(table, "/sessions/a") == .forward(route: route, upstream: 1))
        #expect(Self.ask(table, "/sessions/a", "DELETE") == .forward(route: route, upstream: 1))
        #expect(Self.ask(table, "/sessions/a", "POST") == .methodNotAllowed("GET, DELETE"))
        #expect(Self.ask(table, "/sessions/%61") == .refused(.pathAmbiguous))
        #expect(Self.ask(table, "/sessions/a", host: 1) == .none)
        #expect(table.takenPaths(of: Self.hosts.hosts[0].settings).contains("/sessions/{id}"))
        #expect(table.routes.map(\.index) == [Self.hosts.entries.count])
        #expect(table.routes.allSatisfy { $0.settings.auth == .public && !$0.settings.handoff && $0.maxBody == nil })
    }

    @Test("An endpoint cannot forward to an upstream that does not exist")
    func unknownUpstream() {
        let endpoint = ForwardingEndpoint(path: "/x", methods: ["GET"], upstream: "nowhere")
        #expect(throws: EndpointTable.UnknownUpstream.self) { try Self.table([], forwarding: [endpoint]) }
    }
}
