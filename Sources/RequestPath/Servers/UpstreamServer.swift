package import NIOCore
import Observability
package import Settings
import Synchronization
package import Transport
import Vocabulary

/// One server of an app, shared by all loops: the addresses of its name, and what the loops share about its health. If
/// the name has several addresses, each is a server of its own (`places`).
package final class UpstreamServer: Sendable {
    package let settings: ServerSettings
    /// The server's name for the operator: its URL in the settings, with its address if the name has several addresses.
    package let name: String
    /// The server's address if its name has several addresses. `nil` otherwise.
    package let place: String?
    /// The server's own origin, as the app may write it in `Location`.
    package let origin: [UInt8]
    /// The name for SNI and verification. `nil` for an address without `server_name` (RFC 6066 3).
    let tlsName: String?
    /// The certificate's name in the settings. `nil` if the settings have none.
    private let givenName: String?
    /// Remembers the addresses of the name that do not answer.
    let memory = AddressMemory()
    /// What the loops share about the server's health.
    package let news = ServerNews()
    /// The server's hash for `ServerChoice`, equal in every gateway.
    let hash: UInt64
    /// The attributes of the server and its app in spans of requests to it.
    let spanRun: SpanRun
    private let names: AppNames
    private let upstream: String
    /// The name to resolve. `nil` if the server has a fixed address.
    private let hostName: HostName?
    private let state: Mutex<State>
    /// A copy of the version in `state`. Loops read the copy without the lock.
    private let version = Atomic<UInt32>(0)
    /// A number that changes with `places`.
    private let placesVersion = Atomic<UInt32>(0)
    /// Resolves the name of this address again. `nil` unless the server is one address of a name.
    private let refreshName: (@Sendable (NIODeadline) -> Void)?

    private struct State {
        var name: NameState
        /// The servers of the name's addresses. Empty if the name is one server.
        var places: [UpstreamServer] = []
        /// The callbacks that wait for the first addresses.
        var waiting: [@Sendable (Addresses) -> Void] = []
    }

    /// A server's addresses and their version.
    struct Addresses: Sendable {
        static let none = Addresses()
        let all: [SocketAddress]
        let version: UInt32
        /// The oldest version whose connections may still be used.
        let oldest: UInt32

        private init() { (self.all, self.version, self.oldest) = ([], 0, 0) }

        init(_ name: NameState) {
            self.all = name.addresses
            self.version = name.version
            self.oldest = name.oldest
        }
    }

    /// - Parameters:
    ///   - upstream: The app that the server belongs to.
    ///   - name: The expected name in the server's certificate. `nil` for the server's host.
    init(_ settings: ServerSettings, of upstream: UpstreamSettings, name: String?, names: AppNames) {
        self.settings = settings
        self.upstream = upstream.name
        self.names = names
        self.givenName = name
        self.name = settings.origin
        self.place = nil
        self.refreshName = nil
        self.origin = Array(settings.urlOrigin.utf8)
        self.hash = StickyKey.hash(settings.origin.utf8)
        self.spanRun = Self.spanRun(settings, of: upstream.name)
        let host = settings.host
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        if let path = settings.socketPath {
            self.hostName = nil
            self.tlsName = name
            // The settings accept no path that is too long.
            let address = try? SocketAddress(unixDomainSocketPath: path)
            self.state = Mutex(State(name: NameState(fixed: [address].compactMap(\.self))))
        } else if let address = try? SocketAddress(ipAddress: bare, port: settings.port) {
            self.hostName = nil
            self.tlsName = name
            self.state = Mutex(State(name: NameState(fixed: [address])))
        } else {
            self.hostName = HostName(host, port: settings.port)
            self.tlsName = name ?? host
            self.state = Mutex(State(name: NameState(period: TimeAmount(upstream.dnsRefresh))))
        }
    }

    /// Creates the server for one address of a name that has several addresses.
    ///
    /// - Parameter addresses: The server's own address, then other ways to it.
    private init(
        _ name: UpstreamServer,
        at addresses: [SocketAddress],
        _ refresh: @escaping @Sendable (NIODeadline) -> Void
    ) {
        let place = Self.text(addresses)
        self.settings = name.settings
        self.upstream = name.upstream
        self.names = name.names
        self.givenName = name.givenName
        self.name = "\(name.name) (\(place))"
        self.place = place
        self.origin = name.origin
        self.hash = StickyKey.hash("\(name.name) \(place)".utf8)
        self.spanRun = Self.spanRun(name.settings, of: name.upstream)
        self.tlsName = name.tlsName
        self.hostName = nil
        self.refreshName = refresh
        self.state = Mutex(State(name: NameState(fixed: addresses)))
    }

    private static func spanRun(_ settings: ServerSettings, of upstream: String) -> SpanRun {
        SpanRun { span in
            if let path = settings.socketPath {
                span.attribute("server.address", path)
            } else {
                span.attribute("server.address", settings.host)
                span.attribute("server.port", settings.port)
            }
            span.attribute("sallyport.upstream", upstream)
        }
    }

    private static func text(_ addresses: [SocketAddress]) -> String { addresses.first?.ipAddress ?? "" }

    /// Returns whether the settings describe this server, with the same name in its certificate. The weight may differ.
    func isSame(as other: ServerSettings, _ name: String?) -> Bool {
        var other = other
        other.weight = self.settings.weight
        other.serverName = self.settings.serverName
        return self.settings == other && self.givenName == name
    }

    /// Adopts changed settings of the app.
    func adopt(_ upstream: UpstreamSettings) {
        self.state.withLock { $0.name.period = TimeAmount(upstream.dnsRefresh) }
    }

    /// Marks all existing connections as outdated, so that no new exchange uses them.
    func outdateConnections() {
        self.state.withLock { state in
            state.name.outdate()
            self.version.store(state.name.version, ordering: .relaxed)
            for place in state.places { place.outdateConnections() }
        }
    }

    // MARK: Places

    /// Returns the current servers: this server, or one server for each address if its name has several.
    ///
    /// - Parameter limit: The maximum number of servers to return. Further addresses are not used. If 1, the result is
    ///   this server with all its addresses.
    package func places(limit: Int) -> [UpstreamServer] {
        let places = self.state.withLock { $0.places }
        return places.isEmpty || limit < 2 ? [self] : Array(places.prefix(limit))
    }

    /// A number that changes with `places`.
    var currentPlacesVersion: UInt32 { self.placesVersion.load(ordering: .acquiring) }

    /// Makes the servers of the name's current addresses. Keeps the server of an address that stays.
    private func setPlaces(_ state: inout State) {
        let split = NamePlaces.split(state.name.addresses, limit: ServerSettings.limit)
        guard !split.isEmpty || !state.places.isEmpty else { return }
        let former = state.places
        state.places = split.map { addresses in
            guard let same = former.first(where: { $0.place == Self.text(addresses) }) else {
                return UpstreamServer(self, at: addresses) { [weak self] now in self?.refreshSoon(now: now) }
            }
            same.state.withLock { other in
                other.name.fix(addresses)
                same.version.store(other.name.version, ordering: .relaxed)
            }
            return same
        }
        let isSame = former.count == state.places.count && zip(former, state.places).allSatisfy { $0 === $1 }
        if !isSame { self.placesVersion.add(1, ordering: .releasing) }
    }

    // MARK: Addresses

    /// The last addresses. Empty until the name has been resolved once.
    var current: Addresses { self.state.withLock { Addresses($0.name) } }

    /// The version of the addresses.
    var currentVersion: UInt32 { self.version.load(ordering: .relaxed) }

    /// The state of the name. `nil` if the server has a fixed address.
    package var nameState: NameState? { self.hostName.map { _ in self.state.withLock { $0.name } } }

    /// Resolves the name in the background if its interval is over.
    package func refreshIfDue(now: NIODeadline) {
        guard let name = self.hostName else { return }
        let begins = self.state.withLock { $0.name.begin(now: now) }
        if begins { self.lookUp(name, isAwaited: false) }
    }

    /// Resolves the name again in the background, but at most once a second.
    package func refreshSoon(now: NIODeadline) {
        guard self.hostName != nil else {
            self.refreshName?(now)
            return
        }
        self.state.withLock { $0.name.doubt() }
        self.refreshIfDue(now: now)
    }

    /// Resolves the name for requests that need its first addresses.
    ///
    /// - Parameters:
    ///   - patience: The longest time for which requests wait for one lookup.
    ///   - then: Called on another thread, with no addresses if none exist.
    /// - Returns: False if there is no name, or its lookup has failed or takes too long. In these cases, `then` is not
    ///   called.
    func resolveFirst(now: NIODeadline, patience: TimeAmount, _ then: @escaping @Sendable (Addresses) -> Void)
        -> Bool
    {
        guard let name = self.hostName else { return false }
        let (begins, waits) = self.state.withLock { state in
            state.name.doubt()
            let begins = state.name.begin(now: now)
            let waits = state.name.isWorthWaiting(now: now, patience: patience)
            if waits { state.waiting.append(then) }
            return (begins, waits)
        }
        if begins { self.lookUp(name, isAwaited: true) }
        return waits
    }

    private func lookUp(_ name: HostName, isAwaited: Bool) {
        let isFirst = isAwaited || self.state.withLock { $0.name.addresses.isEmpty }
        self.names.resolver.resolve(name, isAwaited: isFirst) { self.take($0) }
    }

    private func take(_ answer: NameResolver.Answer) {
        let (change, addresses, waiting) = self.state.withLock { state in
            defer { state.waiting = [] }
            let change = state.name.finish(answer, now: .now())
            self.version.store(state.name.version, ordering: .relaxed)
            if case .moved = change { self.setPlaces(&state) }
            return (change, Addresses(state.name), state.waiting)
        }
        for then in waiting { then(addresses) }
        let isResolved = if case .success = answer { true } else { false }
        self.names.notify(
            NameNotice(upstream: self.upstream, server: self.settings.origin, change: change, isResolved: isResolved)
        )
    }
}

/// How the names of apps are resolved, and where the results are reported.
package struct AppNames: Sendable {
    let resolver: NameResolver
    let notify: @Sendable (NameNotice) -> Void

    /// The process's resolver for the names of apps, with two threads.
    private static let shared = NameResolver("app-names", lanes: 2)

    /// - Parameters:
    ///   - resolver: The resolver of the names. `nil` for the process's resolver.
    ///   - notify: Called after each lookup, on a thread of the resolver.
    package init(resolver: NameResolver? = nil, notify: @escaping @Sendable (NameNotice) -> Void = { _ in }) {
        self.resolver = resolver ?? Self.shared
        self.notify = notify
    }
}

/// What the loops share about the health of a server: ejections and their ends, and the results of health checks.
package final class ServerNews: Sendable {
    private struct State {
        /// The number of loops that have ejected the server.
        var loops = 0
        var isOut = false
        var isDown = false
        var backAt = NIODeadline.uptimeNanoseconds(0)
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a loop has ejected the server, and no such loop has found it back since.
    package var isOut: Bool { self.state.withLock { $0.isOut } }

    /// Whether health checks find the server down (`HealthSettings`).
    package var isDown: Bool { self.state.withLock { $0.isDown } }

    /// When the server last came back.
    package var backAt: NIODeadline { self.state.withLock { $0.backAt } }

    /// Called when a loop ejects the server, perhaps again. Returns true if the operator is to be notified.
    package func leaves(again: Bool) -> Bool {
        self.state.withLock { state in
            defer { state.isOut = true }
            if !again { state.loops += 1 }
            return !state.isOut && !state.isDown
        }
    }

    /// Called when a loop that had ejected the server has found it back. Returns true if the operator is to be
    /// notified.
    package func returns(now: NIODeadline) -> Bool {
        self.state.withLock { state in
            state.loops -= 1
            guard state.isOut else { return false }
            state.isOut = false
            state.backAt = now
            return !state.isDown
        }
    }

    /// Called when a loop that has ejected the server no longer uses it. The last such loop clears `isOut`.
    package func forgets() {
        self.state.withLock { state in
            state.loops -= 1
            if state.loops == 0 { state.isOut = false }
        }
    }

    /// Called when health checks have decided, or with false once the server has no checks. Returns true if the
    /// operator is to be notified.
    package func found(isDown: Bool) -> Bool {
        self.state.withLock { state in
            defer { state.isDown = isDown }
            return state.isDown != isDown && !state.isOut
        }
    }
}

/// A notice for the operator that a server has been ejected or is back.
package struct ServerNotice: Sendable, Equatable {
    /// The reason why a server was ejected.
    package enum Fault: Error, Equatable {
        case unreachable
        case reset
        case tls
        /// The server answers with 502, 503 or 504.
        case status(Int)
        /// Health checks fail, the last one for this reason.
        case check(CheckFault)
        case malformed
        case timeout

        /// The reason for rejecting a request that no other server can handle.
        var reason: Reason {
            switch self {
            case .tls: .upstreamTLS
            case .reset: .upstreamReset
            case .malformed: .upstreamMalformed
            case .timeout: .upstreamTimeout
            case .unreachable, .status, .check: .upstreamUnreachable
            }
        }

        /// The fault as a clause about the server, for operators.
        package var sentence: String {
            switch self {
            case .unreachable: "it cannot be connected to"
            case .reset: "it closes connections before it answers"
            case .tls: "TLS with it does not come about"
            case .status(let status): "it answers with \(status)"
            case .check(let fault): "its health checks fail: \(fault.sentence)"
            case .malformed: "its answer cannot be passed on"
            case .timeout: "it does not answer in time"
            }
        }
    }

    /// The app's name in the settings.
    package let upstream: String
    /// The server's URL in the settings.
    package let server: String
    /// The reason why the server was ejected. `nil` if the server is back.
    package let fault: Fault?
}

/// The reason why a health check failed.
package enum CheckFault: Equatable, Sendable {
    /// No connection to the server could be made.
    case unreachable
    /// The gateway had no file descriptor or no local port left, which says nothing about the server.
    case notMade
    /// The TLS handshake with the server failed.
    case tls
    /// The answer has this status, which the settings do not accept.
    case status(Int)
    /// The answer is not HTTP/1, or its head does not end.
    case malformed
    /// The server closed the connection before it answered.
    case closed
    /// No answer came within `health.timeout`.
    case timeout

    /// The fault as a clause for operators. It follows "its health checks fail: ".
    package var sentence: String {
        switch self {
        case .unreachable, .notMade: "it cannot be connected to"
        case .tls: "TLS with it fails"
        case .status(let status): "the answer is \(status)"
        case .malformed: "the answer is not HTTP"
        case .closed: "it closes the connection before it answers"
        case .timeout: "no answer comes within health.timeout"
        }
    }
}

/// One loop's view of one server of an app.
package struct ServerReport: Sendable, Equatable {
    package let upstream: String
    /// The server's URL in the settings.
    package let server: String
    /// The server's address if its name has several addresses. `nil` otherwise.
    package let place: String?
    package let isOut: Bool
    package let inFlight: Int
    package let idle: Int
    /// The number of times that this loop was the first to eject the server.
    package let ejections: Int
}
