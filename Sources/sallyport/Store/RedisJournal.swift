import Logging
import Observability
import RedisStore
import Synchronization
import Vocabulary

/// Logs changes between this gateway and its Redis: changes of state, not every failure.
final class RedisJournal: Sendable {
    private struct State {
        var primaryChanges = 0
        var restoredEnds = 0
        /// The dangers of each primary that were last logged.
        var dangers: [RedisEndpoint: [String]] = [:]
        var changedAt: UnixTime?
        /// When a shortage of replicas was last logged, and how often it has happened since.
        var shortSaidAt: UnixTime?
        var shortSince = 0
    }

    /// Each request may write without confirmation, so it is logged at most once in this time.
    private static let shortPause = Duration.seconds(60)

    let logger: Logger
    private let audit: AuditStream
    private let clock: Clock
    private let state = Mutex(State())

    init(logger: Logger, audit: AuditStream, clock: Clock) {
        self.logger = logger
        self.audit = audit
        self.clock = clock
    }

    /// Failovers and restarts that this gateway noticed.
    var primaryChanges: Int { self.state.withLock { $0.primaryChanges } }

    /// Sign-outs that were written again to primaries that had lost them.
    var restoredEnds: Int { self.state.withLock { $0.restoredEnds } }

    /// How long transfer tokens of this lifetime from before the last change may still be presented; zero when none
    /// may.
    func quarantine(of lifetime: Duration) -> Duration {
        guard let changedAt = self.state.withLock({ $0.changedAt }) else { return .zero }
        return min(max(lifetime - self.clock.now().since(changedAt), .zero), lifetime)
    }

    /// Takes an event of the client. Called from any thread; never blocks.
    func note(_ event: RedisEvent) {
        switch event {
        case .nodeUp(let endpoint):
            self.logger.info("redis: connected", metadata: ["address": "\(endpoint)"])
        case .nodeDown(let endpoint, let cause):
            self.logger.warning(
                "redis: the last connection was lost: \(RedisMessages.cause(cause))",
                metadata: ["address": "\(endpoint)"]
            )
        case .refused(let endpoint, let error):
            // Never the whole reply, which may quote what was sent.
            self.logger.error(
                "redis: it refuses to serve: \(RedisMessages.refusal(error))",
                metadata: ["address": "\(endpoint)", "code": "\(error.code)"]
            )
        case .writesRefused(let endpoint, let error):
            self.logger.error(
                "redis: it refuses writes: \(RedisMessages.refusal(error))",
                metadata: ["address": "\(endpoint)", "code": "\(error.code)"]
            )
            let details = [("address", endpoint.description), ("code", error.code)]
            self.audit.emit(AuditEvent(.storeWritesRefused, code: .warning, details: details))
        case .writesTaken(let endpoint):
            self.logger.info("redis: it takes writes again", metadata: ["address": "\(endpoint)"])
            self.audit.emit(AuditEvent(.storeWritesTaken, details: [("address", endpoint.description)]))
        case .primaryChanged(let endpoint):
            self.notePrimaryChange(endpoint)
        case .topologyChanged(let topology):
            let addresses = topology.shards.map(\.endpoint.description).joined(separator: ", ")
            self.logger.info(
                "redis: the primaries or their slots have changed",
                metadata: ["primaries": "\(addresses)"]
            )
        case .replicasShort(let endpoint):
            self.noteShortReplicas(endpoint)
        case .replacementBegun(let endpoint):
            self.logger.warning(
                "redis: another server is being made the primary: until that is done, sign-ins, sign-outs and transfer tokens get 503",
                metadata: ["address": "\(endpoint)"]
            )
        case .endsRestored(let endpoint, let count):
            self.state.withLock { $0.restoredEnds += count }
            self.logger.warning(
                "redis: the primary had lost sign-outs; they were written again",
                metadata: ["address": "\(endpoint)", "count": "\(count)"]
            )
        case .cutOff(let quorum):
            self.logger.error("redis: \(RedisMessages.silence(quorum))")
            let details = [("heard", "\(quorum.heard)"), ("of", "\(quorum.count)")]
            self.audit.emit(AuditEvent(.storeCutOff, code: .warning, details: details))
        case .rejoined:
            self.logger.info("redis: most sentinels, or most primaries of the cluster, answer again")
            self.audit.emit(AuditEvent(.storeRejoined))
        case .observed(let endpoint, let facts):
            self.noteSafety(of: endpoint, facts)
        case .doubted:
            self.logger.warning(
                "redis: sign-outs at other gateways are not heard: each session is read before it is used"
            )
        case .trusted:
            self.logger.info("redis: sign-outs at other gateways are heard")
        }
    }

    /// Takes what was found of gateways with other secrets.
    func note(_ strangers: SecretRegister.Strangers) {
        guard let words = RedisMessages.strangers(strangers) else {
            return self.logger.info("redis: all gateways share a secret again")
        }
        if strangers.earlier > 0 {
            self.logger.error("redis: \(words)")
        } else {
            self.logger.warning("redis: \(words)")
        }
    }

    private func notePrimaryChange(_ endpoint: RedisEndpoint) {
        self.state.withLock { state in
            state.primaryChanges += 1
            state.changedAt = self.clock.now()
        }
        self.logger.warning(
            "redis: a failover or restart has happened: transfer tokens minted before it are refused",
            metadata: ["address": "\(endpoint)"]
        )
        self.audit.emit(
            AuditEvent(.storePrimaryChanged, code: .warning, details: [("address", endpoint.description)])
        )
    }

    /// Logs what makes a server unsafe, once for as long as it lasts.
    private func noteSafety(of endpoint: RedisEndpoint, _ facts: RedisFacts) {
        let dangers = RedisMessages.dangers(facts)
        let known = self.state.withLock { $0.dangers.updateValue(dangers, forKey: endpoint) } ?? []
        // A growing count is not logged again.
        guard dangers.isEmpty != known.isEmpty || dangers.count != known.count else { return }
        if dangers.isEmpty {
            self.logger.info(
                "redis: it is safe again: no keys are evicted, and saving works",
                metadata: ["address": "\(endpoint)"]
            )
        } else {
            self.logger.error(
                "redis: it may lose sessions and used tokens: \(dangers.joined(separator: "; "))",
                metadata: ["address": "\(endpoint)"]
            )
        }
    }

    private func noteShortReplicas(_ endpoint: RedisEndpoint) {
        let now = self.clock.now()
        let count: Int? = self.state.withLock { state in
            state.shortSince += 1
            if let saidAt = state.shortSaidAt, now.since(saidAt) < Self.shortPause { return nil }
            defer { state.shortSince = 0 }
            state.shortSaidAt = now
            return state.shortSince
        }
        guard let count else { return }
        self.logger.warning(
            "redis: no replica confirms writes in time: requests that need a confirmed write get 503",
            metadata: ["address": "\(endpoint)", "count": "\(count)"]
        )
    }
}
