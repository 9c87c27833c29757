import Logging
import Observability
import Operating
import RequestPath
import Settings
import Synchronization
import Transport
import Vocabulary

/// A running gateway, as started by `run` and `demo`.
final class Gateway: Sendable {
    struct State {
        var assembly: Assembly
        var isDraining = false
        var lastReloadSucceeded = true
        var readAt = Clock.system.now()

        var settings: Settings { self.assembly.settings }
    }

    struct Ending {
        /// True after a second signal. It cuts requests off.
        var isCutShort = false
        var hasBegun = false
        /// The file with the process id; `nil` without `--pid-file`.
        var pidFile: String?
    }

    let foundations: Foundations
    let watch: ProviderWatch
    let cacheMetrics: CacheMetrics
    let group: TransportGroup
    let providerGroup: TransportGroup
    let loops: PathLoops
    let gate: ConnectionGate
    /// Limits the connections to `authorization.listen`. Checks continue even if all other listeners are full.
    let authorizationGate: ConnectionGate
    /// Exports traces; `nil` if tracing is off.
    let traces: TraceExporter?
    let logs: LineWriter
    /// Shows the log as text; `nil` if it is written as JSON.
    let terminal: TerminalLog?
    let logger: Logger
    let reload: (@Sendable () throws -> LoadedSettings)?
    let state: Mutex<State>
    let listeners: Mutex<[Listener]> = Mutex([])
    /// The signals to the process. Stop signals are trapped before the log says "listening": a script may send one
    /// right after that line.
    let signals: ServingSignals
    let admin: Mutex<EndpointServer?> = Mutex(nil)
    let certificates = CertificateWatch(CertificateFiles(judges: .gateway))
    /// The management listeners, in the order of the settings.
    let management: Mutex<[EndpointServer]> = Mutex([])
    let heap: Mutex<HeapReturn> = Mutex(HeapReturn.ofProcess())
    let ending: Mutex<Ending> = Mutex(Ending())

    init(
        assembly: Assembly,
        foundations: Foundations,
        group: TransportGroup,
        providerGroup: TransportGroup,
        loops: PathLoops,
        traces: TraceExporter?,
        logs: LineWriter,
        terminal: TerminalLog?,
        logger: Logger,
        signals: ServingSignals,
        reload: (@Sendable () throws -> LoadedSettings)?
    ) {
        let settings = assembly.settings
        self.state = Mutex(State(assembly: assembly))
        self.foundations = foundations
        self.watch = ProviderWatch(logger: logger)
        self.cacheMetrics = CacheMetrics(caches: foundations.caches, loops: group)
        self.group = group
        self.providerGroup = providerGroup
        self.loops = loops
        self.traces = traces
        self.gate = ConnectionGate(
            settings.limits,
            trusted: settings.trustedProxies,
            apps: settings.appConnections
        )
        self.authorizationGate = ConnectionGate(settings.limits, trusted: settings.authorization?.peers ?? [])
        self.logs = logs
        self.terminal = terminal
        self.logger = logger
        self.signals = signals
        self.reload = reload
    }

    // MARK: Readiness

    var adminPort: Int? { self.admin.withLock { $0?.port } }

    /// Returns whether the gateway is ready, with the result of each check.
    func isReady() -> (ready: Bool, checks: [ReadinessCheck]) {
        let (isDraining, reloaded, tls) = self.state.withLock {
            ($0.isDraining, $0.lastReloadSucceeded, $0.assembly.tls)
        }
        let listening = !self.listeners.withLock { $0.isEmpty }
        let checks: [ReadinessCheck] =
            [
                (name: "listening", ok: listening, detail: listening ? "bound" : "no listener"),
                (name: "draining", ok: !isDraining, detail: isDraining ? "stopping" : "no"),
                // Always ok, because the old configuration works after a failed reload.
                (
                    name: "configuration", ok: true,
                    detail: reloaded ? "current" : "last reload failed, the old configuration is in use"
                ),
            ] + Self.certificateChecks(tls) + self.foundations.backing.checks + self.watch.checks
        return (checks.allSatisfy { $0.ok }, checks)
    }

    /// Checks that all TLS listeners have certificates. Empty if no listener uses TLS.
    private static func certificateChecks(_ tls: [ListenerTLS]) -> [ReadinessCheck] {
        if tls.isEmpty { return [] }
        let isMissing = tls.contains(where: \.awaitsCertificate)
        return [
            (
                name: "certificates", ok: !isMissing,
                detail: isMissing ? "none yet: clients of the listeners with TLS are refused" : "in use"
            )
        ]
    }
}
