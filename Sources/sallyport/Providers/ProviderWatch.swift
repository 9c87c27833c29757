import JOSE
import Logging
import Operating
import Providers
import Settings
import Synchronization
import Vocabulary

/// Logs when a provider cannot be used and when it can be again, and says so in the readiness.
///
/// The issuer is asked in the background, again and again, without a log of its own; this looks at the outcome. It sends
/// nothing.
final class ProviderWatch: Sendable {
    private enum Subject: String, CaseIterable {
        case metadata, endpoints, keys, sessions
    }

    /// A provider, and what is known of it.
    private struct Watched {
        /// Begins every line about it.
        let name: String
        let issuer: OpenIDIssuer?
        let kratos: KratosProvider?
        /// Whether a gateway that has never reached it is not ready; nil: where users of some host cannot sign in
        /// otherwise.
        let isEssential: Bool?
        /// The other providers of each of its hosts, at which users can sign in there meanwhile.
        let others: [[Realm]]
        /// Why each cannot be had, as it was logged.
        var reasons: [Subject: String] = [:]
        /// Whether the metadata of any issuer of this realm were known since the start.
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

    /// Watches the providers of these realms from now on instead of the former ones.
    ///
    /// - Parameter hosts: All that are served.
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
                    // It may have become known since the last look.
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

    /// The conditions of readiness; none for a provider that needs no discovery.
    ///
    /// Once any issuer of a realm was known, its condition holds: if a reload names an issuer that cannot be reached, nobody
    /// can sign in, but the sessions that are there go on, and no gateway should leave the load balancer for that. Nor is a
    /// provider waited for where another one of each of its hosts can be used, unless the settings say so.
    var checks: [ReadinessCheck] {
        let providers = self.state.withLock { $0.providers }
        func isUsable(_ realm: Realm) -> Bool {
            guard let provider = providers[realm], let issuer = provider.issuer else { return true }
            return provider.wasKnown || issuer.isKnown
        }
        return providers.values.sorted { $0.name < $1.name }.compactMap { provider -> ReadinessCheck? in
            guard let issuer = provider.issuer else { return nil }
            guard !issuer.isKnown else {
                return (name: provider.name, ok: true, detail: "\(issuer.name) was asked for its metadata")
            }
            let reason = issuer.metadata.failure?.description ?? "its metadata are not here yet"
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
                "Kratos does not say whose sessions are, those it has vouched for serve for a while: \(reason)"
            }
        }
        guard let issuer = provider.issuer else { return }
        let isKnown = issuer.isKnown
        if isKnown { self.state.withLock { $0.providers[realm]?.wasKnown = true } }
        self.settle(.metadata, issuer.metadata.failure?.description, provider, realm) { reason in
            isKnown
                ? "its metadata cannot be read again, those of the last time are used: \(reason)"
                : "nobody can sign in until its metadata are read: \(reason)"
        }
        let faults = issuer.metadata.known?.faults ?? []
        self.settle(.endpoints, faults.isEmpty ? nil : faults.joined(separator: "; "), provider, realm) { reason in
            "its metadata name endpoints that cannot be used and count as not named: \(reason)"
        }
        self.settle(.keys, issuer.keys.failure, provider, realm) { reason in "its keys cannot be read: \(reason)" }
    }

    /// Logs a reason that is new, and the end of one.
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
