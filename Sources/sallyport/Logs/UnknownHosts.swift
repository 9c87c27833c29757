import AddressIntelligence
import Logging
import RequestPath

/// Warns about requests for unknown hosts, at most once a minute. Often a proxy does not pass on `Host`.
final class UnknownHosts: Sendable {
    private let line = SeldomLine()
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Parameter known: The names of the configured hosts.
    func notify(_ name: String, _ known: [String], _ peer: IPAddress) {
        guard let untold = self.line.due() else { return }
        let shown = known.prefix(20).joined(separator: ", ") + (known.count > 20 ? ", ..." : "")
        self.logger.warning(
            "a client asks for a host that is not configured; configured: \(shown). A proxy in front must pass on Host; logged once a minute",
            metadata: ["host": "\(name)", "peer": "\(peer)", "untold": "\(untold)"]
        )
    }
}
