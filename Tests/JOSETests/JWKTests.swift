import Cryptography
import JOSE
import Testing
import Vocabulary

@Suite struct JWKTests {
    private static let point = """
        "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
        """

    @Test(arguments: [
        #"{"kty":"EC","crv":"P-256",POINT,"use":"sig","key_ops":["verify"],"alg":"ES256","kid":"a"}"#,
        #"{"kty":"EC","crv":"P-256",POINT,"key_ops":["sign","verify"]}"#,
        #"{"kty":"EC","crv":"P-256",POINT,"x5c":["aGk="],"x5t":"a","new":1}"#,
    ])
    func reads(_ text: String) throws {
        let key = try JWK(json(text.replacing("POINT", with: Self.point)))
        #expect(key.thumbprint == "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")
        #expect(key.value["x5c"] == nil && key.value["new"] == nil)
    }

    @Test(arguments: [
        (#"{}"#, "kty is missing"), ("[]", "the key is not an object"), (#"{"kty":1}"#, "kty is not a string"),
        (#"{"kty":"AKP","alg":"ML-DSA-65"}"#, "kty is unknown"),
        (#"{"kty":"oct","k":"AAAA"}"#, "the key is not public"),
        (#"{"kty":"oct"}"#, "the key is symmetric"),
        (#"{"kty":"EC","crv":"P-256",POINT,"d":"AAAA"}"#, "the key is not public"),
        (#"{"kty":"EC","crv":"P-256",POINT,"use":"enc"}"#, "use is not sig"),
        (#"{"kty":"EC","crv":"P-256",POINT,"use":["sig"]}"#, "use is not a string"),
        (#"{"kty":"EC","crv":"P-256",POINT,"key_ops":["deriveKey"]}"#, "key_ops does not allow to verify"),
        (#"{"kty":"EC","crv":"P-256",POINT,"key_ops":"verify"}"#, "key_ops is not an array"),
        (#"{"kty":"EC","crv":"P-256",POINT,"alg":"ES384"}"#, "alg does not fit the key"),
        (#"{"kty":"EC","crv":"P-256",POINT,"alg":"ECDH-ES"}"#, "alg does not fit the key"),
        (#"{"kty":"EC","crv":"P-256",POINT,"alg":"HS256"}"#, "alg does not fit the key"),
        (#"{"kty":"EC","crv":"secp256k1",POINT}"#, "the curve is unknown"),
        (#"{"kty":"EC",POINT}"#, "the curve is unknown"),
        (#"{"kty":"EC","crv":"P-384",POINT}"#, "the point is not on the curve"),
        (#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, "the point is not on the curve"),
        (
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}"#,
            "the point is not on the curve"
        ),
        (
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}"#,
            "y is missing or not base64url"
        ),
        (#"{"kty":"EC","crv":"P-256","x":"f83=","y":"AAAA"}"#, "x is missing or not base64url"),
        (#"{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#, "the curve is unknown"),
        (
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcH"}"#,
            "the key is not of 32 bytes"
        ),
        (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "the RSA key is too short, too long or weak"),
    ])
    func refuses(_ text: String, _ detail: String) {
        #expect(refusal { _ = try JWK(json(text.replacing("POINT", with: Self.point))) }?.detail == detail)
    }

    @Test(arguments: [
        (bits: 2047, exponent: [1, 0, 1], isGood: false), (2048, [1, 0, 1], true), (4096, [1, 0, 1], true),
        (8192, [1, 0, 1], true), (8193, [1, 0, 1], false), (2048, [], false), (2048, [1], false), (2048, [2], false),
        (2048, [3], true), (2048, [1, 0, 0], false), (2048, [0xFF, 0xFF, 0xFF, 0xFF], true),
        (2048, [1, 0, 0, 0, 1], false), (2048, [0, 1, 0, 1], true),
    ])
    func boundsRSA(_ bits: Int, _ exponent: [UInt8], _ isGood: Bool) {
        var modulus = Random.bytes((bits + 7) / 8)
        modulus[0] = UInt8(1 << ((bits - 1) % 8))
        modulus[modulus.count - 1] |= 1
        let members: [String: JSONValue] = [
            "kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": .string(Base64URL.encode(exponent)),
        ]
        #expect((refusal { _ = try JWK(.object(members)) } == nil) == isGood)
        var even = modulus
        even[even.count - 1] &= 0xFE
        let evenMembers = members.merging(["n": .string(Base64URL.encode(even))]) { $1 }
        #expect(refusal { _ = try JWK(.object(evenMembers)) } != nil)
    }

    /// RFC 7518 6.3.1.1 forbids leading zeros; Java's `BigInteger` writes one all the same.
    @Test func readsRSANumbersWithALeadingZero() throws {
        guard case .object(var members) = Keys.rs256.publicKey.value, let text = members["n"]?.string,
            let modulus = Base64URL.decode(text)
        else { return }
        members["n"] = .string(Base64URL.encode([0] + modulus))
        let key = try JWK(.object(members))
        #expect(key.thumbprint == Keys.rs256.publicKey.thumbprint && key.value["n"]?.string == text)
    }

    @Test func writesWhatItReads() throws {
        for algorithm in JWSAlgorithm.asymmetric {
            let key = SigningKey.generated(algorithm).publicKey
            #expect(try JWK(key.value) == key)
            #expect(key.keyID == key.thumbprint && key.value["use"] == "sig")
            #expect(key.value["alg"]?.string == algorithm.rawValue && key.value["d"] == nil)
        }
    }
}
