import NIOSSL
import Settings

/// An admin listener that a command asks.
struct AdminTarget {
    let address: ListenAddress
    /// nil: without TLS.
    let trust: Trust?

    /// Whose answers are taken over TLS.
    enum Trust: Sendable {
        /// Anyone's: for a question without a secret, as orchestrators ask it.
        case anyone
        /// Those of a holder of one of these certificates, whatever their names are: a listener for operators is asked by
        /// its address.
        case holder([NIOSSLCertificate])

        func takes(_ certificate: NIOSSLCertificate?) -> Bool {
            switch self {
            case .anyone: true
            case .holder(let known): certificate.map(known.contains) ?? false
            }
        }
    }

    /// The address in a command line: `127.0.0.1:9090`, or with TLS `https://127.0.0.1:9090`; nil: it is none.
    static func read(_ text: String) -> (address: ListenAddress, isSecure: Bool)? {
        let scheme = "https://"
        let isSecure = text.hasPrefix(scheme)
        let address = ListenAddress(isSecure ? String(text.dropFirst(scheme.utf8.count)) : text)
        return address.map { ($0, isSecure) }
    }

    /// What `read` takes, for a message.
    static let allowed = "an address and a port, e.g. 127.0.0.1:9090, or https://127.0.0.1:9090 with TLS"
}

extension SettingsOptions {
    /// The admin listeners to ask: those in the command line, else the one of the settings. Without it the command ends and
    /// says so.
    ///
    /// - Parameters:
    ///   - named: Those in the command line.
    ///   - sendsSecret: Whether they must prove with TLS that they are gateways with these settings.
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
            throw Console.failure("\(file) has no certificate, so the admin listener cannot be known by it")
        }
        return certificate
    }
}
