package import AddressIntelligence
package import Vocabulary

/// TLS at the gateway's own addresses (`tls`).
package struct TLSSettings: Sendable, Equatable {
    /// One or more; a name that several have is served by the first, one on a curve before one with RSA.
    package var certificates: [CertificateSettings] = []
    package var minVersion = TLSMinimum.v12
    package var clientCertificates = ClientCertificates.none
    /// The authorities of clients' certificates; nil: none may show one.
    package var clientAuthorities: ClientAuthorities?

    package init() {}

    /// The files of certificates, keys and authorities.
    package var files: [String] {
        self.certificates.flatMap { [$0.certificateFile, $0.keyFile] }
            + [self.clientAuthorities?.file].compactMap(\.self)
    }

    /// The same settings with what is in the files now.
    ///
    /// - Throws: `CertificateFault` of the first pair that cannot be used, or of the authorities.
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
            let content = try CertificateSettings.content(authorities.file, isKey: false, files)
            if let fault = judges.authorities(content) {
                throw CertificateFault(
                    isOfKey: false,
                    found: "\(authorities.file): \(fault)",
                    mend: "write the certificate of the authority that issues your clients' certificates"
                )
            }
            renewed.clientAuthorities?.content = content
        }
        return renewed
    }

    /// Whether a certificate covers the host of a URL.
    package func covers(_ host: String) -> Bool {
        self.certificates.contains { $0.facts?.covers(host) ?? true }
    }
}

/// The oldest version of TLS that clients may speak. Older ones than 1.2 are not served (RFC 8996).
package enum TLSMinimum: String, Sendable, CaseIterable, SettingWord {
    case v12 = "1.2"
    case v13 = "1.3"
}

/// The certificates by which clients' certificates are verified.
package struct ClientAuthorities: Sendable, Equatable {
    package var file: String
    /// PEM.
    package var content: [UInt8]
}

/// A certificate with its key, as it is in the files now.
package struct CertificateSettings: Sendable, Equatable {
    package var certificateFile: String
    package var keyFile: String
    /// Whether clients get it that name no host, or one that no certificate has.
    package var isDefault: Bool
    /// The certificate and its issuers, as PEM.
    package var chain: [UInt8]
    /// PEM.
    package var key: Secret
    /// What the certificate says; nil where nobody reads it.
    package var facts: CertificateFacts?

    /// Reads the pair of files and judges it.
    ///
    /// - Throws: What is wrong with one of them.
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
                found: "\(keyFile) with \(standing): others than the gateway can read the key",
                mend: "chmod 600 \(keyFile); Kubernetes: defaultMode: 0400, or 0440 with fsGroup"
            )
        }
        let key = Secret(try Self.content(keyFile, isKey: true, files))
        return CertificateSettings(
            certificateFile: certificateFile,
            keyFile: keyFile,
            isDefault: isDefault,
            chain: chain,
            key: key,
            facts: try judges.certificate(chain, key)
        )
    }

    static func content(
        _ path: String,
        isKey: Bool,
        _ files: SettingsFiles
    ) throws(CertificateFault) -> [UInt8] {
        do throws(SettingsFiles.Fault) {
            return try files.read(path, Self.maxBytes)
        } catch {
            let standing = files.standing(path)
            throw CertificateFault(
                isOfKey: isKey,
                found: "\(error.sentence) at \(path)\(standing.map { " (\($0))" } ?? "")",
                mend: standing == nil
                    ? "check the path" : "give it to the user of the gateway: chown \(FileStanding.user) \(path)"
            )
        }
    }

    private static let maxBytes = 1_048_576
}

/// What is wrong with a pair of files.
package struct CertificateFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether it is the file of the key.
    package let isOfKey: Bool
    package let found: String
    package let mend: String

    package var description: String { "\(self.found); \(self.mend)" }

    package init(isOfKey: Bool, found: String, mend: String) {
        self.isOfKey = isOfKey
        self.found = found
        self.mend = mend
    }
}

/// What a certificate says of itself, and of its key.
package struct CertificateFacts: Sendable, Equatable {
    /// Lower case, without a trailing dot; the first label may be `*`.
    package var names: [String]
    package var addresses: [IPAddress]
    package var from: UnixTime
    package var until: UnixTime
    /// `P-256`, `RSA-2048`
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

    /// Whether a client that asks for this host accepts the certificate (RFC 9525 6.3).
    ///
    /// - Parameter host: A name in lower case without a trailing dot, or an address, an IPv6 one in brackets.
    package func covers(_ host: String) -> Bool {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        if let address = IPAddress(bare) { return self.addresses.contains(address) }
        return self.names.contains(host) || Self.wildcard(for: host).map(self.names.contains) ?? false
    }

    /// The wildcard that covers a name: `*.example.com` for `a.example.com`; nil: none does. A wildcard takes the place of
    /// one label, so that no other wildcard covers it.
    package static func wildcard(for host: String) -> String? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot != host.startIndex else { return nil }
        return "*" + host[dot...]
    }

    /// The days until it expires, rounded down.
    package func daysLeft(at now: UnixTime) -> Int { Int((self.until.seconds - now.seconds) / 86_400) }
}
