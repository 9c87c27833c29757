import AddressIntelligence
import Pages
import RequestPath
import Settings

/// What goes into the configuration of a proxy that asks the gateway about each request (forward auth).
struct ProxyPlan {
    /// A host of the configuration.
    struct Host {
        let url: PublicURL
        /// A regular expression (PCRE and RE2) for the paths that the gateway answers itself.
        let ownPaths: String
        /// Regular expressions for paths with another app, the most specific first.
        let otherApps: [(paths: String, app: App)]
        /// The app for all other paths.
        let app: App
        /// A path with different apps for different methods; `nil` if there is none.
        let dividedPath: String?
        /// The host's name in variables and lists: letters, digits and `_`.
        let label: String
        /// For a wildcard: the other configured hosts that it would match.
        var others: [(url: PublicURL, label: String)] = []

        /// The proxy's port for this host.
        var port: Int { self.url.port ?? (self.url.isHTTPS ? 443 : 80) }
        var apps: [App] { self.otherApps.map(\.app) + [self.app] }
        /// The TLS files for the host's apps; `nil` if the apps have different files.
        var appFiles: App.Files? {
            let files = Set(self.apps.filter(\.isHTTPS).map(\.files))
            return files.count > 1 ? nil : files.first ?? App.Files(authority: nil, certificate: nil, key: nil)
        }
        /// The file name of the host's certificate, without extension.
        var certificateName: String { self.url.isWildcard ? "wildcard\(self.url.host.dropFirst())" : self.url.host }
        /// A regular expression for the names that a wildcard covers. Contains no backslashes, because some
        /// configurations interpret them.
        var nameExpression: String {
            "^[a-z0-9]([a-z0-9-]*[a-z0-9])?\(self.url.host.dropFirst().replacing(".", with: "[.]"))$"
        }
        /// True if the app gets the configured host name. With a wildcard, it gets the requested name.
        var isNamed: Bool { !self.url.isWildcard }
        /// The host name for YAML. A wildcard is quoted, because `*` begins an alias in YAML.
        var quotedName: String { self.url.isWildcard ? "\"\(self.url.host)\"" : self.url.host }
    }

    let hosts: [Host]
    /// The apps of all hosts, without duplicates.
    let apps: [App]
    /// The gateway's address for its own paths.
    let gateway: ListenAddress
    /// The gateway's address for checks.
    let checks: ListenAddress
    /// The TLS settings for checks; `nil` for checks without TLS.
    let checksTLS: ChecksTLS?
    let settings: Settings
    let authorization: AuthorizationSettings
    /// The names of the identity fields. The app must never receive a client's fields with these names.
    let fields: [String]
    let managed: ManagedNames
    let proxy: ProxyKind

    /// - Parameters:
    ///   - proxy: The proxy to configure.
    ///   - ownPaths: Returns the paths that the gateway answers itself on a host.
    init(
        _ settings: Settings,
        _ authorization: AuthorizationSettings,
        for proxy: ProxyKind,
        ownPaths: (HostSettings) -> [String]
    ) {
        self.settings = settings
        self.authorization = authorization
        self.proxy = proxy
        let listener = settings.listen.first(where: Self.isPlain) ?? settings.listen[0]
        self.gateway = Self.reachable(listener.address)
        self.checks = Self.reachable(authorization.listen.address)
        self.checksTLS = ChecksTLS(settings, authorization)
        let identity = IdentityProfile(settings.identity)
        var fields = identity.fields.map(\.name)
        if settings.identity.basic != nil { fields.append("Authorization") }
        if settings.identity.assertion != nil { fields.append(AssertionSigner.field) }
        self.fields = fields
        self.managed = identity.managed
        var (hostLabels, appLabels) = (ProxyLabels(), ProxyLabels())
        var hosts = settings.hosts.map { host in
            Self.host(host, settings.upstreams, ownPaths(host), proxy.pathSyntax, &hostLabels, &appLabels)
        }
        for index in hosts.indices where hosts[index].url.isWildcard {
            let wildcard = hosts[index]
            hosts[index].others = hosts.lazy.filter { $0.port == wildcard.port && wildcard.url.hasName($0.url.host) }
                .map { ($0.url, $0.label) }
        }
        self.hosts = hosts
        var apps: [App] = []
        for app in self.hosts.flatMap(\.apps) where !apps.contains(app) { apps.append(app) }
        self.apps = apps
    }

    /// Explains why no equivalent configuration exists; `nil` if there is one.
    var fault: String? {
        if !self.settings.listen.contains(where: Self.isPlain) {
            return
                "the proxy forwards requests for Sallyport's own paths, but every address of listen has TLS or proxy_protocol: add one without, such as {address: \"127.0.0.1:8080\", tls: false}"
        }
        if self.checksTLS?.asksForCertificate == true, !self.proxy.showsCertificate {
            return
                "authorization.peer_certificate: \(self.proxy.rawValue) presents no certificate when it asks: remove the key, and identify the proxy by authorization.peers and the network"
        }
        if let field = self.fields.first(where: { !$0.utf8.allSatisfy(Self.isPlain) }) {
            return "identity.headers: proxies cannot write \(field): use letters, digits, - and _"
        }
        let names = Set(self.settings.hosts.flatMap { $0.routes.compactMap(\.upstream) })
        if let app = self.settings.upstreams.first(where: { $0.hasSocket && names.contains($0.name) }) {
            return
                "the app \(app.name) is behind a socket of this machine, which is not printed: write it by hand, or give the app an address"
        }
        if let path = self.hosts.lazy.compactMap(\.dividedPath).first {
            return
                "the path \(path) leads to different apps depending on the method, which is not printed: write it by hand"
        }
        return nil
    }

    /// True if a proxy can forward requests to this listener: HTTP/1 without TLS and PROXY protocol.
    private static func isPlain(_ listener: ListenerSettings) -> Bool {
        !listener.isSecure && listener.proxyProtocol == nil && listener.protocols.contains(.http1)
    }

    /// True for a letter, a digit, `-` or `_`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    var ports: [Int] { Set(self.hosts.map(\.port)).sorted() }

    /// Returns an address to connect to. An unspecified address becomes loopback.
    private static func reachable(_ address: ListenAddress) -> ListenAddress {
        let isEvery = address.host.isEmpty || IPAddress(address.host)?.isUnspecified == true
        return isEvery ? ListenAddress(host: "127.0.0.1", port: address.port) : address
    }

    private static func host(
        _ host: HostSettings,
        _ upstreams: [UpstreamSettings],
        _ ownPaths: [String],
        _ syntax: PathSyntax,
        _ hostLabels: inout ProxyLabels,
        _ appLabels: inout ProxyLabels
    ) -> Host {
        let folders = [PageDesign.ownPages, PageDesign.oauth2ProxyBase + PageDesign.ownPages].filter { folder in
            ownPaths.contains { $0.hasPrefix(folder) }
        }
        let paths = ownPaths.filter { path in !folders.contains { path.hasPrefix($0) } }
        let own = (folders.map { $0 + "**" } + paths).map { syntax.ownPath($0) }.joined(separator: "|")
        let routes = host.routes.sorted { self.precedes($0.path, $1.path) }
        // A route without an app gets the app of the least specific path that has one.
        let main = routes.last { $0.upstream != nil }?.upstream
        var apps: [(path: String, app: App)] = []
        var dividedPath: String?
        for route in routes {
            let upstream = upstreams.first { $0.name == route.upstream ?? main }
            let app =
                upstream.map { self.app($0, &appLabels) }
                ?? App(label: appLabels.label(of: "host \(host.publicURL)", as: host.publicURL.authority))
            if let last = apps.last, last.path == route.path {
                if last.app != app { dividedPath = route.path }
            } else {
                apps.append((route.path, app))
            }
        }
        // A name in Kubernetes must begin with a letter or a digit.
        let name =
            host.publicURL.isWildcard ? "wildcard\(host.publicURL.authority.dropFirst())" : host.publicURL.authority
        let label = hostLabels.label(of: host.publicURL.description, as: name)
        let last = apps.popLast()?.app ?? App(label: label)
        let others = apps.indices.filter { !self.goes(apps[$0], where: last, before: apps[($0 + 1)...]) }
        return Host(
            url: host.publicURL,
            ownPaths: own,
            otherApps: others.map { (syntax.route(apps[$0].path), apps[$0].app) },
            app: last,
            dividedPath: dividedPath,
            label: label
        )
    }

    /// True if `entry` is redundant: it has the main app, and no overlapping later path has another app.
    private static func goes(
        _ entry: (path: String, app: App),
        where main: App,
        before others: ArraySlice<(path: String, app: App)>
    ) -> Bool {
        let own = entry.path.prefix { $0 != "*" }
        return entry.app == main
            && !others.contains { other in
                let prefix = other.path.prefix { $0 != "*" }
                return other.app != main && (own.hasPrefix(prefix) || prefix.hasPrefix(own))
            }
    }

    private static func app(_ upstream: UpstreamSettings, _ labels: inout ProxyLabels) -> App {
        let name = upstream.name.split(separator: "/").last.map(String.init) ?? upstream.name
        return App(label: labels.label(of: upstream.name, as: name + (upstream.isHTTPS ? "_tls" : "")), upstream)
    }

    /// Orders paths by their segments: first literals, then `*` and the end of the path, then `**`.
    private static func precedes(_ one: String, _ other: String) -> Bool {
        func ranks(_ path: String) -> [Int] {
            path.split(separator: "/").map { $0 == "**" ? 2 : $0 == "*" ? 1 : 0 } + [1]
        }
        let (mine, theirs) = (ranks(one), ranks(other))
        return mine == theirs ? one < other : mine.lexicographicallyPrecedes(theirs)
    }
}

extension [String] {
    /// Returns the lines, indented by `count` spaces. Empty lines stay empty.
    func indented(_ count: Int) -> [String] {
        self.map { $0.isEmpty ? "" : String(repeating: " ", count: count) + $0 }
    }
}
