import Cryptography
import Dispatch
package import NIOCore
package import NIOSSL
package import Settings
import Synchronization
import Transport
import Vocabulary

/// One app, shared by all loops: its address, its TLS settings, and the last addresses of its name.
package final class UpstreamTarget: Sendable {
    package let settings: UpstreamSettings
    /// The app's own origin, as the app may write it in `Location`.
    package let origin: [UInt8]
    package let tls: NIOSSLContext?
    /// The addresses of the name that do not answer.
    let memory = AddressMemory()
    /// What was in the files of the TLS settings.
    private let files: [Digest256?]
    private let addresses: Mutex<[SocketAddress]>
    private let isLiteral: Bool
    /// Until when nothing more is told about the app, by reason.
    private let silences = Mutex<[Reason: NIODeadline]>([:])
    /// The callbacks that wait for the current resolution; nil: none is running.
    private let waiting = Mutex<[@Sendable () -> Void]?>(nil)

    /// - Throws: The name of the first TLS file that cannot be used.
    package init(_ settings: UpstreamSettings) throws(UpstreamTLSError) {
        self.settings = settings
        let scheme = settings.isHTTPS ? "https" : "http"
        let isDefaultPort = settings.port == (settings.isHTTPS ? 443 : 80)
        self.origin = Array("\(scheme)://\(settings.host)\(isDefaultPort ? "" : ":\(settings.port)")".utf8)
        self.files = UpstreamTLS.digests(settings)
        self.tls = settings.isHTTPS ? try UpstreamTLS.context(settings) : nil
        let bare = settings.host.hasPrefix("[") ? String(settings.host.dropFirst().dropLast()) : settings.host
        if let address = try? SocketAddress(ipAddress: bare, port: settings.port) {
            self.isLiteral = true
            self.addresses = Mutex([address])
        } else {
            self.isLiteral = false
            self.addresses = Mutex([])
        }
    }

    /// The target of these settings: one of `former` that has equal settings and files, or a new one. A target that stays
    /// keeps its connections.
    ///
    /// - Throws: The name of the first TLS file that cannot be used.
    package static func make(
        _ settings: UpstreamSettings,
        keeping former: [UpstreamTarget]
    ) throws(UpstreamTLSError) -> UpstreamTarget {
        if let kept = former.first(where: { $0.settings == settings }), kept.files == UpstreamTLS.digests(settings) {
            return kept
        }
        return try UpstreamTarget(settings)
    }

    /// The last good addresses; empty until the name has been resolved once.
    package var currentAddresses: [SocketAddress] {
        self.addresses.withLock { $0 }
    }

    /// Whether the operator may be told something for this reason now: once a minute, for all loops together.
    func mayTell(_ reason: Reason, now: NIODeadline) -> Bool {
        self.silences.withLock { silences in
            if let end = silences[reason], now < end { return false }
            silences[reason] = now + .minutes(1)
            return true
        }
    }

    /// Resolves the name on another thread, because `getaddrinfo` blocks. If that fails, the last good addresses stay.
    package func refresh(_ then: @escaping @Sendable () -> Void = {}) {
        guard !self.isLiteral else { return then() }
        let isUnderWay = self.waiting.withLock { waiting in
            defer { waiting = (waiting ?? []) + [then] }
            return waiting != nil
        }
        guard !isUnderWay else { return }
        DispatchQueue.global(qos: .utility).async {
            let fresh = SocketAddress.resolve(self.settings.host, port: self.settings.port)
            if !fresh.isEmpty { self.addresses.withLock { $0 = fresh } }
            let waiting = self.waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting ?? []
            }
            for then in waiting { then() }
        }
    }
}

/// A TLS file for connections to an app that cannot be used.
package struct UpstreamTLSError: Error, CustomStringConvertible {
    package let description: String
}

/// TLS to apps with NIOSSL. Verification cannot be switched off (CVE-2026-31923).
enum UpstreamTLS {
    /// Where systems keep the authorities that are trusted without `ca_file`.
    private static let systemAuthorities = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]

    /// The digests of all files on which the context depends; nil for one that cannot be read.
    static func digests(_ settings: UpstreamSettings) -> [Digest256?] {
        guard settings.isHTTPS else { return [] }
        let own = [settings.certificateFile, settings.keyFile].compactMap { $0 }
        return ((settings.caFile.map { [$0] } ?? self.systemAuthorities) + own).map(self.digest)
    }

    private static func digest(_ path: String) -> Digest256? {
        SettingsFiles.bytes(ofFile: path, atMost: .max).map { SHA256.digest($0) }
    }

    static func context(_ settings: UpstreamSettings) throws(UpstreamTLSError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        var subject = ""
        do {
            if let file = settings.caFile {
                subject = ".ca_file: \(file) cannot be used"
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            }
            if let file = settings.certificateFile {
                subject = ".certificate_file: \(file) cannot be used"
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
            }
            if let file = settings.keyFile {
                subject = ".key_file: \(file) cannot be used"
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
            }
            subject = ": TLS cannot be set up"
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw UpstreamTLSError(description: "upstreams.\(settings.name)\(subject): \(error)")
        }
    }
}
