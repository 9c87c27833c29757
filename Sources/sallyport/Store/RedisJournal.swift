import Logging
import Observability
import Operating
import RedisStore
import Synchronization
import Vocabulary

/// Logs changes in the state of Redis and its connections. Single failures are not logged, except
/// unconfirmed writes.
final class RedisJournal: Sendable {
    private struct State {
        var primaryChanges = 0
        var restoredEnds = 0
        /// The dangers that were last logged, by server.
        var dangers: [RedisEndpoint: [String]] = [:]
        var changedAt: UnixTime?
    }

    let logger: Logger
    private let audit: AuditStream
    private let clock: Clock
    private let state = Mutex(State())
    /// Limits the lines about unconfirmed writes. Any request may cause one.
    private let shortage: SeldomLine

    init(logger: Logger, audit: AuditStream, clock: Clock) {
        self.logger = logger
        self.audit = audit
        self.clock = clock
        self.shortage = SeldomLine(clock: clock)
    }

    /// The number of failovers and restarts that this gateway noticed.
    var primaryChanges: Int { self.state.withLock { $0.primaryChanges } }

    /// The number of sign-outs that a primary had lost and that were written again.
    var restoredEnds: Int { self.state.withLock { $0.restoredEnds } }

    /// Returns how long tokens with this lifetime may still exist from before the last change of the primary.
    func quarantine(of lifetime: Duration) -> Duration {
        guard let changedAt = self.state.withLock({ $0.changedAt }) else { return .zero }
        return min(max(lifetime - self.clock.now().since(changedAt), .zero), lifetime)
    }

    /// Logs an event. Callable on any thread; never blocks.
    func note(_ event: RedisEvent) {
        switch event {
        case .nodeUp(let endpoint): self.log(.info, "connected", endpoint)
        case .nodeDown(let endpoint, let cause):
            self.log(.warning, "the last connection was lost: \(RedisMessages.cause(cause))", endpoint)
        case .refused(let endpoint, let error):
            // The reply itself is not logged, because it may quote what was sent.
            let code: Logger.Metadata = ["code": "\(error.code)"]
            self.log(.error, "it refuses to serve: \(RedisMessages.refusal(error))", endpoint, code)
        case .writesRefused(let endpoint, let error):
            let code: Logger.Metadata = ["code": "\(error.code)"]
            self.log(.error, "it refuses writes: \(RedisMessages.refusal(error))", endpoint, code)
            let details = [("address", endpoint.description), ("code", error.code)]
            self.audit.emit(AuditEvent(.storeWritesRefused, code: .warning, details: details))
        case .writesAccepted(let endpoint):
            self.log(.info, "it accepts writes again", endpoint)
            self.audit.emit(AuditEvent(.storeWritesTaken, details: [("address", endpoint.description)]))
        case .primaryChanged(let endpoint): self.notePrimaryChange(endpoint)
        case .topologyChanged(let topology):
            let addresses = topology.shards.map(\.endpoint.description).joined(separator: ", ")
            self.log(.info, "the primaries or their slots have changed", nil, ["primaries": "\(addresses)"])
        case .replicasShort(let endpoint):
            guard let unsaid = self.shortage.due() else { return }
            let words = "no replica confirms writes in time: requests that need a confirmed write get 503"
            self.log(.warning, words, endpoint, ["count": "\(unsaid + 1)"])
        case .replacementBegun(let endpoint):
            let effect = "until that is done, sign-ins, sign-outs and transfer tokens get 503"
            self.log(.warning, "another server is being made the primary: \(effect)", endpoint)
        case .endsRestored(let endpoint, let count):
            self.state.withLock { $0.restoredEnds += count }
            let words = "the primary had lost sign-outs; they were written again"
            self.log(.warning, words, endpoint, ["count": "\(count)"])
        case .cutOff(let quorum):
            self.log(.error, RedisMessages.silence(quorum))
            let details = [("heard", "\(quorum.heard)"), ("of", "\(quorum.count)")]
            self.audit.emit(AuditEvent(.storeCutOff, code: .warning, details: details))
        case .rejoined:
            self.log(.info, "most sentinels, or most primaries of the cluster, answer again")
            self.audit.emit(AuditEvent(.storeRejoined))
        case .observed(let endpoint, let facts): self.noteSafety(of: endpoint, facts)
        case .clockSet: break
        case .doubted:
            self.log(.warning, "sign-outs at other gateways are not received: each session is read before it is used")
        case .trusted: self.log(.info, "sign-outs at other gateways are received")
        }
    }

    private func log(
        _ level: Logger.Level,
        _ words: String,
        _ endpoint: RedisEndpoint? = nil,
        _ metadata: Logger.Metadata = [:]
    ) {
        var metadata = metadata
        if let endpoint { metadata["address"] = "\(endpoint)" }
        self.logger.log(level: level, "redis: \(words)", metadata: metadata)
    }

    /// Logs whether gateways without a common secret use this Redis.
    func note(_ strangers: SecretRegister.OtherSecretCounts) {
        guard let words = RedisMessages.strangers(strangers) else {
            return self.log(.info, "all gateways share a secret again")
        }
        self.log(strangers.earlier > 0 ? .error : .warning, words)
    }

    private func notePrimaryChange(_ endpoint: RedisEndpoint) {
        self.state.withLock { state in
            state.primaryChanges += 1
            state.changedAt = self.clock.now()
        }
        let words = "a failover or restart has happened: transfer tokens minted before it are refused"
        self.log(.warning, words, endpoint)
        let details = [("address", endpoint.description)]
        self.audit.emit(AuditEvent(.storePrimaryChanged, code: .warning, details: details))
    }

    /// Logs the dangers of a server, if their number has changed.
    private func noteSafety(of endpoint: RedisEndpoint, _ facts: RedisFacts) {
        let dangers = RedisMessages.dangers(facts)
        let known = self.state.withLock { $0.dangers.updateValue(dangers, forKey: endpoint) } ?? []
        // The texts contain numbers that change all the time.
        guard dangers.isEmpty != known.isEmpty || dangers.count != known.count else { return }
        if dangers.isEmpty {
            self.log(.info, "it is safe again: no keys are evicted, and saving works", endpoint)
        } else {
            self.log(.error, "it may lose sessions and used tokens: \(dangers.joined(separator: "; "))", endpoint)
        }
    }
}
