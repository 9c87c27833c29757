package import AddressIntelligence
package import Pages
package import Rules
package import Vocabulary

/// The validated settings of an operator. `run` serves them, and `check` prints them.
///
/// Other modules read only this value, not the file, the environment or the flags. A reload replaces the whole value.
package struct Settings: Sendable, Equatable {
    package var listen = [ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8080))]
    /// The listeners of the key `listen` that serve operators (`role: management`). The property `listen` lacks them.
    package var management: [ListenerSettings] = [] { didSet { self.reserveNames() } }
    /// The listener that redirects plain http to https; `nil` if there is no such listener.
    package var redirectListen: ListenerSettings?
    /// TLS at the gateway's own addresses; `nil` if they use plain HTTP.
    package var tls: TLSSettings?
    package var adminListen: ListenerSettings? = ListenerSettings(
        ListenAddress(host: "127.0.0.1", port: 9090),
        acceptsAnyHostName: true
    )
    /// The tokens of operators. Without tokens, the endpoints for operators with tokens are not served.
    package var operatorTokens: [OperatorToken] = []
    /// The provider that deactivates its users by SCIM; `nil` if SCIM is not served.
    package internal(set) var scim: SCIMSettings?
    /// The written keys that need endpoints outside of `/.sallyport/` (`HostSettings.jobs`), for messages.
    package internal(set) var endpointKeys: [String] = []
    /// The listener for checks of other proxies; `nil` if there is no such listener.
    package var authorization: AuthorizationSettings?
    /// Whether the paths of oauth2-proxy are served (`compat.oauth2_proxy`).
    package var oauth2ProxyPaths = false
    /// The fields that `/oauth2/auth` reads, if `authorization.metadata` is written; `nil` for `Host`,
    /// `X-Forwarded-Uri` and `X-Real-IP`, as in oauth2-proxy's manual.
    package var oauth2ProxyMetadata: OriginalMetadata?
    package var eventLoops: Int = min(max(Cores.count, 1), 256)
    package var secrets: SecretRing?
    /// The content of `signing_key_file`. Without it, assertion keys are derived from the secrets, and the store has an
    /// RSA key for id_tokens.
    package var signingKeys: Secret?
    package var trustedProxies: [CIDRBlock] = []
    package var forwardedHeader = ForwardedHeader.xForwardedFor
    package var hosts: [HostSettings]
    package var upstreams: [UpstreamSettings]
    package var clients: [ClientSettings] = []
    package var apis: [APISettings] = []
    /// The providers, each with a different name. If empty, nobody can sign in.
    package var providers: [NamedProvider] = []
    /// The proxies that the environment names for calls to providers and to the collector of traces.
    package var proxies = OutgoingProxies()
    /// Sign-in with the kits of Google, Apple and Facebook; `nil` if native apps cannot use them.
    package var nativeSocial: NativeSocialSettings?
    package var accounts = AccountSettings()
    package var session = SessionSettings()
    package var exchange = ExchangeSettings()
    package var store = StoreSettings()
    package var handoff = HandoffSettings()
    package var identity = IdentitySettings()
    package var asn: ASNSettings?
    package var geo: GeoSettings?
    /// The rules in the order in which they are evaluated.
    package var rules: [Rule] = []
    /// The field `Strict-Transport-Security` of https hosts; `nil` if it is not sent.
    package var strictTransport: StrictTransportSettings?
    package var limits = LimitSettings()
    package var timeouts = TimeoutSettings()
    package var drain = DrainSettings()
    package var pages = PageDesign.included
    package var logs = LogSettings()
    package var telemetry = TelemetrySettings()
    /// The issuer of the hosts in a `HostGroup`; `nil` in the settings of all hosts.
    private var givenIssuer: String?

    /// Creates settings with these hosts and apps, and with every other key at its default.
    package init(hosts: [HostSettings], upstreams: [UpstreamSettings]) {
        self.hosts = hosts
        self.upstreams = upstreams
    }

    /// Excludes the names of management listeners from wildcards.
    private mutating func reserveNames() {
        let names = self.management.compactMap { $0.publicURL?.host }
        for index in self.hosts.indices where self.hosts[index].publicURL.isWildcard {
            self.hosts[index].reservedNames = names
        }
    }

    /// The first provider. It applies to hosts and clients that name no provider, and to `native_social`.
    package var provider: (any ProviderSettings)? {
        get { self.providers.first?.settings }
        set { self.providers = newValue.map { [NamedProvider(name: Realm.default.name, settings: $0)] } ?? [] }
    }

    /// Returns the provider with this name; `nil` if there is no such provider.
    package func provider(named name: String) -> (any ProviderSettings)? {
        self.providers.firstIndex { $0.name == name }.map { self.providers[$0].settings }
    }

    /// The maximum number of open connections to apps: the sum of all apps on all event loops.
    package var appConnections: Int { self.upstreams.reduce(0) { $0 + $1.maxConnections } * self.eventLoops }

    /// The `static` provider; `nil` if it is not configured.
    package var fixedUsers: NamedProvider? {
        self.providers.first { $0.settings is FixedUsersSettings }
    }

    /// The groups of hosts that share providers and endpoints. With fewer than two providers, all hosts are one group.
    package var groups: [HostGroup] {
        guard self.providers.count > 1 else {
            let realms = Realms(self.providers.map { Realm($0.name) })
            return [HostGroup(realms: realms, socialRealm: realms.first, socialOwners: [:], settings: self)]
        }
        var lists: [[String]] = []
        for host in self.hosts where !lists.contains(host.providers) { lists.append(host.providers) }
        let first = Realm(self.providers[0].name)
        return lists.map { names in
            let realms = Realms(names.map { Realm($0) })
            return HostGroup(
                realms: realms,
                socialRealm: realms.contains(first) ? first : realms.first,
                socialOwners: self.socialOwners(among: names),
                settings: self.scoped(to: names)
            )
        }
    }

    /// Returns these settings with only the named providers, the hosts with exactly these providers, and their clients.
    private func scoped(to names: [String]) -> Settings {
        var scoped = self
        scoped.providers = names.compactMap { name in self.providers.first { $0.name == name } }
        scoped.hosts = self.hosts.filter { $0.providers == names }
        scoped.clients = self.clients.filter { !Set($0.providers).isDisjoint(with: names) }
        scoped.givenIssuer = self.issuer(of: names)
        if !names.contains(self.providers[0].name) || self.separatesProviderUsers {
            scoped.nativeSocial = self.nativeSocial?.keeping(Set(self.socialOwners(among: names).keys))
        }
        let choices = scoped.providers.filter { $0.settings.exchangeChoice != nil }
        if names.count > 1 { scoped.exchange.directChoices = choices.map(\.name) }
        if !self.exchange.namesProviders {
            scoped.exchange.providers =
                names.count > 1
                ? choices.map { ExchangeSettings.Choice(id: $0.name, label: $0.button.label) }
                : choices.compactMap(\.settings.exchangeChoice)
        }
        return scoped
    }

    /// Whether users of two providers must never be confused: accounts are linked, or a route requires a provider.
    var separatesProviderUsers: Bool {
        self.accounts.link != .none || self.hosts.contains { $0.routes.contains { !$0.require.providers.isEmpty } }
    }

    /// Returns the providers that own the users of social kits, by the kit's `iss`. An owner has this issuer, and
    /// shares a host with other providers.
    private func socialOwners(among names: [String]) -> [String: NamedProvider] {
        var owners: [String: NamedProvider] = [:]
        let issuers = SocialLogin.allCases.flatMap { self.nativeSocial?.issuers(of: $0) ?? [] }
        for provider in self.providers where names.contains(provider.name) {
            let hasCompany = self.hosts.contains { $0.providers.count > 1 && $0.providers.contains(provider.name) }
            guard hasCompany, let own = provider.settings.tokenIssuer else { continue }
            for issuer in issuers where NativeSocialSettings.isSame(issuer, own) { owners[issuer] = provider }
        }
        return owners
    }

    /// The issuer (`iss`) for the hosts of the first provider, or of this group. Hosts that are connected by common
    /// providers have one issuer: the origin of the first host with endpoints and the most providers, or of the first
    /// host with a single name if none has endpoints. Users of other hosts may have an equal `sub`, so their issuer
    /// differs.
    package var issuer: String {
        self.givenIssuer ?? self.issuer(of: self.providers.prefix(1).map(\.name))
    }

    /// Returns the hosts that share a provider with the group, including the group's own hosts.
    package func hosts(sharing group: HostGroup) -> [HostSettings] {
        self.providers.count > 1
            ? self.hosts.filter { !Set($0.providers).isDisjoint(with: group.providers) } : self.hosts
    }

    /// Returns the issuer of the hosts of this provider.
    package func issuer(of provider: String) -> String { self.issuer(of: [provider]) }

    private func issuer(of names: [String]) -> String {
        var (hosts, related) = ([HostSettings](), Set(names))
        repeat {
            hosts = self.hosts.filter { names.isEmpty || !related.isDisjoint(with: $0.providers) }
            let count = related.count
            related.formUnion(hosts.flatMap(\.providers))
            if related.count == count { break }
        } while true
        let ranked = hosts.filter(\.endpoints)
        let most = ranked.map(\.providers.count).max()
        let first = hosts.first { !$0.publicURL.isWildcard } ?? hosts.first
        return (ranked.first { $0.providers.count == most } ?? first)?.publicURL.description ?? ""
    }
}

/// Hosts with the same providers. They share their endpoints.
package struct HostGroup: Sendable {
    /// The realms of the hosts, in the order of the sign-in page.
    package let realms: Realms
    /// The realm of kit users without an owner: the first provider's if the group has it, otherwise the group's first.
    package let socialRealm: Realm
    /// The providers that own the users of social kits, by the kit's `iss`.
    package let socialOwners: [String: NamedProvider]
    /// The settings for these hosts.
    package let settings: Settings

    /// The names of the providers.
    package var providers: [String] { self.realms.all.map(\.name) }
}

/// An address to bind: `127.0.0.1:8080`, `[::]:8080`, `:8080` (all addresses).
package struct ListenAddress: Sendable, Hashable {
    /// An IP address. Empty for every address.
    package var host: String
    /// The port, 0 to 65535; 0 lets the system choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Whether only this machine can connect.
    package var isLoopback: Bool { IPAddress(self.host)?.isLoopback ?? false }

    /// Whether a proxy on this machine or in a private network can connect.
    var takesLocalProxies: Bool {
        guard let address = IPAddress(self.host) else { return true }
        return address.isUnspecified || address.isLoopback || address.isPrivate
    }

    /// Whether the system refuses to bind both addresses: the ports are equal and not 0, and one address equals or
    /// includes the other address. `::` includes IPv4 (Linux's default for `IPV6_V6ONLY`).
    func overlaps(_ other: ListenAddress) -> Bool {
        guard self.port == other.port, self.port != 0 else { return false }
        return self.host == other.host || self.takesIn(other) || other.takesIn(self)
    }

    private func takesIn(_ other: ListenAddress) -> Bool {
        guard let mine = IPAddress(self.host), let theirs = IPAddress(other.host) else { return self.host.isEmpty }
        if mine.isUnspecified { return !mine.isV4 || theirs.isV4 }
        // Addresses with a zone (RFC 4007) are on different links unless their texts are equal.
        return mine == theirs && !self.host.utf8.contains(UInt8(ascii: "%"))
            && !other.host.utf8.contains(UInt8(ascii: "%"))
    }
}

extension ListenAddress: CustomStringConvertible {
    /// The address in the form of the settings: `127.0.0.1:8080`, `[::1]:8080`, `:8080`.
    package var description: String {
        self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// The field in which trusted proxies report the client. Only one field is read, because two could be contradictory.
package enum ForwardedHeader: String, Sendable, CaseIterable, SettingWord {
    case xForwardedFor = "x-forwarded-for"
    case forwarded
}

/// The scheme, host and port with which clients reach a host. URLs, cookies and issuers are derived from it.
package struct PublicURL: Sendable, Hashable, CustomStringConvertible {
    package var isHTTPS: Bool
    /// The host in lower case, without a trailing dot; an IPv6 address in brackets.
    package var host: String { didSet { self.authority = Self.authority(self.host, self.port) } }
    /// The port; `nil` if it is the default of the scheme.
    package var port: Int? { didSet { self.authority = Self.authority(self.host, self.port) } }
    /// `host` or `host:port`, as in `Host`. Stored, because it is compared with each request that has a session cookie.
    package private(set) var authority: String

    package init(isHTTPS: Bool, host: String, port: Int?) {
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
        self.authority = Self.authority(host, port)
    }

    private static func authority(_ host: String, _ port: Int?) -> String { port.map { "\(host):\($0)" } ?? host }

    package var scheme: String { self.isHTTPS ? "https" : "http" }
    /// The origin (RFC 6454): scheme, host, and the port if it is not the scheme's default.
    package var description: String { "\(self.scheme)://\(self.authority)" }
    /// Whether a browser can reach the URL only on its own machine (RFC 6761 6.3).
    package var isLoopback: Bool {
        let bare = self.host.hasPrefix("[") ? String(self.host.dropFirst().dropLast()) : self.host
        return bare == "localhost" || bare.hasSuffix(".localhost") || (IPAddress(bare)?.isLoopback ?? false)
    }
}
