import Calls
import Operating
import Providers
import Settings
import Vocabulary

/// Makes and checks the providers of one kind.
struct ProviderAssembly: Sendable {
    /// Makes the provider. Returns `nil` if the settings are of another kind.
    private let assemble: @Sendable (any ProviderSettings, ProviderSite) throws -> AssembledProvider?
    /// Checks the provider over the network. Returns `nil` if the settings are of another kind.
    private let check: @Sendable (any ProviderSettings, ProviderCheck) async throws -> [Verdict]?

    /// - Parameters:
    ///   - own: The type of the kind's settings.
    ///   - check: Checks the provider. Not called for settings without a URL (`ProviderSettings.calledURL`).
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
    /// One value for each kind of provider.
    private static let all: [ProviderAssembly] = [.openID, .kratos, .oauth2, .introspection, .fixedUsers]

    /// Returns the error for settings of a kind that `all` does not contain.
    private static func missing(_ settings: any ProviderSettings) -> StartRefusal {
        StartRefusal(description: "this gateway has no provider of the kind \(type(of: settings).key)")
    }

    /// Makes the provider of these settings.
    static func assemble(_ settings: any ProviderSettings, at site: ProviderSite) throws -> AssembledProvider {
        for kind in self.all {
            if let provider = try kind.assemble(settings, site) { return provider }
        }
        throw self.missing(settings)
    }

    /// Checks the provider of these settings over the network.
    static func check(_ settings: any ProviderSettings, by check: ProviderCheck) async throws -> [Verdict] {
        for kind in self.all {
            if let verdicts = try await kind.check(settings, check) { return verdicts }
        }
        throw self.missing(settings)
    }
}

/// The context for making a provider.
struct ProviderSite: Sendable {
    /// The clock for checking times in providers' tokens. Providers' clocks set these times. Unlike the store's clock,
    /// this clock follows changes of the machine's clock.
    static let clock = Clock.system

    /// The provider's name in log lines and errors.
    let place: String
    let foundations: Foundations
    /// The provider in the configuration that the new one replaces. `nil` if the provider is new.
    let former: AssembledProvider?
    let proxies: OutgoingProxies
    /// Called with the reason when the provider gives no usable answer.
    let reportOutage: @Sendable (String) -> Void

    init(named: NamedProvider, foundations: Foundations, former: AssembledProvider?) {
        self.place = named.name == Realm.default.name ? "provider" : "provider \(named.name)"
        self.foundations = foundations
        self.former = former
        self.proxies = named.proxies
        self.reportOutage = OutageLog(name: self.place).note
    }

    /// Makes the transport for the calls to a provider with these settings.
    func transport(_ settings: some ProviderSettings) throws -> any CallTransport {
        try self.foundations.transport(
            caFile: settings.caFile,
            allowsPlainHTTP: settings.allowsPlainHTTP,
            through: self.proxies
        )
    }
}

extension Foundations {
    /// Makes a transport whose calls are counted in the metrics.
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
