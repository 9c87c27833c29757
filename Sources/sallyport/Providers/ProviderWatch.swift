import JOSE
import Logging
import Operating
import Providers
import Settings
import Synchronization
import Vocabulary

/// Logs when providers become unusable or usable again, and checks their readiness.
///
/// Issuers fetch their documents themselves. The watch only reads the results.
final class ProviderWatch: Sendable {
    private enum Subject: String, CaseIterable {
        case metadata, endpoints, keys, sessions
    }

    private struct Watched {
        /// The text with which each line begins.
        let name: String
        let issuer: OpenIDIssuer?
        let kratos: KratosProvider?
        /// Whether readiness depends on the provider; `nil` if it does only while some host has no other usable
        /// provider.
        let isEssential: Bool?
        /// For each of the provider's hosts, the other providers at which users can sign in.
        let others: [[Realm]]
        /// The reason that was last logged for each unavailable subject.
        var reasons: [Subject: String] = [:]
        /// True once the issuer's metadata were known, even before a reload.
        var wasKnown = false
    }

    private struct State {
        var providers: [Realm: Watched] = [:]
        var task: Task<Void, Never>?
    }

    /// How often to look.
    private static let interval = Duration.seconds(1)

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Watches the providers of these realms, and no others.
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
                    // The metadata may have arrived after the last look.
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

    /// The readiness checks of OpenID providers.
    ///
    /// A check passes once metadata were known, even if a reload later configures an unreachable issuer: existing
    /// sessions still work. It also passes if the provider is not needed (`isEssential`): by default,
    /// if all its hosts have another usable provider.
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

    /// Logs a new reason, or that a reason no longer applies.
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
