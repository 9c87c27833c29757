import JOSE
import Logging
import Providers
import Synchronization

/// Logs when the provider cannot be used and when it can be again, and says so in the readiness.
///
/// The issuer is asked in the background, again and again, without a log of its own; this looks at the outcome. It sends
/// nothing.
final class ProviderWatch: Sendable {
    private enum Subject: String, CaseIterable {
        case metadata, keys, sessions
    }

    private struct State {
        var issuer: OpenIDIssuer?
        var kratos: KratosProvider?
        /// Why each cannot be had, as it was logged.
        var reasons: [Subject: String] = [:]
        /// Whether the metadata of any issuer were known since the start.
        var wasKnown = false
        var task: Task<Void, Never>?
    }

    /// How often to look.
    private static let interval = Duration.seconds(1)

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) {
        self.logger = logger
    }

    /// Watches this provider from now on instead of the former one.
    func adopt(_ issuer: OpenIDIssuer?, _ kratos: KratosProvider?) {
        self.state.withLock { state in
            if issuer !== state.issuer || kratos !== state.kratos { state.reasons = [:] }
            state.kratos = kratos
            // It may have become known since the last look.
            if state.issuer?.isKnown == true { state.wasKnown = true }
            state.issuer = issuer
        }
    }

    /// Starts to watch.
    func start() {
        let task = Task {
            while !Task.isCancelled {
                self.look()
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.state.withLock { $0.task = task }
    }

    func shutDown() {
        self.state.withLock { $0.task }?.cancel()
    }

    /// The condition of readiness; empty for a provider that needs no discovery.
    ///
    /// Once any issuer was known, it holds: if a reload names an issuer that cannot be reached, nobody can sign in, but
    /// the sessions that are there go on, and no gateway should leave the load balancer for that.
    var checks: [AdminServer.Check] {
        let (issuer, wasKnown) = self.state.withLock { ($0.issuer, $0.wasKnown) }
        guard let issuer else { return [] }
        guard !issuer.isKnown else {
            return [(name: "provider", ok: true, detail: "\(issuer.name) was asked for its metadata")]
        }
        let reason = issuer.metadata.failure?.description ?? "its metadata are not here yet"
        return [(name: "provider", ok: wasKnown, detail: "nobody can sign in: \(reason)")]
    }

    // MARK: Steps

    private func look() {
        let (issuer, kratos) = self.state.withLock { ($0.issuer, $0.kratos) }
        if let kratos {
            self.settle(.sessions, kratos.failure) { reason in
                "provider: Kratos does not say whose sessions are, those it has vouched for serve for a while: \(reason)"
            }
        }
        guard let issuer else { return }
        let isKnown = issuer.isKnown
        if isKnown { self.state.withLock { $0.wasKnown = true } }
        self.settle(.metadata, issuer.metadata.failure?.description) { reason in
            isKnown
                ? "provider: its metadata cannot be read again, those of the last time are used: \(reason)"
                : "provider: nobody can sign in until its metadata are read: \(reason)"
        }
        self.settle(.keys, issuer.keys.failure) { reason in "provider: its keys cannot be read: \(reason)" }
    }

    /// Logs a reason that is new, and the end of one.
    private func settle(_ subject: Subject, _ reason: String?, _ words: (String) -> String) {
        let former = self.state.withLock { state in
            defer { state.reasons[subject] = reason }
            return state.reasons[subject]
        }
        guard former != reason else { return }
        if let reason {
            self.logger.warning("\(words(reason))")
        } else {
            self.logger.info("provider: its \(subject.rawValue) can be read again")
        }
    }
}
