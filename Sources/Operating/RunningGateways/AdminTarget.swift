import NIOSSL
import Settings

/// An admin listener that a command connects to.
struct AdminTarget {
    let address: ListenAddress
    /// The trusted certificates. `nil` for a listener without TLS.
    let trust: Trust?

    /// The certificates that are accepted over TLS.
    enum Trust: Sendable {
        /// Any certificate, for requests without a secret, as orchestrators send them.
        case anyone
        /// One of these certificates, whatever its names are, because the listener is reached by its address.
        case holder([NIOSSLCertificate])

        func takes(_ certificate: NIOSSLCertificate?) -> Bool {
            switch self {
            case .anyone: true
            case .holder(let known): certificate.map(known.contains) ?? false
            }
        }
    }

    /// Reads an address in a command line: `127.0.0.1:9090`, or `https://127.0.0.1:9090` with TLS. `nil` if invalid.
    static func read(_ text: String) -> (address: ListenAddress, isSecure: Bool)? {
        let scheme = "https://"
        let isSecure = text.hasPrefix(scheme)
        let address = ListenAddress(isSecure ? String(text.dropFirst(scheme.utf8.count)) : text)
        return address.map { ($0, isSecure) }
    }

    /// The values that `read` accepts, for a message.
    static let allowed = "an address and a port, e.g. 127.0.0.1:9090, or https://127.0.0.1:9090 with TLS"
}

extension SettingsOptions {
    /// Returns the admin listeners in the command line or, without any, the listener in the settings. Ends the command
    /// with a message if the settings have no admin listener.
    ///
    /// - Parameters:
    ///   - named: The listeners in the command line.
    ///   - sendsSecret: True if the listeners must prove with TLS that they are gateways with these settings.
    func adminTargets(_ named: [String], sendsSecret: Bool) throws -> [AdminTarget] {
        let named = named.compactMap { AdminTarget.read($0) }
        var certificates: [NIOSSLCertificate] = []
        var places = named
        if named.isEmpty || sendsSecret && named.contains(where: { $0.isSecure }) {
            let admin = try self.adminListener()
            if named.isEmpty { places = [(admin.listener.address, admin.listener.isSecure)] }
            if sendsSecret { certificates = try admin.certificateFiles.map(Self.ownCertificate) }
        }
        return places.map { address, isSecure in
            AdminTarget(address: address, trust: isSecure ? (sendsSecret ? .holder(certificates) : .anyone) : nil)
        }
    }

    private func adminListener() throws -> AdminListener {
        let admin: AdminListener?
        do {
            admin = try SettingsLoader.adminListener(file: self.config, environment: Process.environment)
        } catch {
            throw Console.failure("invalid settings: \(error.problems.first.map { "\($0)" } ?? "admin.listen")")
        }
        guard let admin else { throw Console.failure("there is no admin listener to ask") }
        return admin
    }

    private static func ownCertificate(_ file: String) throws -> NIOSSLCertificate {
        guard let certificate = try? NIOSSLCertificate.fromPEMFile(file).first else {
            throw Console.failure("\(file) contains no certificate, so the admin listener cannot be verified")
        }
        return certificate
    }
}
