import JOSE
import Logging
import Operating
import Providers
import Settings
import Synchronization
import Vocabulary

/// Logs when a provider becomes unusable or usable again, and reports it in the readiness checks.
///
/// Each issuer fetches its documents in the background without logging. This watch only reads the results.
final class ProviderWatch: Sendable {
    private enum Subject: String, CaseIterable {
        case metadata, endpoints, keys, sessions
    }

    private struct Watched {
        /// The beginning of each line about the provider.
        let name: String
        let issuer: OpenIDIssuer?
        let kratos: KratosProvider?
        /// True if the gateway is not ready until it has reached the provider, false if it does not wait. `nil` if it
        /// waits only if users of some host cannot sign in without the provider.
        let isEssential: Bool?
        /// For each of the provider's hosts, all other providers at which the host's users can sign in.
        let others: [[Realm]]
        /// The last logged reason for each subject that is unavailable.
        var reasons: [Subject: String] = [:]
        /// True if the metadata of this realm's issuer have been known at any time since the start.
        var wasKnown = false
    }

    private struct State {
        var providers: [Realm: Watched] = [:]
        var task: Task<Void, Never>?
    }

    /// The interval between two checks.
    private static let interval = Duration.seconds(1)

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Watches the providers of these realms instead of the previous ones.
    ///
    /// - Parameter hosts: The hosts that are served.
    func adopt(_ realms: [AssembledRealm], on hosts: [HostSettings]) {
        self.state.withLock { state in
            let former = state.providers
            state.providers = [:]
            for realm in realms {
                let (issuer, kratos) = (realm.provider.issuer, realm.provider.kratos)
                let name = realm.realm == .default ? "provider" : "provider \(realm.realm.name)"
                let others = hosts.filter { $0.providers.contains(realm.realm.name) }.map { host in
                    realms.filter { $0.realm != realm.realm && $0.signsIn && host.providers.contains($0.realm.name) }
                        .map(\.realm)
                }
                var watched = Watched(
                    name: name,
                    issuer: issuer,
                    kratos: kratos,
                    isEssential: realm.named?.isEssential,
                    others: others
                )
                if let former = former[realm.realm] {
                    if issuer === former.issuer, kratos === former.kratos { watched.reasons = former.reasons }
                    // The metadata may have arrived since the last check.
                    watched.wasKnown = former.wasKnown || former.issuer?.isKnown == true
                }
                state.providers[realm.realm] = watched
            }
        }
    }

    func start() {
        let task = Task {
            while !Task.isCancelled {
                for (realm, provider) in self.state.withLock({ $0.providers }) { self.look(at: provider, realm) }
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.state.withLock { $0.task = task }
    }

    func shutDown() {
        self.state.withLock { $0.task }?.cancel()
    }

    /// The readiness checks, one for each provider with discovery.
    ///
    /// Once the metadata of any issuer of a realm have been known, the realm's check always passes. If a reload
    /// configures an unreachable issuer, nobody can sign in, but existing sessions continue, so the gateway should get
    /// requests. A check also passes if each of the provider's hosts has another usable provider, unless the settings
    /// require the provider.
    var checks: [ReadinessCheck] {
        let providers = self.state.withLock { $0.providers }
        func isUsable(_ realm: Realm) -> Bool {
            guard let provider = providers[realm], let issuer = provider.issuer else { return true }
            return provider.wasKnown || issuer.isKnown
        }
        return providers.values.sorted { $0.name < $1.name }.compactMap { provider -> ReadinessCheck? in
            guard let issuer = provider.issuer else { return nil }
            guard !issuer.isKnown else {
                return (name: provider.name, ok: true, detail: "the metadata of \(issuer.name) are known")
            }
            let reason = issuer.metadata.failure?.description ?? "its metadata have not arrived yet"
            let isNeeded = provider.isEssential ?? !provider.others.allSatisfy { $0.contains(where: isUsable) }
            return (
                name: provider.name, ok: provider.wasKnown || !isNeeded, detail: "nobody can sign in: \(reason)"
            )
        }
    }

    // MARK: Steps

    private func look(at provider: Watched, _ realm: Realm) {
        if let kratos = provider.kratos {
            self.settle(.sessions, kratos.failure, provider, realm) { reason in
                "Kratos does not confirm sessions, those it has confirmed stay valid for a while: \(reason)"
            }
        }
        guard let issuer = provider.issuer else { return }
        let isKnown = issuer.isKnown
        if isKnown { self.state.withLock { $0.providers[realm]?.wasKnown = true } }
        self.settle(.metadata, issuer.metadata.failure?.description, provider, realm) { reason in
            isKnown
                ? "its metadata cannot be read again, the last ones stay in use: \(reason)"
                : "nobody can sign in until its metadata are read: \(reason)"
        }
        let faults = issuer.metadata.known?.faults ?? []
        self.settle(.endpoints, faults.isEmpty ? nil : faults.joined(separator: "; "), provider, realm) { reason in
            "its metadata contain unusable endpoints, which are ignored: \(reason)"
        }
        self.settle(.keys, issuer.keys.failure, provider, realm) { reason in "its keys cannot be read: \(reason)" }
    }

    /// Logs a new reason, or that a former reason no longer applies.
    private func settle(
        _ subject: Subject,
        _ reason: String?,
        _ provider: Watched,
        _ realm: Realm,
        _ words: (String) -> String
    ) {
        let former = self.state.withLock { state in
            defer { state.providers[realm]?.reasons[subject] = reason }
            return state.providers[realm]?.reasons[subject]
        }
        guard former != reason else { return }
        if let reason {
            self.logger.warning("\(provider.name): \(words(reason))")
        } else {
            let end =
                subject == .endpoints
                ? "all endpoints in its metadata can be used" : "its \(subject.rawValue) can be read again"
            self.logger.info("\(provider.name): \(end)")
        }
    }
}
