import Endpoints
import Logging
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// The gateway that settings would make, assembled by the same code but never started. `check` and `explain` inspect
/// it. It opens the files that the settings name, and no socket.
struct Draft {
    let assembly: Assembly
    let foundations: Foundations

    /// - Throws: `StartRefusal` with the message of a start.
    init(_ loaded: LoadedSettings) throws {
        let settings = loaded.settings
        let keys = ProcessKeys(
            settings.secrets ?? SecretRing(current: Secret("a draft keeps no sessions: any secret does"))
        )
        let caches = SessionCaches()
        let group = try TransportGroup(count: 1)
        let store = MemoryStore(maxSessions: 1, maxMarkers: 1, clock: .system, caches: caches)
        self.foundations = Foundations(
            Backing(store, clock: .system),
            keys: keys,
            caches: caches,
            group: group,
            providerGroup: group,
            registry: MetricsRegistry(),
            audit: AuditStream(queue: nil),
            logger: .silent
        )
        self.assembly = try Assembly(loaded, self.foundations, generation: 1)
    }

    /// What is not as it may be meant, and no error: in the route table, and in what apps learn of the users in the settings.
    var findings: [String] {
        self.assembly.configuration.routes.findings.filter { !$0.isError }.map(\.description)
            + self.assembly.realms.flatMap(self.findings(of:))
            + self.assembly.configuration.routes.hosts.flatMap(self.findings(of:))
    }

    private func findings(of host: HostEntry) -> [String] { self.deadRoutes(of: host) + self.closedCallbacks(of: host) }

    /// The routes of this host that get no request, because the gateway answers all of their paths itself.
    private func deadRoutes(of host: HostEntry) -> [String] {
        host.settings.routes.compactMap { route in
            let endpoints = self.assembly.configuration.endpoints
            guard let scope = endpoints.scope(taking: route.path, on: host.settings) else { return nil }
            let mend =
                switch scope {
                case .everyHost: "remove the route, or let the app have other paths"
                case .appNamingHosts: "remove the route, or well_known: true"
                case .endpointHosts, .hostsWith: self.wayBack(from: self.takers(of: host.settings))
                }
            return
                "\(host.publicURL.authority) route \(route.name): no request gets here, because the gateway answers "
                + "\(route.path) itself: \(mend)"
        }
    }

    /// The https callbacks of native apps on this host that no phone opens in the app, because its maker cannot fetch
    /// whose they are.
    private func closedCallbacks(of host: HostEntry) -> [String] {
        guard !host.settings.namesApps else { return [] }
        var findings: [String] = []
        for (index, client) in self.assembly.settings.clients.enumerated() where client.isNativeApp {
            let platforms = [
                (AppNamingEndpoints.applePath, !client.iosAppIDs.isEmpty || client.androidApps.isEmpty),
                (AppNamingEndpoints.androidPath, !client.androidApps.isEmpty || client.iosAppIDs.isEmpty),
            ]
            let closed = platforms.filter { $0.1 && host.demandsSession(for: $0.0) }.map(\.0)
            guard client.hasCallback(on: host.settings, among: self.assembly.settings.hosts), !closed.isEmpty else {
                continue
            }
            findings.append(
                "clients[\(index)].callbacks: no app can take the https callback on \(host.publicURL.authority), because "
                    + "\(closed.joined(separator: " and ")) \(closed.count == 1 ? "needs" : "need") a session there; write "
                    + "well_known: true for the host and name the apps (ios_app_ids, android_apps), or add the route "
                    + "{path: /.well-known/**, auth: public} to an app that has these documents"
            )
        }
        return findings
    }

    /// What of the users in the settings cannot be in fields, each once.
    private func findings(of realm: AssembledRealm) -> [String] {
        guard case .fixedUsers(let users)? = realm.named?.settings else { return [] }
        var findings: [String] = []
        for user in users {
            let session = AssumedUser(user, realm: realm.realm).session(
                isNative: false,
                in: self.foundations.authority.newLineage(),
                self.assembly.settings.session,
                self.foundations
            )
            for finding in realm.unfit.findings(of: session) where !findings.contains(finding) {
                findings.append(finding)
            }
        }
        return findings
    }

    /// What the configuration of a proxy says for these settings; `nil` if no proxy may ask.
    func plan(for proxy: ProxyKind) -> ProxyPlan? {
        self.assembly.settings.authorization.map { authorization in
            ProxyPlan(self.assembly.settings, authorization, for: proxy) { self.ownPaths(of: $0) }
        }
    }

    /// How the app of a host gets the paths that the gateway takes outside of `/.sallyport/`, or which of them it has;
    /// `nil` if the host has no app or no endpoints.
    func wayBack(of host: HostSettings) -> String? {
        guard host.endpoints, !host.routes.isEmpty else { return nil }
        let own = Set(self.ownPaths(of: host))
        let taken = "those outside of /.sallyport/ are \(self.wayBack(from: self.takers(of: host)))"
        if own.contains("/userinfo") { return taken }
        let left = "the app has /authorize, /oauth/**, /userinfo and /v2/logout, because there are no clients"
        guard own.contains("/sessions") else {
            return left + "; and /sessions/** and /self-service/**, because there are no native apps"
        }
        return "\(left); \(taken)"
    }

    /// The keys because of which the gateway takes paths from the app of this host.
    private func takers(of host: HostSettings) -> [String] {
        (host.asksForEndpoints ? ["endpoints: true"] : self.assembly.settings.endpointKeys)
            + (self.ownPaths(of: host).contains("/schemas") ? ["provider.kratos"] : [])
    }

    private func wayBack(from keys: [String]) -> String {
        "taken because of \(keys.joined(separator: ", ")); to give them back to the app, write endpoints: true on a host of its own, without routes"
    }

    /// The paths that the app of this host does not get.
    func ownPaths(of host: HostSettings) -> [String] {
        self.assembly.configuration.endpoints.takenPaths(of: host)
    }
}
