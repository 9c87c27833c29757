package import AddressIntelligence
package import Vocabulary

/// TLS at the gateway's own addresses (`tls`).
package struct TLSSettings: Sendable, Equatable {
    /// The certificates. A client gets the first certificate for the requested name, ECDSA before RSA.
    package var certificates: [CertificateSettings] = []
    package var minVersion = TLSMinimum.v12
    package var clientCertificates = ClientCertificates.none
    /// The authorities of clients' certificates; `nil` if clients present no certificates.
    package var clientAuthorities: ClientAuthorities?

    package init() {}

    /// The files of certificates, keys and authorities.
    package var files: [String] {
        self.certificates.flatMap { [$0.certificateFile, $0.keyFile] }
            + [self.clientAuthorities?.file].compactMap(\.self)
    }

    /// Returns these settings with the current content of the files.
    ///
    /// - Throws: The fault of the first file that cannot be used.
    package func readAgain(
        from files: SettingsFiles,
        by judges: SettingsJudges
    ) throws(CertificateFault) -> TLSSettings {
        var renewed = self
        for (index, certificate) in self.certificates.enumerated() {
            renewed.certificates[index] = try CertificateSettings.read(
                certificate.certificateFile,
                certificate.keyFile,
                isDefault: certificate.isDefault,
                from: files,
                by: judges
            )
        }
        if let authorities = self.clientAuthorities {
            renewed.clientAuthorities = try ClientAuthorities.read(authorities.file, from: files, by: judges)
        }
        return renewed
    }

    /// Whether clients that ask for this host get a certificate that covers it.
    package func covers(_ host: String) -> Bool { self.gap(at: host, host) == nil }

    /// Returns a fault if any https URL of the settings lacks a certificate, unless trusted proxies are configured.
    package func fault(for settings: Settings) -> CertificateFault? {
        let served = settings.hosts.map(\.publicURL) + settings.management.filter(\.isSecure).compactMap(\.publicURL)
        guard settings.trustedProxies.isEmpty else { return nil }
        return served.lazy.compactMap { self.gap(at: $0) }.first
    }

    /// Returns why clients of this URL get no certificate that covers it. `nil` if they do, or do not use TLS.
    func gap(at url: PublicURL) -> CertificateFault? { url.isHTTPS ? self.gap(at: url.host, "\(url)") : nil }

    private func gap(at host: String, _ title: String) -> CertificateFault? {
        let covering = self.certificates.filter { $0.facts?.covers(host) ?? true }
        if covering.isEmpty {
            return CertificateFault(
                isOfKey: false,
                found: "certificates for \(self.names.joined(separator: ", ")), and none for \(title)",
                fix: "get a certificate for \(host) and add it to tls.certificates"
            )
        }
        // A client that connects to an address sends no name (RFC 6066 3).
        guard CertificateFacts.address(host) != nil, self.certificates.count > 1, !covering.contains(where: \.isDefault)
        else { return nil }
        return CertificateFault(
            isOfKey: false,
            found: "no default certificate for \(title), although clients that connect to an address send no host name",
            fix: "write default: true at the certificate for \(host)"
        )
    }

    /// The names and addresses of all certificates.
    var names: [String] {
        self.certificates.flatMap { ($0.facts?.names ?? []) + ($0.facts?.addresses ?? []).map(\.description) }
    }
}

/// The oldest version of TLS for clients. Versions before 1.2 are not served (RFC 8996).
package enum TLSMinimum: String, Sendable, CaseIterable, SettingWord {
    case v12 = "1.2"
    case v13 = "1.3"
}

/// The authorities that may issue clients' certificates.
package struct ClientAuthorities: Sendable, Equatable {
    package var file: String
    /// The certificates in PEM.
    package var content: [UInt8]

    /// Reads and checks the file.
    ///
    /// - Throws: The fault of the file.
    package static func read(
        _ file: String,
        from files: SettingsFiles,
        by judges: SettingsJudges
    ) throws(CertificateFault) -> ClientAuthorities {
        let content = try CertificateSettings.content(file, isKey: false, files)
        if let fault = judges.authorities(content) {
            throw CertificateFault(
                isOfKey: false,
                found: "\(file): \(fault)",
                fix: "write the certificate of the authority that issues your clients' certificates"
            )
        }
        return ClientAuthorities(file: file, content: content)
    }
}

/// A certificate with its key, as currently in the files.
package struct CertificateSettings: Sendable, Equatable {
    package var certificateFile: String
    package var keyFile: String
    /// Whether clients get the certificate if they name no host, or a host that no certificate covers.
    package var isDefault: Bool
    /// The certificate and its issuers, as PEM.
    package var chain: [UInt8]
    /// The private key in PEM.
    package var key: Secret
    /// The facts of the certificate; `nil` if certificates are not read.
    package var facts: CertificateFacts?

    /// Reads and checks the pair of files.
    ///
    /// - Throws: The fault of one of the files.
    package static func read(
        _ certificateFile: String,
        _ keyFile: String,
        isDefault: Bool = false,
        from files: SettingsFiles,
        by judges: SettingsJudges
    ) throws(CertificateFault) -> CertificateSettings {
        let chain = try Self.content(certificateFile, isKey: false, files)
        if let standing = files.standing(keyFile), standing.isExposed {
            throw CertificateFault(
                isOfKey: true,
                found: "\(keyFile) with \(standing): other users than the gateway's can read the key",
                fix: "chmod 600 \(keyFile); Kubernetes: defaultMode: 0400, or 0440 with fsGroup"
            )
        }
        let key = Secret(try Self.content(keyFile, isKey: true, files))
        let facts: CertificateFacts?
        do throws(CertificateFault) {
            facts = try judges.certificate(chain, key)
        } catch {
            throw CertificateFault(
                isOfKey: error.isOfKey,
                found: "\(error.isOfKey ? keyFile : certificateFile): \(error.found)",
                fix: error.fix
            )
        }
        return CertificateSettings(
            certificateFile: certificateFile,
            keyFile: keyFile,
            isDefault: isDefault,
            chain: chain,
            key: key,
            facts: facts
        )
    }

    /// Returns the text of a file of certificates or keys.
    static func content(
        _ path: String,
        isKey: Bool,
        _ files: SettingsFiles
    ) throws(CertificateFault) -> [UInt8] {
        do throws(SettingsFiles.Fault) {
            let bytes = try files.read(path, Self.maxBytes)
            // Some editors write a byte order mark. Not all readers of PEM skip it.
            return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        } catch {
            let standing = files.standing(path)
            throw CertificateFault(
                isOfKey: isKey,
                found: "\(error.sentence) at \(path)\(standing.map { " (\($0))" } ?? "")",
                fix: error == .unreadable
                    ? "give it to the user of the gateway: chown \(FilePermissions.user) \(path)" : "check the path"
            )
        }
    }

    private static let maxBytes = 1_048_576
}

/// A certificate file or key file that cannot be used.
package struct CertificateFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the file of the key has the fault.
    package let isOfKey: Bool
    package let found: String
    package let fix: String

    package var description: String { "\(self.found); \(self.fix)" }

    package init(isOfKey: Bool, found: String, fix: String) {
        self.isOfKey = isOfKey
        self.found = found
        self.fix = fix
    }
}

/// The names, validity and key of a certificate.
package struct CertificateFacts: Sendable, Equatable {
    /// The names in lower case, without a trailing dot; the first label may be `*`.
    package var names: [String]
    package var addresses: [IPAddress]
    package var from: UnixTime
    /// The earliest expiry of the certificate and its issuers in the file.
    package var until: UnixTime
    /// The kind of key, such as `P-256` or `RSA-2048`.
    package var key: String
    package var isECDSA: Bool

    package init(
        names: [String],
        addresses: [IPAddress] = [],
        from: UnixTime,
        until: UnixTime,
        key: String,
        isECDSA: Bool
    ) {
        self.names = names
        self.addresses = addresses
        self.from = from
        self.until = until
        self.key = key
        self.isECDSA = isECDSA
    }

    /// The first name, for metrics and messages.
    package var title: String { self.names.first ?? self.addresses.first?.description ?? "" }

    /// Whether the certificate is valid for a host (RFC 9525 6.3).
    ///
    /// - Parameter host: A name in lower case without a trailing dot, or an address (IPv6 in brackets).
    package func covers(_ host: String) -> Bool {
        if let address = Self.address(host) { return self.addresses.contains(address) }
        return self.names.contains(host) || Self.wildcard(for: host).map(self.names.contains) ?? false
    }

    /// Returns the address that a host of a URL is. `nil` for a name.
    static func address(_ host: String) -> IPAddress? {
        IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
    }

    /// Returns the only wildcard that can cover a name: `*.example.com` for `a.example.com`; `nil` if no wildcard can.
    package static func wildcard(for host: String) -> String? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot != host.startIndex else { return nil }
        return "*" + host[dot...]
    }

    /// Returns the days until the certificate expires, rounded toward 0.
    package func daysLeft(at now: UnixTime) -> Int { Int((self.until.seconds - now.seconds) / 86_400) }
}
