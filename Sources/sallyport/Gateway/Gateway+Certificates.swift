import Logging
import NIOCore
import Observability
import RequestPath
import Settings
import Synchronization
import Transport
import Vocabulary

/// Certificates are renewed while the gateway runs.
extension Gateway {
    /// How often the source of certificates is looked at. While certificates are missing, this is said as often.
    private static let certificatePeriod = TimeAmount.seconds(60)

    /// Looks at the source of certificates from now on.
    func watchCertificates() {
        let period = Self.certificatePeriod
        self.group.next().scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
            Task.detached {
                self.renewCertificates()
                self.renewTLSToApps()
            }
        }
    }

    /// Takes new certificates into use. If they are bad, the former ones stay.
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
            self.logger.error("certificates not renewed, the former ones are in use: \(reason)")
            registry.increment(registry.counter(MetricNames.tlsReloads, "failure"))
        case .missing(let reason):
            self.logger.warning(
                "no certificate yet, clients of the listeners with TLS are refused\(reason.map { ": \($0)" } ?? "")"
            )
        }
    }

    /// Takes renewed files of TLS with apps into use. Where they are bad, the former ones stay.
    private func renewTLSToApps() {
        let registry = self.foundations.registry
        for target in self.state.withLock({ $0.assembly }).configuration.targets {
            do throws(UpstreamTLSError) {
                guard try target.renewTLS() else { continue }
                self.logger.info("TLS with an app renewed", metadata: ["upstream": "\(target.settings.name)"])
                registry.increment(registry.counter(MetricNames.tlsReloads, "success"))
            } catch {
                self.logger.error("TLS with an app not renewed, the former files are in use: \(error)")
                registry.increment(registry.counter(MetricNames.tlsReloads, "failure"))
            }
        }
    }
}
