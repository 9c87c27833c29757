import Dispatch
package import NIOCore
package import NIOSSL
package import Settings
import Synchronization
import Transport

/// One app, shared by all loops: its address, its TLS settings, and the last addresses of its name.
package final class UpstreamTarget: Sendable {
    package let settings: UpstreamSettings
    /// The app's own origin, as the app may write it in `Location`.
    package let origin: [UInt8]
    package let tls: NIOSSLContext?
    private let addresses: Mutex<[SocketAddress]>
    private let isLiteral: Bool
    /// The callbacks that wait for the current resolution; nil: none is running.
    private let waiting = Mutex<[@Sendable () -> Void]?>(nil)

    /// - Throws: The name of the first TLS file that cannot be used.
    package init(_ settings: UpstreamSettings) throws(UpstreamTLSError) {
        self.settings = settings
        let scheme = settings.isHTTPS ? "https" : "http"
        let isDefaultPort = settings.port == (settings.isHTTPS ? 443 : 80)
        self.origin = Array("\(scheme)://\(settings.host)\(isDefaultPort ? "" : ":\(settings.port)")".utf8)
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

    /// The last good addresses; empty until the name has been resolved once.
    package var currentAddresses: [SocketAddress] {
        self.addresses.withLock { $0 }
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
    static func context(_ settings: UpstreamSettings) throws(UpstreamTLSError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        func read<Value>(_ key: String, _ path: String?, _ body: (String) throws -> Value) throws(UpstreamTLSError)
            -> Value?
        {
            guard let path else { return nil }
            do {
                return try body(path)
            } catch {
                throw UpstreamTLSError(
                    description: "upstreams.\(settings.name).\(key): \(path) cannot be used: \(error)"
                )
            }
        }
        if let roots = try read("ca_file", settings.caFile, { try NIOSSLCertificate.fromPEMFile($0) }) {
            configuration.trustRoots = .certificates(roots)
        }
        if let chain = try read("certificate_file", settings.certificateFile, { try NIOSSLCertificate.fromPEMFile($0) })
        {
            configuration.certificateChain = chain.map { .certificate($0) }
        }
        if let key = try read("key_file", settings.keyFile, { try NIOSSLPrivateKey(file: $0, format: .pem) }) {
            configuration.privateKey = .privateKey(key)
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw UpstreamTLSError(description: "upstreams.\(settings.name): TLS cannot be set up: \(error)")
        }
    }
}
