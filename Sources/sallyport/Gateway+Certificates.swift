import Glibc
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
    /// How often the files of certificates are looked at.
    private static let certificatePeriod = TimeAmount.seconds(60)

    /// Looks at the files of certificates from now on.
    func watchCertificates() {
        let period = Self.certificatePeriod
        self.group.next().scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
            Task.detached { self.renewCertificates() }
        }
    }

    /// Takes renewed files into use. If they are bad, the former certificates stay.
    private func renewCertificates() {
        let assembly = self.state.withLock { $0.assembly }
        guard let settings = assembly.tls.first?.settings else { return }
        let marks = FileMark.all(of: settings)
        guard
            self.certificateMarks.withLock({ former in
                defer { former = marks }
                return former != marks
            })
        else { return }
        let registry = self.foundations.registry
        do {
            let renewed = try settings.readAgain(from: .system, by: .gateway)
            if let fault = renewed.fault(for: assembly.settings) { throw fault }
            guard renewed != settings else { return }
            for tls in assembly.tls { try tls.replace(by: renewed) }
            self.show(renewed)
            self.logger.info(
                "certificates renewed",
                metadata: [
                    "certificates":
                        "\(renewed.certificates.compactMap { $0.facts.map { "\($0.title) until \($0.until.rfc3339Seconds)" } })"
                ]
            )
            registry.increment(registry.counter(MetricNames.tlsReloads, "success"))
        } catch {
            // They are looked at again as they are: a mode is mended, or the certificate becomes valid, without a new file.
            self.certificateMarks.withLock { $0 = [] }
            self.logger.error("certificates not renewed, the former ones are in use: \(error)")
            registry.increment(registry.counter(MetricNames.tlsReloads, "failure"))
        }
    }

    /// Takes note of certificates that were read with the settings. The next look reads the files again, whatever has
    /// happened to them meanwhile.
    func noteCertificates(_ settings: TLSSettings?) {
        self.certificateMarks.withLock { $0 = [] }
        if let settings { self.show(settings) }
    }

    /// Shows when the certificates in use expire. Of several with one name it is the first that does, and a name that is in
    /// use no more is not shown.
    private func show(_ settings: TLSSettings) {
        for title in Set(settings.certificates.compactMap(\.facts?.title)) {
            self.foundations.registry.read(MetricNames.tlsCertificateNotAfter, title) {
                let inUse = self.state.withLock { $0.assembly }.tls.first?.settings.certificates ?? []
                let ends = inUse.compactMap(\.facts).filter { $0.title == title }.map { Double($0.until.seconds) }
                return ends.min() ?? .nan
            }
        }
    }
}

/// What changes when a file is replaced, links being followed: Kubernetes replaces a linked directory.
struct FileMark: Equatable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// nil: there is no such file.
    private init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt(status.st_dev)
        self.inode = UInt(status.st_ino)
        self.size = Int(status.st_size)
        self.seconds = status.st_mtim.tv_sec
        self.nanoseconds = status.st_mtim.tv_nsec
    }

    static func all(of settings: TLSSettings) -> [FileMark?] { settings.files.map { FileMark($0) } }
}
