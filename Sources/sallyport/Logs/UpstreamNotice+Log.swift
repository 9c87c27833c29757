import Logging
import NIOCore
import Observability
import RequestPath
import Vocabulary

extension UpstreamNotice {
    /// Logs a warning about an app.
    func log(to logger: Logger) {
        var metadata: Logger.Metadata = ["upstream": "\(self.upstream)", "reason": "\(self.reason.rawValue)"]
        if let field = self.field { metadata["field"] = "\(field)" }
        let place = self.field.map { "\($0): " } ?? ""
        let subject =
            switch self.reason {
            case .upstreamTLS: "no TLS with the app"
            case .upstreamUnreachable: "no connection to the app"
            case .upstreamTimeout: "the app takes too long"
            case .gatewayOverloaded: "one client has reached its share of the app"
            case .clientStalled: "a request is ended"
            default: "an answer of the app is refused"
            }
        logger.warning("\(subject): \(place)\(self.sentence); logged once a minute", metadata: metadata)
    }
}

extension ServerNotice {
    /// Logs that a server gets no more requests, or serves again.
    func log(to logger: Logger) {
        let metadata: Logger.Metadata = ["upstream": "\(self.upstream)", "server": "\(self.server)"]
        if let fault = self.fault {
            logger.warning("a server of the app is left out: \(fault.sentence)", metadata: metadata)
        } else {
            logger.info("a server of the app serves again", metadata: metadata)
        }
    }
}

extension NameNotice {
    /// Counts a lookup. Logs it if the addresses changed, or if it failed or succeeded again.
    func note(in registry: MetricsRegistry, _ logger: Logger) {
        let result =
            switch self.change {
            case .moved: "moved"
            default: self.isResolved ? "unchanged" : "failed"
            }
        registry.increment(registry.counter(MetricNames.upstreamLookups, self.upstream, result))
        var metadata: Logger.Metadata = ["upstream": "\(self.upstream)", "server": "\(self.server)"]
        switch self.change {
        case .none: break
        case .moved(let addresses, let gone):
            metadata["addresses"] = "\(Self.list(addresses))"
            if !gone.isEmpty { metadata["gone"] = "\(Self.list(gone))" }
            logger.info("the name of an app's server has other addresses", metadata: metadata)
        case .failed(let cause):
            logger.warning(
                "the name of an app's server cannot be resolved, its last addresses stay in use: \(cause)",
                metadata: metadata
            )
        case .recovered: logger.info("the name of an app's server is resolved again", metadata: metadata)
        }
    }

    /// Returns up to eight addresses, without ports.
    private static func list(_ addresses: [SocketAddress]) -> String {
        let shown = addresses.prefix(8).map { $0.ipAddress ?? "?" }.joined(separator: ", ")
        return addresses.count > 8 ? "\(shown) and \(addresses.count - 8) more" : shown
    }
}
