import AddressIntelligence
import Vocabulary

extension SettingsBuilder {
    /// A certificate that expires within this number of days causes a warning.
    static let renewalDays = 14

    /// Builds `tls`; `nil` if the key is missing or not a mapping.
    mutating func tls() -> TLSSettings? {
        guard let tree = self.tree.tree("tls") else { return nil }
        var tls = TLSSettings()
        tree.set(.tls, in: &tls)
        let isShorthand = tree["certificate_file"] != nil || tree["key_file"] != nil
        let written = tree.trees("certificates")
        if isShorthand, tree["certificates"] != nil {
            self.report(
                tree.place(of: "certificates"),
                found: "both certificates and certificate_file",
                allowed: "one of them",
                fix: "move the pair into certificates"
            )
        } else if !isShorthand, written.isEmpty {
            self.reportMissing(
                tree.place(of: "certificate_file", or: "certificates"),
                "certificate_file and key_file, or certificates",
                "add the pair of files; sallyport certificate --self-signed makes one for tests"
            )
        }
        let pairs = isShorthand ? [tree] : written
        tls.certificates = pairs.compactMap { self.certificate($0, isOnly: pairs.count == 1) }
        self.checkDefaults(tls, written)
        self.warnOfHidden(tls, written)
        tls.clientAuthorities = self.clientAuthorities(tree)
        if tls.clientCertificates != .none, tree["client_ca_file"] == nil {
            self.reportMissing(
                tree.place(of: "client_ca_file", or: "client_certificates"),
                "a PEM file, because clients are asked for certificates",
                "add the authority that issues them, or write client_certificates: none"
            )
        }
        return tls
    }

    /// Returns the paths of the certificate files of `tls`, without reading the files.
    func certificateFiles() -> [String] {
        self.certificatePairs.compactMap { self.resolved($0["certificate_file"]) }
    }

    /// The mappings that name a certificate and its key: `tls` itself, or the elements of `tls.certificates`.
    private var certificatePairs: [SettingsTree] {
        guard let tree = self.tree.tree("tls") else { return [] }
        return tree["certificate_file"] != nil ? [tree] : tree.trees("certificates")
    }

    private mutating func certificate(_ tree: SettingsTree, isOnly: Bool) -> CertificateSettings? {
        for (name, other) in [("certificate_file", "key_file"), ("key_file", "certificate_file")]
        where tree[name] == nil {
            self.reportMissing(
                tree.place(of: name, or: other),
                "the certificate and its key",
                "add \(name)"
            )
        }
        guard let certificate = self.resolved(tree["certificate_file"]), let key = self.resolved(tree["key_file"]),
            !self.lacksFiles
        else { return nil }
        do throws(CertificateFault) {
            let read = try CertificateSettings.read(
                certificate,
                key,
                isDefault: tree.boolean("default") ?? isOnly,
                from: self.files,
                by: self.judges
            )
            if let facts = read.facts { self.warn(of: facts, tree.place(of: "certificate_file")) }
            return read
        } catch {
            self.report(
                tree.place(of: error.isOfKey ? "key_file" : "certificate_file"),
                found: error.found,
                allowed: error.isOfKey
                    ? "a PEM file with the key of the certificate, which only the gateway can read"
                    : "a PEM file with a valid certificate, and then its issuers",
                fix: error.fix
            )
            return nil
        }
    }

    private mutating func warn(of facts: CertificateFacts, _ place: KeyPlace) {
        let days = facts.daysLeft(at: self.judges.now())
        if days < Self.renewalDays {
            self.warnings.append(
                "\(place.key): the certificate of \(facts.title) expires in \(days) days, or one of its issuers does, on \(facts.until.rfc3339Seconds): renew it"
            )
        }
        if !facts.isECDSA {
            self.warnings.append(
                "\(place.key): the key of \(facts.title) is \(facts.key): a certificate on P-256 costs a third of the time of each handshake"
            )
        }
    }

    private mutating func checkDefaults(_ tls: TLSSettings, _ written: [SettingsTree]) {
        let defaults = written.filter { $0.boolean("default") == true }
        guard defaults.count > 1 else { return }
        self.report(
            defaults[1].place(of: "default"),
            found: "true a second time",
            allowed: "one certificate with default: true",
            fix: "remove one: the other is at \(defaults[0].place(of: "default").origin)"
        )
    }

    /// Warns of certificates that no client gets: earlier certificates with this kind of key have all their names.
    private mutating func warnOfHidden(_ tls: TLSSettings, _ written: [SettingsTree]) {
        guard tls.certificates.count == written.count else { return }
        for (index, (certificate, tree)) in zip(tls.certificates, written).enumerated() where !certificate.isDefault {
            guard let facts = certificate.facts else { continue }
            let before = tls.certificates[..<index].compactMap(\.facts).filter { $0.isECDSA == facts.isECDSA }
            guard facts.names.allSatisfy({ name in before.contains { $0.names.contains(name) } }) else { continue }
            let fix =
                facts.names.isEmpty
                ? "clients that connect to an address send no host name: write default: true here"
                : "an earlier certificate has all its names: remove one of the two"
            self.warnings.append(
                "\(tree.key(of: "certificate_file")): the certificate of \(facts.title) is never shown: \(fix)"
            )
        }
    }

    private mutating func clientAuthorities(_ tree: SettingsTree) -> ClientAuthorities? {
        guard let path = self.resolved(tree["client_ca_file"]), !self.lacksFiles else { return nil }
        do throws(CertificateFault) {
            return try ClientAuthorities.read(path, from: self.files, by: self.judges)
        } catch {
            self.report(
                tree.place(of: "client_ca_file"),
                found: error.found,
                allowed: "a PEM file with the certificates of authorities",
                fix: error.fix
            )
            return nil
        }
    }

    /// Reports https hosts for which clients get no certificate that covers them. With `trusted_proxies`, only warns.
    mutating func checkCovering(_ settings: Settings) {
        // If a certificate could not be read, its names are unknown, and nothing is reported.
        guard let tls = settings.tls, !tls.certificates.isEmpty, !self.isPartial,
            tls.certificates.count == self.certificatePairs.count
        else { return }
        var written = zip(settings.hosts, self.writtenHosts).map { (url: $0.publicURL, tree: $1) }
        for tree in (self.tree.list("listen") ?? []).trees(below: "listen") where tree.boolean("tls") != false {
            if let url = tree.url("public_url") { written.append((url, tree)) }
        }
        for (url, tree) in written {
            guard let gap = tls.gap(at: url) else { continue }
            guard settings.trustedProxies.isEmpty else {
                self.warnings.append("\(tree.key(of: "public_url")): \(gap.found): it is served behind a proxy only")
                continue
            }
            self.report(
                tree.place(of: "public_url"),
                found: gap.found,
                allowed: "an https host for which clients get a certificate of tls",
                fix: gap.fix
            )
        }
    }
}
