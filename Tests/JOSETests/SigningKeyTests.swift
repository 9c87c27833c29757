import JOSE
import Testing
import Vocabulary

@Suite struct SigningKeyTests {
    @Test func aDerivedKeyDependsOnSecretAndPurposeOnly() {
        let secret = Secret("a secret of the gateway")
        let key = SigningKey.derivedP256(from: secret, purpose: "sallyport assertion key 1")
        let again = SigningKey.derivedP256(from: secret, purpose: "sallyport assertion key 1")
        #expect(key.publicKey == again.publicKey && key.pkcs8 == again.pkcs8)
        #expect(key.algorithm == .es256)
        #expect(
            SigningKey.derivedP256(from: secret, purpose: "another").publicKey.thumbprint != key.publicKey.thumbprint
        )
        #expect(
            SigningKey.derivedP256(from: Secret("b"), purpose: "sallyport assertion key 1").publicKey.thumbprint
                != key.publicKey.thumbprint
        )
        // What one gateway signs, the others verify.
        let token = again.sign(bytes("{}"))
        #expect(refusal { _ = try JWS.verify(token, with: JWKSet(keys: [key.publicKey]), allowing: [.es256]) } == nil)
    }

    /// The value must never change: gateways of different versions share a secret.
    @Test func aDerivedKeyStaysTheSame() {
        let key = SigningKey.derivedP256(from: Secret("a secret of the gateway"), purpose: "sallyport assertion key 1")
        #expect(key.publicKey.thumbprint == "j0-Ns7wNE9DxltViYHTnaw9Y_VYK7Nfv9KyDa1msVhU")
    }

    @Test(arguments: JWSAlgorithm.asymmetric)
    func pkcs8HoldsTheKey(_ algorithm: JWSAlgorithm) throws {
        let key = SigningKey.generated(algorithm)
        let copy = try SigningKey(pkcs8: key.pkcs8, algorithm: algorithm)
        #expect(copy.publicKey == key.publicKey && copy.algorithm == algorithm)
    }

    @Test(arguments: zip(PEM.all, [JWSAlgorithm.es256, .es256, .es256, .es384, .es512, .edDSA, .rs256, .rs256]))
    func readsPEM(_ text: String, _ algorithm: JWSAlgorithm) throws {
        let key = try SigningKey(pem: Secret(text))
        #expect(key.algorithm == algorithm)
        let token = key.sign(bytes("{}"))
        #expect(
            refusal { _ = try JWS.verify(token, with: JWKSet(keys: [key.publicKey]), allowing: [algorithm]) } == nil
        )
    }

    @Test(arguments: JWSAlgorithm.asymmetric)
    func readsThePEMThatItWrites(_ algorithm: JWSAlgorithm) throws {
        let key = SigningKey.generated(algorithm)
        let copy = try SigningKey(pem: key.pem, algorithm: algorithm)
        #expect(copy.publicKey == key.publicKey)
        let lines = String(decoding: key.pem.bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "-----BEGIN PRIVATE KEY-----" && lines.last == "-----END PRIVATE KEY-----")
        #expect(lines.allSatisfy { $0.count <= 64 })
    }

    @Test(arguments: [
        "", "text", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", PEM.publicKey, PEM.encrypted,
        PEM.secp256k1, PEM.rsa1024, PEM.ed448,
    ])
    func refusesOtherPEM(_ text: String) {
        #expect(refusal { _ = try SigningKey(pem: Secret(text)) } != nil)
    }

    @Test func refusesAnAlgorithmThatDoesNotFit() {
        for algorithm in [JWSAlgorithm.es384, .rs256, .edDSA, .hs256] {
            #expect(refusal { _ = try SigningKey(pem: Secret(PEM.all[0]), algorithm: algorithm) } != nil)
        }
        #expect(refusal { _ = try SigningKey(pkcs8: Secret([])) } != nil)
        #expect(refusal { _ = try SigningKey(pkcs8: Secret([0x30, 0x82, 0xFF, 0xFF])) } != nil)
    }

    @Test func anRSAKeySignsByTheAlgorithmThatIsNamed() throws {
        let key = try SigningKey(pem: Secret(PEM.all[6]), algorithm: .ps256)
        #expect(key.publicKey.algorithm == "PS256")
        let token = key.sign([])
        #expect(try JWS.header(of: token).algorithm == .ps256)
    }

    @Test func aHeaderMayNotChangeTheAlgorithm() throws {
        let token = Keys.es256.sign([], header: [("alg", "none"), ("kid", "x"), ("typ", "JWT")])
        let header = try JWS.header(of: token)
        #expect(header.algorithm == .es256 && header.keyID == Keys.es256.publicKey.keyID && header.type == "JWT")
    }

    @Test func aVerifierMayKnowTheKeyByAnotherName() throws {
        let token = Keys.es256.sign([], header: [("kid", "x")], keyID: "A1B2C3D4E5")
        #expect(try JWS.header(of: token).keyID == "A1B2C3D4E5")
    }
}
