import Calls
import Operating
import Providers
import Settings
import Vocabulary

/// Makes and checks providers of one kind.
struct ProviderAssembly: Sendable {
    /// Makes the provider; `nil` if the settings are of another kind.
    private let assemble: @Sendable (any ProviderSettings, ProviderSite) throws -> AssembledProvider?
    /// Checks the provider over the network; `nil` if the settings are of another kind.
    private let check: @Sendable (any ProviderSettings, ProviderCheck) async throws -> [Verdict]?

    /// - Parameters:
    ///   - own: The settings' type.
    ///   - check: Checks a provider that has a URL (`ProviderSettings.calledURL`).
    init<Own: ProviderSettings>(
        _ own: Own.Type,
        assemble: @escaping @Sendable (Own, ProviderSite) throws -> AssembledProvider,
        check: @escaping @Sendable (Own, ProviderCheck) async throws -> [Verdict] = { _, _ in [] }
    ) {
        self.assemble = { settings, site in try (settings as? Own).map { try assemble($0, site) } }
        self.check = { settings, asking in
            guard let settings = settings as? Own else { return nil }
            return try await check(settings, asking)
        }
    }
}

extension ProviderAssembly {
    /// All kinds of providers.
    private static let all: [ProviderAssembly] = [.openID, .kratos, .oauth2, .introspection, .fixedUsers]

    /// Returns the error for a kind that is missing in `all`.
    private static func missing(_ settings: any ProviderSettings) -> StartRefusal {
        StartRefusal(description: "this gateway has no provider of the kind \(type(of: settings).key)")
    }

    /// Makes a provider of any kind.
    static func assemble(_ settings: any ProviderSettings, at site: ProviderSite) throws -> AssembledProvider {
        for kind in self.all {
            if let provider = try kind.assemble(settings, site) { return provider }
        }
        throw self.missing(settings)
    }

    /// Checks a provider of any kind over the network.
    static func check(_ settings: any ProviderSettings, by check: ProviderCheck) async throws -> [Verdict] {
        for kind in self.all {
            if let verdicts = try await kind.check(settings, check) { return verdicts }
        }
        throw self.missing(settings)
    }
}

/// What is needed to make a provider.
struct ProviderSite: Sendable {
    /// The clock for times in providers' tokens. It follows changes of the machine's clock; the store's clock does not.
    static let clock = Clock.system

    /// The provider's name in log lines and errors.
    let place: String
    let foundations: Foundations
    /// The provider before a reload; `nil` if there was none.
    let former: AssembledProvider?
    let proxies: OutgoingProxies
    /// Called if the provider gives no usable answer. The argument says what failed.
    let reportOutage: @Sendable (String) -> Void

    init(named: NamedProvider, foundations: Foundations, former: AssembledProvider?) {
        self.place = named.name == Realm.default.name ? "provider" : "provider \(named.name)"
        self.foundations = foundations
        self.former = former
        self.proxies = named.proxies
        self.reportOutage = OutageLog(name: self.place).note
    }

    /// Makes the transport for calls to a provider.
    func transport(_ settings: some ProviderSettings) throws -> any CallTransport {
        try self.foundations.transport(
            caFile: settings.caFile,
            allowsPlainHTTP: settings.allowsPlainHTTP,
            through: self.proxies
        )
    }
}

extension Foundations {
    /// Makes a transport that counts its calls in the metrics.
    func transport(
        caFile: String? = nil,
        allowsPlainHTTP: Bool = false,
        through proxies: OutgoingProxies
    ) throws -> any CallTransport {
        try self.providerClient.transport(
            caFile: caFile,
            allowsPlainHTTP: allowsPlainHTTP,
            proxies: proxies,
            countedIn: self.registry
        )
    }
}
