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
    /// The interval between two checks of the source of certificates, and between two warnings while certificates are
    /// missing.
    private static let certificatePeriod = TimeAmount.seconds(60)

    /// Starts to check for new certificates of listeners and new TLS files for apps, once per minute.
    func watchCertificates() {
        let period = Self.certificatePeriod
        self.group.next().scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
            Task.detached {
                self.renewCertificates()
                self.renewTLSToApps()
            }
        }
    }

    /// Applies new certificates of listeners. If they are invalid, the old certificates stay in use.
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

    /// Applies renewed files for TLS with apps. If they are invalid, the old files stay in use.
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
