import Logging
import NIOCore
import Observability
import RequestPath
import Settings
import Synchronization
import Transport
import Vocabulary

/// Renewal of certificates while the gateway runs.
extension Gateway {
    /// How often to look for new certificates. Also the interval of warnings while certificates are missing.
    private static let certificatePeriod = TimeAmount.seconds(60)

    /// Starts to look for new certificates of listeners, and for new TLS files of apps.
    func watchCertificates() {
        let period = Self.certificatePeriod
        self.group.next().scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
            Task.detached {
                self.renewCertificates()
                self.renewTLSToApps()
            }
        }
    }

    /// Applies new certificates of listeners. Keeps the old ones if the new ones are invalid.
    func renewCertificates() {
        let registry = self.foundations.registry
        let assembly = self.state.withLock { $0.assembly }
        switch self.certificates.look(at: assembly.tls, for: assembly.settings) {
        case .unchanged: return
        case .renewed(let renewed):
            self.logger.info(
                "certificates renewed",
                metadata: [
                    "certificates":
                        "\(renewed.certificates.compactMap { $0.facts.map { "\($0.title) until \($0.until.rfc3339Seconds)" } })"
                ]
            )
            registry.increment(registry.counter(MetricNames.tlsReloads, "success"))
        case .kept(let reason):
            self.logger.error("certificates not renewed, the old ones stay in use: \(reason)")
            registry.increment(registry.counter(MetricNames.tlsReloads, "failure"))
        case .missing(let reason):
            self.logger.warning(
                "no certificate yet, clients of the listeners with TLS are refused\(reason.map { ": \($0)" } ?? "")"
            )
        }
    }

    /// Applies new TLS files of apps. Keeps the old ones if the new ones are invalid.
    private func renewTLSToApps() {
        let registry = self.foundations.registry
        for target in self.state.withLock({ $0.assembly }).configuration.targets {
            do throws(UpstreamTLSError) {
                guard try target.renewTLS() else { continue }
                self.logger.info("TLS with an app renewed", metadata: ["upstream": "\(target.settings.name)"])
                registry.increment(registry.counter(MetricNames.tlsReloads, "success"))
            } catch {
                self.logger.error("TLS with an app not renewed, the old files stay in use: \(error)")
                registry.increment(registry.counter(MetricNames.tlsReloads, "failure"))
            }
        }
    }
}
