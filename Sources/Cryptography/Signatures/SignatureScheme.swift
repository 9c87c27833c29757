/// A signature algorithm with its parameters.
package enum SignatureScheme: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 8.2).
    case rsaPKCS1(SHA2)
    /// RSASSA-PSS (RFC 8017 8.1). MGF1 uses the signature's hash, and the salt has the hash's length (RFC 7518 3.5).
    case rsaPSS(SHA2)
    /// ECDSA (FIPS 186-4) with the hash that belongs to the curve (RFC 7518 3.4).
    case ecdsa(EllipticCurve)
    /// Ed25519 (RFC 8032 5.1).
    case ed25519
}

/// The NIST curves (FIPS 186-4 D.1.2).
package enum EllipticCurve: String, CaseIterable, Sendable, Hashable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The length in bytes of a coordinate, and of each half of a signature.
    package var length: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// The hash that signatures on the curve use.
    var hash: SHA2 {
        switch self {
        case .p256: .sha256
        case .p384: .sha384
        case .p521: .sha512
        }
    }

    init?(openSSLName name: String) {
        switch name {
        case "prime256v1", "P-256": self = .p256
        case "secp384r1", "P-384": self = .p384
        case "secp521r1", "P-521": self = .p521
        default: return nil
        }
    }
}

/// The kind of a key, which determines its signature schemes.
package enum KeyKind: Sendable, Hashable {
    case rsa
    case ellipticCurve(EllipticCurve)
    case ed25519

    /// The schemes that keys of this kind support.
    var schemes: [SignatureScheme] {
        switch self {
        case .rsa:
            [SHA2.sha256, .sha384, .sha512].flatMap { [SignatureScheme.rsaPKCS1($0), .rsaPSS($0)] }
        case .ellipticCurve(let curve): [.ecdsa(curve)]
        case .ed25519: [.ed25519]
        }
    }
}
