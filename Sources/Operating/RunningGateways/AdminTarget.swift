import NIOSSL
import Settings

/// An admin listener that a command connects to.
struct AdminTarget {
    let address: ListenAddress
    /// The accepted certificates; `nil` for a listener without TLS.
    let trust: Trust?

    /// Which certificates are accepted.
    enum Trust: Sendable {
        /// Any certificate. Only for requests without a secret.
        case anyone
        /// One of these certificates. Their names are not verified, because the listener is reached by address.
        case holder([NIOSSLCertificate])

        func takes(_ certificate: NIOSSLCertificate?) -> Bool {
            switch self {
            case .anyone: true
            case .holder(let known): certificate.map(known.contains) ?? false
            }
        }
    }

    /// Reads `127.0.0.1:9090` or, for TLS, `https://127.0.0.1:9090`; `nil` if the text has another form.
    static func read(_ text: String) -> (address: ListenAddress, isSecure: Bool)? {
        let scheme = "https://"
        let isSecure = text.hasPrefix(scheme)
        let address = ListenAddress(isSecure ? String(text.dropFirst(scheme.utf8.count)) : text)
        return address.map { ($0, isSecure) }
    }

    /// What `read` accepts, for messages.
    static let allowed = "an address and a port, e.g. 127.0.0.1:9090, or https://127.0.0.1:9090 with TLS"
}

extension SettingsOptions {
    /// Returns the admin listeners to call. Ends the command with a message if the settings have none.
    ///
    /// - Parameters:
    ///   - named: The listeners in the command line. If empty, the listener in the settings is used.
    ///   - sendsSecret: True if listeners with TLS must present a certificate in the settings.
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
