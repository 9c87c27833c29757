import Cryptography
import JOSE
import Testing
import Vocabulary

@Suite struct JWSTests {
    private static func refusal(
        of token: [UInt8],
        with keys: JWKSet = Keys.set,
        allowing: Set<JWSAlgorithm> = JWSAlgorithm.asymmetric,
        sharedSecret: Secret? = nil
    ) -> JOSEError? {
        JOSETests.refusal {
            _ = try JWS.verify(token, with: keys, allowing: allowing, sharedSecret: sharedSecret)
        }
    }

    @Test(arguments: JWSAlgorithm.asymmetric)
    func signsAndVerifies(_ algorithm: JWSAlgorithm) throws {
        let key = SigningKey.generated(algorithm)
        let token = key.sign(bytes(#"{"sub":"a"}"#), header: [("typ", "at+jwt")])
        let header = try JWS.header(of: token)
        #expect(header.algorithm == algorithm && header.keyID == key.publicKey.thumbprint && header.isType("AT+JWT"))
        let verified = try JWS.verify(token, with: JWKSet(keys: [key.publicKey]), allowing: [algorithm])
        #expect(verified.payload == bytes(#"{"sub":"a"}"#) && verified.isType("at+jwt") && !verified.isType("jwt"))
        for index in stride(from: 0, to: token.count, by: 7) {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.refusal(of: changed, with: JWKSet(keys: [key.publicKey])) != nil, "byte \(index)")
        }
    }

    @Test func typeMayHaveThePrefixOfMediaTypes() throws {
        let token = Keys.es256.sign([], header: [("typ", "application/at+jwt")])
        #expect(try JWS.header(of: token).isType("at+jwt"))
    }

    @Test(
        "P64: Headers that demand an extension or name a key are refused",
        arguments: [
            #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":""}"#, "{}", #"{"alg":1}"#, #"{"alg":["ES256"]}"#, "[]",
            "null",
            "", #"{"alg":"ES256"}x"#, #"{"alg":"ES256","alg":"ES256"}"#, #"{"alg":"es256"}"#,
            #"{"alg":"ES256","crit":[]}"#,
            #"{"alg":"ES256","crit":["exp"]}"#, #"{"alg":"ES256","b64":false}"#, #"{"alg":"ES256","b64":true}"#,
            #"{"alg":"ES256","jku":"https://a.example"}"#, #"{"alg":"ES256","x5u":"https://a.example"}"#,
            #"{"alg":"ES256","kid":1}"#, #"{"alg":"ES256","typ":{}}"#,
            #"{"alg":"ES256","a":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}"#,
        ]
    )
    func refusesHeader(_ header: String) {
        #expect(Self.refusal(of: Keys.es256.token(header: header)) != nil)
    }

    @Test func acceptsAHeaderWithUnknownMembers() throws {
        let token = Keys.es256.token(header: #"{ "alg" : "ES256", "x5t":"a", "x5c":["b"], "new":{"a":[1]} }"#)
        #expect(Self.refusal(of: token) == nil)
    }

    /// The key that an attacker puts into the header signs the token.
    @Test func refusesAnEmbeddedKey() {
        let token = Keys.otherES256.sign([], header: [("jwk", Keys.otherES256.publicKey.value)])
        #expect(Self.refusal(of: token)?.detail == "the header has jwk")
        #expect(JOSETests.refusal { _ = try JWS.header(of: token) } != nil)
    }

    @Test func aKnownHeaderIsNotReadAgainAndItsAlgorithmIsJudgedAgain() throws {
        let key = Keys.otherES256
        let token = key.sign(bytes("{}"), header: [("jwk", key.publicKey.value)])
        let head = try SelfSignedToken(token, allowing: [.es256]).head
        var asked: [[UInt8]] = []
        let again = try SelfSignedToken(token, allowing: [.es256]) { text in
            asked.append(Array(text))
            return head
        }
        #expect(asked == [Array(again.headerText)] && Array(again.headerText) == Array(token.prefix { $0 != 0x2E }))
        #expect(try again.verified().payload == bytes("{}"))
        #expect(JOSETests.refusal { _ = try SelfSignedToken(token, allowing: [.edDSA]) { _ in head } } != nil)
    }

    @Test func verifiesAnEmbeddedKeyWhereItIsAskedFor() throws {
        let key = Keys.otherES256
        let token = key.sign(bytes("{}"), header: [("jwk", key.publicKey.value), ("typ", "dpop+jwt")])
        let read = try SelfSignedToken(token, allowing: [.es256])
        let verified = try read.verified()
        #expect(read.key.thumbprint == key.publicKey.thumbprint && verified.isType("dpop+jwt") && verified.keyID == nil)
        for header in ["{\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",\"jwk\":{}}"] {
            #expect(
                JOSETests.refusal { _ = try SelfSignedToken(key.token(header: header), allowing: [.es256]) } != nil
            )
        }
        #expect(JOSETests.refusal { _ = try SelfSignedToken(token, allowing: [.edDSA]) } != nil)
        let foreign = Keys.es256.sign([], header: [("jwk", key.publicKey.value)])
        #expect(
            JOSETests.refusal { _ = try SelfSignedToken(foreign, allowing: [.es256]).verified() }?.kind == .signature
        )
    }

    @Test(arguments: ["", ".", "..", "...", "a", "a.b", "a.b.c.d", "....", "eyJhbGciOiJFUzI1NiJ9", "=.=.="])
    func refusesOtherForms(_ text: String) {
        #expect(Self.refusal(of: bytes(text)) != nil)
    }

    @Test func refusesWhatIsNotCanonicalBase64URL() throws {
        let token = String(decoding: Keys.es256.sign(bytes("abcd")), as: UTF8.self)
        #expect(Self.refusal(of: bytes(token)) == nil)
        let parts = token.split(separator: ".").map(String.init)
        let variants = [
            token + "=", token + "==", token + "\n", " " + token, parts[0] + ".YWJjZB." + parts[2],
            parts[0] + "." + parts[1] + "=." + parts[2], parts[0] + "=." + parts[1] + "." + parts[2],
        ]
        for variant in variants { #expect(Self.refusal(of: bytes(variant)) != nil, "\(variant)") }
        // The same bytes with stray bits in the last character.
        let key = SigningKey.generated(.edDSA)
        var stray = key.sign(bytes("a"))
        let last = try #require(stray.last)
        stray[stray.count - 1] = last == UInt8(ascii: "A") ? UInt8(ascii: "B") : last + 1
        #expect(Self.refusal(of: stray, with: JWKSet(keys: [key.publicKey])) != nil)
    }

    @Test func refusesALongToken() {
        let token = Keys.es256.sign([UInt8](repeating: 0x61, count: 49_000))
        #expect(token.count > JOSELimits.token - 200 && token.count <= JOSELimits.token)
        #expect(Self.refusal(of: token) == nil)
        let longer = Keys.es256.sign([UInt8](repeating: 0x61, count: 49_200))
        #expect(Self.refusal(of: longer)?.detail == "the token is too long")
    }

    @Test func refusesAnAlgorithmThatIsNotAllowed() {
        let token = Keys.es256.sign([])
        #expect(Self.refusal(of: token, allowing: [.rs256])?.detail == "ES256 is not allowed")
        #expect(Self.refusal(of: token, allowing: []) != nil)
    }

    /// The classic confusion: a code made with the text of a public key as the secret.
    @Test("P64: A code made with a public key is refused")
    func refusesACodeOfThePublicKey() {
        let value = JSONText.encode(Keys.rs256.publicKey.value)
        let token = Self.hs256(kid: Keys.rs256.publicKey.thumbprint, secret: value)
        #expect(Self.refusal(of: token)?.detail == "HS256 is not allowed")
        #expect(
            Self.refusal(of: token, allowing: Set(JWSAlgorithm.allCases))?.detail == "there is no shared secret"
        )
    }

    @Test func verifiesACodeOfANamedSecretOnly() {
        let secret = Random.bytes(32)
        let token = Self.hs256(kid: "any", secret: secret)
        #expect(Self.refusal(of: token, allowing: [.hs256], sharedSecret: Secret(secret)) == nil)
        #expect(Self.refusal(of: token, allowing: [.rs256], sharedSecret: Secret(secret)) != nil)
        #expect(
            Self.refusal(of: token, allowing: [.hs256], sharedSecret: Secret(Random.bytes(32)))?.kind == .signature
        )
        let short = Random.bytes(31)
        let weak = Self.hs256(kid: "any", secret: short)
        #expect(
            Self.refusal(of: weak, allowing: [.hs256], sharedSecret: Secret(short))?.detail
                == "the shared secret is shorter than the hash"
        )
    }

    /// `RS256` by the header, with a key of another kind under this kid.
    @Test("P64: An algorithm that is unknown, not allowed or of another kind of key is refused")
    func refusesAnAlgorithmOfAnotherKindOfKey() {
        let kid = Keys.es256.publicKey.thumbprint
        let token = Keys.rs256.token(header: "{\"alg\":\"RS256\",\"kid\":\"\(kid)\"}")
        #expect(Self.refusal(of: token)?.detail == "RS256 does not fit the key")
        #expect(Self.refusal(of: token, allowing: [.es256])?.detail == "RS256 is not allowed")
        let unknown = Keys.es256.token(header: "{\"alg\":\"XS256\",\"kid\":\"\(kid)\"}")
        #expect(Self.refusal(of: unknown)?.detail == "alg is not supported")
    }

    @Test func refusesAnAlgorithmOtherThanTheKeys() throws {
        // The key without `alg` verifies both, the one with `alg` its own alone.
        var members = try objectMembers(of: Keys.rs256.publicKey.value)
        let token = Keys.rs256.sign([])
        members["alg"] = nil
        #expect(Self.refusal(of: token, with: JWKSet(keys: [try JWK(.object(members))])) == nil)
        members["alg"] = "PS256"
        #expect(
            Self.refusal(of: token, with: JWKSet(keys: [try JWK(.object(members))]))?.detail
                == "RS256 does not fit the key"
        )
    }

    @Test(arguments: ["unknown", "../../../etc/passwd", "' OR 1=1 --", "", "a\u{0}b"])
    func reportsAKeyIDThatIsUnknown(_ kid: String) {
        let header = JSONText.encode(["alg": "ES256", "kid": .string(kid)])
        let token = Keys.es256.token(header: String(decoding: header, as: UTF8.self))
        #expect(Self.refusal(of: token)?.kind == .unknownKey)
    }

    @Test func triesSixteenKeysWithoutAKeyID() {
        let keys = (0..<17).map { _ in SigningKey.generated(.es256) }
        let token = keys[15].token(header: #"{"alg":"ES256"}"#)
        let some = keys.prefix(16).map(\.publicKey)
        // Keys of other kinds are not tried, and do not count.
        #expect(Self.refusal(of: token, with: JWKSet(keys: some + [Keys.rs256.publicKey])) == nil)
        #expect(
            Self.refusal(of: token, with: JWKSet(keys: keys.map(\.publicKey)))?.detail
                == "too many keys of the set fit the token"
        )
        #expect(Self.refusal(of: token, with: JWKSet(keys: [Keys.rs256.publicKey]))?.kind == .unknownKey)
    }

    @Test func errorsHoldNoPartOfTheToken() {
        let header = #"{"alg":"ES256","kid":"PLANTED","typ":"PLANTED","crit":["PLANTED"]}"#
        let tokens = [Keys.es256.token(header: header), Keys.es256.token(header: #"{"alg":"PLANTED"}"#)]
        for token in tokens {
            #expect(Self.refusal(of: token)?.detail.contains("PLANTED") == false)
        }
    }

    @Test("A header's null members are absent ones, but for those that would change how the token is read")
    func readsNullAsAbsentInHeaders() {
        let header = #"{"alg":"ES256","kid":null,"typ":null,"cty":null,"jku":null,"x5u":null,"jwk":null,"x5c":null}"#
        #expect(Self.refusal(of: Keys.es256.token(header: header)) == nil)
        for (header, detail) in [
            (#"{"alg":"ES256","crit":null}"#, "the header has crit"),
            (#"{"alg":"ES256","b64":null}"#, "the header has b64"),
            (#"{"alg":null}"#, "alg is missing in the header"),
            (#"{"alg":"ES256","crit":"exp"}"#, "the header has crit"),
        ] {
            #expect(Self.refusal(of: Keys.es256.token(header: header))?.detail == detail)
        }
    }

    private static func hs256(kid: String, secret: [UInt8]) -> [UInt8] {
        let header = Base64URL.encode(JSONText.encode(["alg": "HS256", "kid": .string(kid)]))
        let signed = bytes(header + "." + Base64URL.encode(bytes("{}")))
        return signed + bytes("." + HMACKey(secret).sha256(signed).base64URL)
    }
}
