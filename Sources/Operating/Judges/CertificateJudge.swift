import AddressIntelligence
import Cryptography
import Settings
import Vocabulary

/// Checks the certificates in the settings for faults that make clients reject them.
enum CertificateJudge {
    /// Checks a chain and its key. Returns facts about the server's own certificate, and the first expiry in the chain.
    ///
    /// - Throws: The reason why clients would reject the certificate, or why it cannot be served.
    static func facts(_ chain: [UInt8], _ key: Secret, now: UnixTime) throws(CertificateFault) -> CertificateFacts {
        let certificates = try self.certificates(in: chain)
        let own = certificates[0]
        try self.check(key, of: certificates)
        try self.checkOrder(certificates)
        guard own.isForServers else {
            throw self.fault(
                "\(own.subject), which is not for servers by its key usage: clients refuse it",
                "request a certificate for servers (digitalSignature, serverAuth)"
            )
        }
        for certificate in certificates {
            if certificate.validUntil <= now {
                throw self.fault(
                    "\(certificate.subject), which expired on \(certificate.validUntil.rfc3339Seconds)",
                    "renew it"
                )
            }
            if certificate.validFrom > now {
                throw self.fault(
                    "\(certificate.subject), which is valid only from \(certificate.validFrom.rfc3339Seconds) on",
                    "check this machine's clock, or wait"
                )
            }
        }
        let isECDSA = if case .ellipticCurve = own.key { true } else { false }
        let facts = CertificateFacts(
            names: own.dnsNames,
            addresses: own.addresses.compactMap { address in address.withUnsafeBytes { IPAddress(networkOrder: $0) } },
            from: own.validFrom,
            until: certificates.map(\.validUntil).min() ?? own.validUntil,
            key: try self.name(of: own.key),
            isECDSA: isECDSA
        )
        guard !facts.names.isEmpty || !facts.addresses.isEmpty else {
            throw self.fault(
                "\(own.subject) without names: clients read only the subject's alternative names",
                "request a certificate with subjectAltName"
            )
        }
        return facts
    }

    /// Describes the fault in a file of certificate authorities; `nil` if it has none.
    static func fault(inAuthorities pem: [UInt8], now: UnixTime) -> String? {
        guard let authorities = Certificate.all(inPEM: pem) else { return self.damage }
        if authorities.isEmpty { return self.other(pem).found }
        if let other = authorities.first(where: { !$0.isAuthority }) {
            return "\(other.subject) is not the certificate of an authority"
        }
        guard authorities.allSatisfy({ $0.validUntil <= now }) else { return nil }
        return "\(authorities[0].subject) expired on \(authorities[0].validUntil.rfc3339Seconds)"
    }

    private static let damage = "a damaged certificate, or one that does not begin at the left margin"

    /// Says what a file without a PEM certificate contains, and how to convert it.
    private static func other(_ bytes: [UInt8]) -> (found: String, fix: String) {
        func has(_ label: String) -> Bool { bytes.contains("-----BEGIN \(label)-----".utf8) }
        if bytes.isEmpty { return ("an empty file", "write the certificate and its issuers") }
        if bytes.contains("PRIVATE KEY-----".utf8) {
            return (
                "a private key instead of a certificate",
                "set key_file to the key, and certificate_file to the certificate"
            )
        }
        if has("CERTIFICATE REQUEST") || has("NEW CERTIFICATE REQUEST") {
            return ("a certificate request", "use the certificate that the authority has issued for it")
        }
        if has("PKCS7") { return ("PKCS #7 instead of PEM", "convert it: openssl pkcs7 -print_certs -in FILE") }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return ("text in UTF-16", "save it as UTF-8 or ASCII")
        }
        if bytes[0] == 0x30 {
            return (
                "no certificate in PEM form, but DER or PKCS #12",
                "convert it: openssl x509 -inform DER -in FILE, or openssl pkcs12 -nokeys -in FILE"
            )
        }
        return ("no certificate in PEM form", "write it with its lines -----BEGIN and -----END CERTIFICATE-----")
    }

    /// Says what a file without a readable PEM key contains, and how to convert it.
    private static func otherKey(_ bytes: [UInt8]) -> (found: String, fix: String) {
        if bytes.isEmpty { return ("an empty file", "write the key of the certificate") }
        if bytes.contains("ENCRYPTED".utf8) {
            return ("an encrypted key", "write it without a password: openssl pkey -in FILE")
        }
        if bytes.contains("PRIVATE KEY-----".utf8) {
            return ("a damaged key, or one that does not begin at the left margin", "write it again")
        }
        if bytes.contains("PUBLIC KEY-----".utf8) { return ("a public key", "use the private key of the certificate") }
        if bytes[0] == 0x30 {
            return ("no private key in PEM form, but DER", "convert it: openssl pkey -inform DER -in FILE")
        }
        return ("no private key in PEM form", "use the key of the certificate")
    }

    private static func fault(_ found: String, _ fix: String, isOfKey: Bool = false) -> CertificateFault {
        CertificateFault(isOfKey: isOfKey, found: found, fix: fix)
    }

    private static func certificates(in pem: [UInt8]) throws(CertificateFault) -> [Certificate] {
        guard let certificates = Certificate.all(inPEM: pem) else {
            throw self.fault(self.damage, "write it again")
        }
        guard certificates.isEmpty else { return certificates }
        let other = self.other(pem)
        throw self.fault(other.found, other.fix)
    }

    private static func check(_ key: Secret, of certificates: [Certificate]) throws(CertificateFault) {
        guard let read = CertificateKey(pem: key) else {
            let other = self.otherKey(key.bytes)
            throw self.fault(other.found, other.fix, isOfKey: true)
        }
        if certificates[0].belongs(to: read) { return }
        if certificates.contains(where: { $0.belongs(to: read) }) {
            throw self.fault(
                "certificates in the wrong order: the server's own one is not the first",
                "write the server's own certificate first, and then its issuers"
            )
        }
        throw self.fault(
            "a key that does not belong to the certificate of \(certificates[0].subject)",
            "use the key that the certificate was requested with; both files are renewed together",
            isOfKey: true
        )
    }

    private static func checkOrder(_ certificates: [Certificate]) throws(CertificateFault) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst())
        where !certificate.isIssued(by: issuer) {
            let isElsewhere = certificates.contains { $0 != certificate && certificate.isIssued(by: $0) }
            throw isElsewhere
                ? self.fault(
                    "certificates in the wrong order: \(issuer.subject) follows, which has not issued \(certificate.subject)",
                    "write the server's own certificate first, and then each one's issuer"
                )
                : self.fault(
                    "\(issuer.subject) after \(certificate.subject), which \(certificate.issuer) has issued",
                    "write the certificate of that issuer there, or remove what does not belong to it"
                )
        }
        guard let last = certificates.last, last.namesIssuersAddress, last.subject != last.issuer,
            certificates.count == 1
        else { return }
        throw self.fault(
            "\(last.subject) without the certificate of its issuer \(last.issuer), which most clients need",
            "use the file with the whole chain (fullchain.pem), or append the issuer's certificate"
        )
    }

    private static func name(of key: Certificate.Key) throws(CertificateFault) -> String {
        switch key {
        case .ellipticCurve(let bits) where [256, 384, 521].contains(bits): return "P-\(bits)"
        case .rsa(let bits) where bits >= 2048: return "RSA-\(bits)"
        case .rsa(let bits):
            throw self.fault("an RSA key of \(bits) bits", "make a key on P-256, or with RSA of 2048 bits or more")
        case .ellipticCurve, .other:
            throw self.fault("a key of a kind that browsers do not accept", "make a key on P-256")
        }
    }
}
