import AddressIntelligence
import Cryptography
import Settings
import Vocabulary

/// Reads the certificates of `tls`, and says what clients would refuse.
enum CertificateJudge {
    /// What a certificate says.
    ///
    /// - Throws: Why no client would accept it, or why it cannot be served.
    static func facts(
        _ chain: [UInt8],
        _ key: Secret,
        now: UnixTime
    ) throws(CertificateFault) -> CertificateFacts {
        let certificates = try self.certificates(in: chain)
        let own = certificates[0]
        try self.check(key, of: certificates)
        try self.checkOrder(certificates)
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
            until: own.validUntil,
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

    /// What is wrong with a file of authorities, in a sentence; nil: nothing.
    static func fault(inAuthorities pem: [UInt8]) -> String? {
        guard let authorities = Certificate.all(inPEM: pem) else { return "a damaged certificate" }
        if authorities.isEmpty { return "no certificate in PEM form" }
        return authorities.first { !$0.isAuthority }.map { "\($0.subject) is not the certificate of an authority" }
    }

    private static func fault(_ found: String, _ mend: String, isOfKey: Bool = false) -> CertificateFault {
        CertificateFault(isOfKey: isOfKey, found: found, mend: mend)
    }

    private static func certificates(in pem: [UInt8]) throws(CertificateFault) -> [Certificate] {
        guard let certificates = Certificate.all(inPEM: pem) else {
            throw self.fault("a damaged certificate", "write it again")
        }
        guard certificates.isEmpty else { return certificates }
        let isKey = pem.contains("PRIVATE KEY-----".utf8)
        throw isKey
            ? self.fault(
                "a private key in place of a certificate",
                "name the key in key_file, and the certificate here"
            )
            : self.fault("no certificate in PEM form", "convert it: openssl x509 -inform DER -in FILE")
    }

    private static func check(_ key: Secret, of certificates: [Certificate]) throws(CertificateFault) {
        guard let read = CertificateKey(pem: key) else {
            let isEncrypted = key.bytes.contains("ENCRYPTED".utf8)
            throw isEncrypted
                ? self.fault("an encrypted key", "write it without a password: openssl pkey -in FILE", isOfKey: true)
                : self.fault("no private key in PEM form", "name the key of the certificate", isOfKey: true)
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
            "name the key with which that certificate was requested; both files are renewed together",
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
            "\(last.subject) without the certificate of its issuer \(last.issuer), without which most clients refuse it",
            "name the file with the whole chain (fullchain.pem), or append the issuer's certificate"
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
