import Cryptography

/// The signature algorithms (RFC 7518 3.1, RFC 8037 3.1), with their names in `alg`. `none` is not included.
package enum JWSAlgorithm: String, CaseIterable, Sendable, Hashable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// EdDSA with Ed25519 only.
    case edDSA = "EdDSA"
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    /// The algorithms whose signatures a published key can verify.
    package static let asymmetric = Set(Self.allCases.filter { $0.hash == nil })

    /// The scheme of a key pair; `nil` for HMACs with a shared secret.
    var scheme: SignatureScheme? {
        switch self {
        case .rs256: .rsaPKCS1(.sha256)
        case .rs384: .rsaPKCS1(.sha384)
        case .rs512: .rsaPKCS1(.sha512)
        case .ps256: .rsaPSS(.sha256)
        case .ps384: .rsaPSS(.sha384)
        case .ps512: .rsaPSS(.sha512)
        case .es256: .ecdsa(.p256)
        case .es384: .ecdsa(.p384)
        case .es512: .ecdsa(.p521)
        case .edDSA: .ed25519
        case .hs256, .hs384, .hs512: nil
        }
    }

    /// The hash of an HMAC; `nil` for signatures.
    var hash: SHA2? {
        switch self {
        case .hs256: .sha256
        case .hs384: .sha384
        case .hs512: .sha512
        default: nil
        }
    }

    /// Returns the algorithms that a key of this kind can be used with.
    static func usable(with kind: KeyKind) -> Set<Self> {
        switch kind {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case .ellipticCurve(.p256): [.es256]
        case .ellipticCurve(.p384): [.es384]
        case .ellipticCurve(.p521): [.es512]
        case .ed25519: [.edDSA]
        }
    }
}
