import AddressIntelligence
import Cryptography
import EndpointBench
import Endpoints
import NIOPosix
import Pages
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// A gateway with three hosts: users sign in on the first, whose sessions serve the others.
final class HostBench: Sendable {
    static let a = "a.example.com"
    static let b = "b.example.com"
    static let c = "c.example.com:8443"

    let time = MovableClock(startingAt: UnixTime(seconds: 1_795_000_000))
    let store: ScriptedStore
    let audit = Ledger()
    let authority = TokenAuthority(secret: Gateway.secret)
    let keys = SealingKeyRing(current: Gateway.secret)
    let hosts: SignInHosts
    let sessions: SessionService
    let tickets: HostTickets
    let share: HandoffShare?
    private let records = Mutex<[AuditRecord]>([])
    private let isFull = Mutex(false)
    private let endpoints: Mutex<[Endpoint]>

    /// - Parameters:
    ///   - share: Whether `handoff.share` is on.
    ///   - binding: What the routes of `b` compare of a device.
    init(
        share: Bool = false,
        binding: BindingMode = .none,
        browser: (any BrowserProvider)? = nil
    ) throws {
        let clock = self.time.clock
        self.store = ScriptedStore(clock: clock)
        self.hosts = SignInHosts(
            [(Self.b, false), (Self.a, true), (Self.c, false)].map { authority, hasEndpoints in
                var route = RouteSettings(path: "/**", upstream: "app", auth: .required)
                if authority == Self.b { route.liveBinding = binding }
                return HostSettings(publicURL: Self.url(authority), endpoints: hasEndpoints, routes: [route])
            }
        )
        self.sessions = SessionService(
            records: RecordAccess(
                store: self.store,
                authority: self.authority,
                loops: MultiThreadedEventLoopGroup.singleton,
                clock: clock
            ),
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            journal: self.audit.journal
        )
        let limiter = LocalRateLimiter(clock: clock)
        self.endpoints = Mutex([])
        self.share = share ? HandoffShare(hosts: self.hosts, keys: self.keys) : nil
        let box = Box()
        self.tickets = HostTickets(
            hosts: self.hosts,
            sessions: self.sessions,
            keys: self.keys,
            limiter: limiter,
            journal: AuditJournal { record in box.bench?.take(record) ?? false }
        )
        let bob = UserSettings(
            identifier: "bob@example.com",
            id: "b0b",
            passwordHash: try Gateway.alice().passwordHash,
            traits: [:],
            aal: .aal2
        )
        let alice = try Gateway.alice()
        let kind =
            browser.map { browser in
                SignInWay.Kind.provider(
                    BrowserSignInFlow(
                        sessions: self.sessions,
                        provider: browser,
                        limiter: limiter,
                        keys: self.keys
                    )
                )
            }
            ?? .password(
                PasswordSignIn(
                    sessions: self.sessions,
                    provider: StaticProvider(users: [alice, bob]),
                    limiter: limiter,
                    familiar: FamiliarAddresses(),
                    accounts: AccountNames(Gateway.secret)
                )
            )
        let cookieName = SessionSettings().cookieName
        let parameter = "session_transfer_token"
        let way = SignInWay(kind, name: "default", button: ProviderButton(label: "The only one"))
        let browsers = BrowserSessionEndpoints(
            try #require(SignInWays([way])),
            sessions: self.sessions,
            cookieName: cookieName,
            handoffParameter: parameter
        )
        let all = HostSignInEndpoints(
            self.tickets,
            sessions: self.sessions,
            cookieName: cookieName,
            handoffParameter: parameter,
            share: self.share
        ).added(to: browsers.endpoints)
        self.endpoints.withLock { $0 = all }
        box.bench = self
    }

    /// Lets the journal of the tickets reach the bench that is being made.
    private final class Box: @unchecked Sendable {
        weak var bench: HostBench?
    }

    static func url(_ authority: String) -> PublicURL {
        let parts = authority.split(separator: ":")
        return PublicURL(isHTTPS: true, host: String(parts[0]), port: parts.count == 2 ? Int(parts[1]) : nil)
    }

    private func take(_ record: AuditRecord) -> Bool {
        if self.isFull.withLock({ $0 }) { return false }
        self.records.withLock { $0.append(record) }
        return true
    }

    /// From now on no record of a ticket fits.
    func fillJournal() { self.isFull.withLock { $0 = true } }

    /// What was recorded of tickets.
    var outcomes: [TicketAct] {
        self.records.withLock { records in
            records.compactMap { if case .ticket(let act) = $0.act { act } else { nil } }
        }
    }
    var last: AuditRecord? { self.records.withLock { $0.last } }

    /// The endpoint of a host at this path; nil: the path belongs to the app.
    func endpoint(_ path: String, on host: String) -> Endpoint? {
        self.endpoints.withLock { all in
            all.first { $0.path == path && ($0.scope == .everyHost || host == Self.a) }
        }
    }

    /// The live session of this cookie on a host.
    func session(_ cookie: String?, on host: String) async throws -> Session? {
        guard let cookie else { return nil }
        let requester = Requester(
            address: try #require(IPAddress("192.0.2.1")),
            userAgent: nil,
            authority: host,
            requestID: "r",
            cookies: [Secret(cookie)]
        )
        return try await self.sessions.presented(by: requester).first?.session
    }
}

/// A browser with the cookies of each host, which follows redirects.
struct HostBrowser {
    let bench: HostBench
    var jars: [String: BrowserJar] = [:]
    /// The address from which it asks each host; the same for all others.
    var addresses: [String: String] = [:]
    var keepsCookies = true
    /// Every URL of the last navigation.
    private(set) var trail: [String] = []

    init(_ bench: HostBench) {
        self.bench = bench
    }

    /// The end of a navigation: a page of the gateway, or the app's.
    enum Arrival {
        case page(EndpointResponse, url: String)
        case app(String)
        /// More redirects than a browser follows.
        case loop

        /// The URL of the app's page.
        var app: String? { if case .app(let url) = self { url } else { nil } }
        var page: EndpointResponse? { if case .page(let answer, _) = self { answer } else { nil } }
        var url: String? { if case .page(_, let url) = self { url } else { nil } }
    }

    /// The value of the session cookie on a host.
    func cookie(_ host: String) -> String? { self.jars[host]?["__Host-sallyport"] }

    /// The ids of the tickets that the browser waits for on a host.
    func nonces(_ host: String) -> [String] {
        let prefix = "__Host-sallyport-ticket-"
        return (self.jars[host]?.cookies.keys ?? [:].keys).filter { $0.hasPrefix(prefix) }.map {
            String($0.dropFirst(prefix.count))
        }.sorted()
    }

    func session(_ host: String) async throws -> Session? { try await self.bench.session(self.cookie(host), on: host) }

    /// One request, whose cookies are kept.
    mutating func send(
        _ method: String,
        _ url: String,
        fields: [(name: String, value: String)] = [("sec-fetch-mode", "navigate")],
        body: String = ""
    ) async throws -> EndpointResponse? {
        let (host, target) = Self.split(url)
        let path = String(target.prefix { $0 != "?" })
        guard let endpoint = self.bench.endpoint(path, on: host) else { return nil }
        guard endpoint.methods.contains(method) else { return EndpointResponse(status: 405) }
        let all = fields + (self.jars[host]?.fields ?? [])
        // A browser sends one field (RFC 6265 5.4).
        let cookies = all.filter { $0.name == "cookie" }.map(\.value).joined(separator: "; ")
        let fields = all.filter { $0.name != "cookie" } + (cookies.isEmpty ? [] : [("cookie", cookies)])
        let request = WireRequest(
            method,
            path,
            query: String(target.dropFirst(path.count + 1)),
            fields: fields,
            body: Array(body.utf8),
            from: try #require(IPAddress(self.addresses[host] ?? "192.0.2.1")),
            on: host
        )
        let response = await request.answer(of: endpoint)
        if self.keepsCookies { self.jars[host, default: BrowserJar()].take(response) }
        return response
    }

    /// Opens a URL and follows redirects.
    mutating func open(_ url: String) async throws -> Arrival {
        self.trail = []
        return try await self.follow(url)
    }

    private mutating func follow(_ first: String) async throws -> Arrival {
        var url = first
        for _ in 0..<20 {
            self.trail.append(url)
            guard let answer = try await self.send("GET", url) else { return .app(url) }
            guard answer.status == 303, let location = answer.value("location") else { return .page(answer, url: url) }
            #expect(answer.value("cache-control") == "no-store" && answer.value("referrer-policy") == "no-referrer")
            url = location.hasPrefix("/") ? "https://\(Self.split(url).host)\(location)" : location
        }
        return .loop
    }

    /// Opens the sign-in page of a host, as its judge would send the browser there.
    mutating func visit(
        _ host: String,
        _ returnTo: String = "/page",
        _ demand: SignInDemand = SignInDemand()
    ) async throws -> Arrival {
        try await self.open("https://\(host)\(SignInPath.leading(to: returnTo.utf8, demanding: demand))")
    }

    /// Submits the sign-in form of the page at `url`, and follows.
    mutating func submit(_ page: Arrival, as user: String = "alice") async throws -> Arrival {
        let answer = try #require(page.page)
        let host = Self.split(try #require(page.url)).host
        let returnTo = try #require(answer.text.firstMatch(of: /name="return_to" value="([^"]*)"/)?.1)
        let target = String(returnTo).replacing("&amp;", with: "&")
        let password = Gateway.password.replacing(" ", with: "+")
        let posted = try await self.send(
            "POST",
            "https://\(host)/.sallyport/login",
            fields: [
                ("content-type", "application/x-www-form-urlencoded"), ("origin", "https://\(host)"),
                ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "navigate"),
            ],
            body: "identifier=\(user)%40example.com&password=\(password)&return_to=\(PercentCoding.encoded(target))"
        )
        self.trail = []
        let location = try #require(posted?.value("location"), "\(posted?.text ?? "")")
        return try await self.follow(location.hasPrefix("/") ? "https://\(host)\(location)" : location)
    }

    /// Signs out on a host.
    mutating func signOut(_ host: String) async throws -> EndpointResponse {
        try #require(
            try await self.send(
                "POST",
                "https://\(host)/.sallyport/logout",
                fields: [
                    ("content-type", "application/x-www-form-urlencoded"), ("origin", "https://\(host)"),
                    ("sec-fetch-site", "same-origin"),
                ]
            )
        )
    }

    private static func split(_ url: String) -> (host: String, target: String) {
        let rest = url.dropFirst("https://".count)
        let host = rest.prefix { $0 != "/" }
        return (String(host), String(rest.dropFirst(host.count)))
    }
}
