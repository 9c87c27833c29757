import AddressIntelligence
import Logging
import Synchronization

/// Warns once per process about a proxy that is not listed in `trusted_proxies`.
final class StrayForwarding: Sendable {
    private let hasTold = Mutex(false)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func notify(of field: String, from peer: IPAddress) {
        let isFirst = self.hasTold.withLock { hasTold in
            defer { hasTold = true }
            return !hasTold
        }
        guard isFirst else { return }
        self.logger.warning(
            """
            \(field) from a peer that is not in trusted_proxies is ignored: if \(peer) is your proxy, add it there; otherwise \
            every client appears to have its address; logged once
            """,
            metadata: ["peer": "\(peer)", "field": "\(field)"]
        )
    }
}
