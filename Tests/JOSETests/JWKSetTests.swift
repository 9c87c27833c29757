import JOSE
import Testing
import Vocabulary

@Suite struct JWKSetTests {
    private static func set(_ keys: [JSONValue]) throws -> JWKSet {
        try JWKSet(JSONText.encode(["keys": .array(keys)]))
    }

    private static func named(
        _ key: SigningKey,
        _ kid: String?,
        _ changes: [String: JSONValue] = [:]
    ) -> JSONValue {
        guard case .object(var members) = key.publicKey.value else { return .null }
        members["kid"] = kid.map(JSONValue.string)
        return .object(members.merging(changes) { $1 })
    }

    @Test func oneBadKeySpoilsNoSet() throws {
        let bad: [JSONValue] = [
            ["kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB"], ["kty": "oct", "k": "AAAA"], 1, "a", [:],
            ["kty": "EC", "crv": "P-256"], ["kid": "line\nbreak"],
        ]
        let set = try Self.set(bad + [Self.named(Keys.es256, "good")])
        #expect(set.keys.map(\.keyID) == ["good"])
        #expect(set.faults.count == bad.count)
        #expect(set.faults[0] == #"key 1 (kid "r"): the RSA key is too short, too long or weak"#)
        #expect(set.faults[6] == #"key 7 (kid "linebreak"): kty is missing"#)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[]"#, #"{"keys":[],"keys":[]}"#,
        #"{"keys":[{"kty":"EC","kty":"EC"}]}"#, #"{"keys":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}"#,
    ])
    func refuses(_ text: String) {
        #expect(refusal { _ = try JWKSet(bytes(text)) } != nil)
    }

    @Test func mayBeEmptyAndMayHoldOtherMembers() throws {
        #expect(try JWKSet(bytes(#"{"keys":[],"new":1}"#)).keys.isEmpty)
    }

    @Test func boundsItsSize() throws {
        let key = Self.named(Keys.es256, "a")
        #expect(try Self.set(Array(repeating: key, count: 100)).keys.count == 1)
        #expect(refusal { _ = try Self.set(Array(repeating: key, count: 101)) } != nil)
        let blanks = [UInt8](repeating: 0x20, count: JOSELimits.keySet)
        #expect(refusal { _ = try JWKSet(bytes(#"{"keys":[]}"#) + blanks) }?.detail == "the key set is too large")
    }

    @Test("P65: Of the keys of one kid none shadows another: each that fits the token's algorithm is tried")
    func triesEachKeyOfAKeyID() throws {
        let set = try Self.set([
            Self.named(Keys.es256, "a"), Self.named(Keys.otherES256, "a"), Self.named(Keys.rs256, "a"),
        ])
        #expect(set.keys.count == 3 && set.faults.isEmpty && set.holds("a") && !set.holds("b"))
        #expect(set.holds("a", for: .es256) && set.holds("a", for: .rs256) && !set.holds("a", for: .es384))
        func judge(_ key: SigningKey, _ header: String) -> JOSEError? {
            refusal { _ = try JWS.verify(key.token(header: header), with: set, allowing: JWSAlgorithm.asymmetric) }
        }
        for key in [Keys.es256, Keys.otherES256, Keys.rs256] {
            #expect(judge(key, "{\"alg\":\"\(key.algorithm.rawValue)\",\"kid\":\"a\"}") == nil)
            #expect(judge(key, "{\"alg\":\"\(key.algorithm.rawValue)\"}") == nil, "without kid")
        }
        #expect(judge(.generated(.es256), #"{"alg":"ES256","kid":"a"}"#)?.kind == .signature)
        #expect(judge(Keys.es256, #"{"alg":"ES256","kid":"b"}"#)?.kind == .unknownKey)
        // No algorithm of another kind of key, and none that the key's own alg excludes.
        for (key, algorithm) in [(Keys.es256, "ES384"), (Keys.es256, "EdDSA"), (Keys.rs256, "PS256")] {
            #expect(judge(key, "{\"alg\":\"\(algorithm)\",\"kid\":\"a\"}") != nil, "\(algorithm)")
        }
    }

    /// Azure AD B2C and others list one RSA key once for each algorithm.
    @Test("One key may be listed for several algorithms, under one kid")
    func takesOneKeyForSeveralAlgorithms() throws {
        let set = try Self.set(["RS256", "PS256"].map { Self.named(Keys.rs256, "a", ["alg": $0]) })
        #expect(set.keys.count == 2 && set.faults.isEmpty)
        let header = #"{"alg":"RS256","kid":"a"}"#
        #expect(refusal { _ = try JWS.verify(Keys.rs256.token(header: header), with: set, allowing: [.rs256]) } == nil)
        #expect(set.holds("a", for: .ps256) && !set.holds("a", for: .rs512))
    }

    @Test("A key whose alg is null or absent fits by its kind, and null members are absent ones")
    func readsNullAsAbsent() throws {
        let null: [String: JSONValue] = [
            "alg": .null, "use": .null, "key_ops": .null, "x5c": .null, "x5t": .null, "d": .null, "k": .null,
            "p": .null, "oth": .null, "ext": .null,
        ]
        let set = try Self.set([
            Self.named(Keys.rs256, "a", null), Self.named(Keys.es256, nil, null.merging(["kid": .null]) { $1 }),
        ])
        #expect(set.keys.map(\.keyID) == ["a", nil] && set.faults.isEmpty)
        #expect(set.keys[0].algorithms.contains(.ps512) && set.keys[1].algorithms == [.es256])
        for (name, detail) in [("kty", "kty is missing"), ("x", "x is missing or not base64url")] {
            let faulty = try Self.set([Self.named(Keys.es256, "a", [name: .null])])
            #expect(faulty.keys.isEmpty && faulty.faults == ["key 1 (kid \"a\"): \(detail)"])
        }
    }

    /// Some issuers publish their encryption key under the name of their signing key.
    @Test func aKeyThatCannotVerifyDoesNotCountForItsName() throws {
        var members = try objectMembers(of: Self.named(Keys.rs256, "a"))
        members["use"] = "enc"
        members["alg"] = "RSA-OAEP"
        let set = try Self.set([.object(members), Self.named(Keys.es256, "a")])
        #expect(set.keys.count == 1 && set.holds("a"))
    }

    @Test func theSameKeyTwiceCountsOnce() throws {
        let set = try Self.set([
            Self.named(Keys.es256, "a"), Self.named(Keys.es256, "a"), Self.named(Keys.es256, "b"),
            Self.named(Keys.es256, nil), Self.named(Keys.es256, nil),
        ])
        #expect(set.keys.map(\.keyID) == ["a", "b", nil] && set.faults.isEmpty)
    }

    @Test func writesPublicMembersOnly() throws {
        let set = JWKSet(keys: [Keys.es256.publicKey, Keys.rs256.publicKey])
        let text = String(decoding: JSONText.encode(set.value), as: UTF8.self)
        #expect(!text.contains("\"d\""))
        #expect(try JWKSet(JSONText.encode(set.value)).keys == set.keys)
    }
}
