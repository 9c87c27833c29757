import Cryptography
import JOSE
import Testing
import Vocabulary

@Suite("The keys with which the gateway signs")
struct SigningKeyRingTests {
    private static let old = Secret("an old secret of the tests, 32 bytes")
    private static let new = Secret("a new secret of the tests, 32 bytes.")

    private func names(_ ring: SigningKeyRing) -> [String?] { ring.published.keys.map(\.keyID) }

    @Test("Each accepted secret gives one published key, and the current secret's key signs")
    func rotation() throws {
        let before = SigningKeyRing(SecretRing(current: Self.old))
        let added = SigningKeyRing(SecretRing(current: Self.old, accepted: [Self.new]))
        let promoted = SigningKeyRing(SecretRing(current: Self.new, accepted: [Self.old]))
        let retired = SigningKeyRing(SecretRing(current: Self.new))
        let (oldName, newName) = (before.current.publicKey.keyID, retired.current.publicKey.keyID)
        #expect(oldName != newName && oldName == before.current.publicKey.thumbprint)
        #expect(self.names(before) == [oldName] && self.names(added) == [oldName, newName])
        #expect(self.names(promoted) == [newName, oldName] && self.names(retired) == [newName])
        #expect(added.current.publicKey.keyID == oldName && promoted.current.publicKey.keyID == newName)

        let token = promoted.current.sign(Array("{}".utf8), header: [("typ", "JWT")])
        for ring in [added, promoted, retired] {
            #expect(throws: Never.self) { try JWS.verify(token, with: ring.published, allowing: [.es256]) }
        }
        #expect(throws: JOSEError.self) { try JWS.verify(token, with: before.published, allowing: [.es256]) }
    }

    @Test("A key depends on its secret alone, so that every gateway and every later version publishes the same")
    func derivation() {
        let ring = SigningKeyRing(SecretRing(current: Self.old))
        #expect(self.names(ring) == ["BWx4l9fpeJ5oR98VQQe32Mgpncn-uhxr4nUoBP2UYu0"])
        #expect(ring.current.algorithm == .es256)
    }

    @Test("The published keys are public, and say what they are for")
    func published() throws {
        let ring = SigningKeyRing(SecretRing(current: Self.old, accepted: [Self.new]))
        #expect(ring.published.keys.count == 2)
        for key in ring.published.keys {
            guard case .object(let members) = key.value else { throw JOSEError("not an object") }
            #expect(members.keys.sorted() == ["alg", "crv", "kid", "kty", "use", "x", "y"])
            #expect(members["alg"] == "ES256" && members["crv"] == "P-256" && members["use"] == "sig")
        }
    }

    // MARK: Files

    private func pem(_ keys: SigningKey...) -> String { keys.map { Self.pem($0) }.joined() }

    private static func pem(_ key: SigningKey, label: String = "PRIVATE KEY") -> String {
        let text = Base64.encode(key.pkcs8.bytes)
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }

    private func fault(_ text: String) -> String? {
        do throws(JOSEError) {
            _ = try SigningKeyFile(pem: Secret(text))
            return nil
        } catch {
            return error.detail
        }
    }

    @Test("The first key of a file signs, and all are published")
    func file() throws {
        let (one, two) = (SigningKey.generated(.es256), SigningKey.generated(.es256))
        let text = "a comment\n" + self.pem(one) + "\r\n" + self.pem(two).replacing("\n", with: "\r\n")
        let file = try SigningKeyFile(pem: Secret(text))
        #expect(file.assertions?.current.publicKey == one.publicKey && file.idTokens == nil)
        #expect(file.assertions?.published.keys == [one.publicKey, two.publicKey])
    }

    @Test("EC keys sign assertions and RSA keys id_tokens, in whatever order they stand in the file")
    func kinds() throws {
        let (curve, one, two) = (
            SigningKey.generated(.es256), SigningKey.generated(.rs256), SigningKey.generated(.rs256)
        )
        let both = try SigningKeyFile(pem: Secret(self.pem(one, curve, two)))
        #expect(both.assertions?.published.keys == [curve.publicKey])
        #expect(both.idTokens?.current.publicKey == one.publicKey)
        #expect(both.idTokens?.published.keys == [one.publicKey, two.publicKey])
        let alone = try SigningKeyFile(pem: Secret(self.pem(one)))
        #expect(alone.assertions == nil && alone.idTokens?.current.publicKey == one.publicKey)
    }

    @Test("The name of the curve, which `openssl ecparam -genkey` writes before the key, is no key")
    func curveName() throws {
        let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        let key = SigningKey.generated(.es256)
        #expect(try SigningKeyFile(pem: Secret(curve + self.pem(key))).assertions?.published.keys == [key.publicKey])
        #expect(self.fault(curve)?.contains("no private key") == true)
    }

    @Test("Other keys, other PEM blocks, no key, a key twice and too many keys are refused, without showing the file")
    func refused() {
        let key = SigningKey.generated(.es256)
        let text = self.pem(key)
        let cases: [(String, String)] = [
            ("", "no private key"), ("canary", "no private key"),
            (self.pem(SigningKey.generated(.es384)), "key 1 is for ES384"),
            (text + self.pem(SigningKey.generated(.es512)), "key 2 is for ES512"),
            (self.pem(SigningKey.generated(.edDSA)), "key 1 is for EdDSA"),
            (text + text, "key 2 is there a second time"),
            (String(text.dropLast(20)), "without an end"), (text.dropLast(20) + "\n" + text, "without an end"),
            (Self.pem(key, label: "ENCRYPTED PRIVATE KEY"), "an encrypted key"),
            (Self.pem(key, label: "CERTIFICATE"), "not a private key"),
            (text.replacing("M", with: "!"), "key 1"),
            ((0..<17).map { _ in self.pem(SigningKey.generated(.es256)) }.joined(), "more than 16"),
        ]
        for (text, words) in cases {
            let fault = self.fault(text)
            #expect(fault?.contains(words) == true, "\(words): \(fault ?? "accepted")")
            #expect(fault?.contains("canary") != true)
        }
    }
}
