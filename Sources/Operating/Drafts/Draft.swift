package import AddressIntelligence
import Endpoints
package import RequestPath
package import Sessions
import Settings
package import SignOn
package import Vocabulary

/// A gateway that is assembled like any other, but never started, for `check` and `explain`. It opens the files in the
/// settings, but no sockets.
package struct Draft {
    /// The configuration for judging requests.
    let configuration: PathConfiguration
    /// A store in memory. It has at most one session.
    let records: RecordAccess
    let keys: ProcessKeys
    let clients: ClientRegistry
    /// What the event loops use to look up sessions.
    let parties: SessionParties
    let asn: ASNDirectory?
    let geo: GeoDirectory?
    /// Returns the values of a session that cannot be sent to apps in header fields.
    let unfit: (Realm, Session) -> [String]

    package init(
        configuration: PathConfiguration,
        records: RecordAccess,
        keys: ProcessKeys,
        clients: ClientRegistry,
        parties: SessionParties,
        asn: ASNDirectory?,
        geo: GeoDirectory?,
        unfit: @escaping (Realm, Session) -> [String]
    ) {
        self.configuration = configuration
        self.records = records
        self.keys = keys
        self.clients = clients
        self.parties = parties
        self.asn = asn
        self.geo = geo
        self.unfit = unfit
    }

    var settings: Settings { self.configuration.settings }

    /// Warnings about routes, callbacks, and values of static users that apps would not get.
    var findings: [String] {
        self.configuration.routes.findings.filter { !$0.isError }.map(\.description)
            + self.settings.providers.flatMap(self.findings(of:))
            + self.configuration.routes.hosts.flatMap(self.findings(of:))
    }

    private func findings(of host: HostEntry) -> [String] { self.deadRoutes(of: host) + self.closedCallbacks(of: host) }

    /// Warns about routes that get no requests, because the gateway answers all of their paths itself.
    private func deadRoutes(of host: HostEntry) -> [String] {
        host.settings.routes.compactMap { route in
            let endpoints = self.configuration.endpoints
            guard let scope = endpoints.scope(taking: route.path, on: host.settings) else { return nil }
            let fix =
                switch scope {
                case .everyHost: "remove the route, or give the app other paths"
                case .appLinkHosts: "remove the route, or well_known: true"
                case .endpointHosts, .hostsWith: self.wayBack(from: self.takers(of: host.settings))
                }
            return
                "\(host.publicURL.authority) route \(route.name): no request gets here, because the gateway answers "
                + "\(route.path) itself: \(fix)"
        }
    }

    /// Warns about https callbacks that phones cannot open in the app. Apple and Google must be able to fetch a
    /// document from the host without a session.
    private func closedCallbacks(of host: HostEntry) -> [String] {
        guard !host.settings.namesApps else { return [] }
        var findings: [String] = []
        for (index, client) in self.settings.clients.enumerated() where client.isNativeApp {
            let platforms = [
                (AppLinkEndpoints.applePath, !client.iosAppIDs.isEmpty || client.androidApps.isEmpty),
                (AppLinkEndpoints.androidPath, !client.androidApps.isEmpty || client.iosAppIDs.isEmpty),
            ]
            let closed = platforms.filter { $0.1 && host.demandsSession(for: $0.0) }.map(\.0)
            guard client.hasCallback(on: host.settings, among: self.settings.hosts), !closed.isEmpty else {
                continue
            }
            findings.append(
                "clients[\(index)].callbacks: no app can open the https callback on \(host.publicURL.authority), because "
                    + "\(closed.joined(separator: " and ")) \(closed.count == 1 ? "needs" : "need") a session there; set "
                    + "well_known: true for the host and list the apps (ios_app_ids, android_apps), or add the route "
                    + "{path: /.well-known/**, auth: public} to an app that serves these documents"
            )
        }
        return findings
    }

    /// Lists the values of static users that cannot be sent in header fields, each once.
    private func findings(of provider: NamedProvider) -> [String] {
        guard let users = (provider.settings as? FixedUsersSettings)?.users else { return [] }
        let realm = Realm(provider.name)
        var findings: [String] = []
        for user in users {
            let session = AssumedUser(user, realm: realm).session(
                isNative: false,
                in: self.records.authority.newLineage(),
                self.settings.session,
                self.records
            )
            for finding in self.unfit(realm, session) where !findings.contains(finding) { findings.append(finding) }
        }
        return findings
    }

    /// Returns the plan for a proxy's configuration; `nil` if `authorization` is not set.
    func plan(for proxy: ProxyKind) -> ProxyPlan? {
        self.settings.authorization.map { authorization in
            ProxyPlan(self.settings, authorization, for: proxy) { self.ownPaths(of: $0) }
        }
    }

    /// Explains how the app of this host can get back paths that the gateway answers; `nil` if the host has no routes
    /// or no endpoints.
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

    /// Returns the settings that make the gateway answer paths of this host.
    private func takers(of host: HostSettings) -> [String] {
        (host.asksForEndpoints ? ["endpoints: true"] : self.settings.endpointKeys)
            + (self.ownPaths(of: host).contains("/schemas") ? ["provider.kratos"] : [])
    }

    private func wayBack(from keys: [String]) -> String {
        "taken because of \(keys.joined(separator: ", ")); to give them back to the app, set endpoints: true on a separate host without routes"
    }

    /// Returns the paths that the gateway answers itself on this host.
    func ownPaths(of host: HostSettings) -> [String] {
        self.configuration.endpoints.takenPaths(of: host)
    }
}
