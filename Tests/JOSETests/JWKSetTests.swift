import JOSE
import Testing
import Vocabulary

@Suite struct JWKSetTests {
    private static func set(_ keys: [JSONValue]) throws -> JWKSet {
        try JWKSet(JSONText.encode(["keys": .array(keys)]))
    }

    private static func named(_ key: SigningKey, _ kid: String?) -> JSONValue {
        guard case .object(var members) = key.publicKey.value else { return .null }
        members["kid"] = kid.map(JSONValue.string)
        return .object(members)
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

    @Test("P65: Different keys of one kid are all left out")
    func refusesAKeyIDThatDifferentKeysHave() throws {
        let set = try Self.set([
            Self.named(Keys.es256, "a"), Self.named(Keys.otherES256, "a"), Self.named(Keys.rs256, "b"),
        ])
        #expect(set.keys.map(\.keyID) == ["b"])
        #expect(set.faults == [#"kid "a": several keys have this kid"#])
        #expect(!set.holds("a") && set.holds("b"))
        let token = Keys.es256.token(header: #"{"alg":"ES256","kid":"a"}"#)
        #expect(refusal { _ = try JWS.verify(token, with: set, allowing: [.es256]) }?.kind == .unknownKey)
    }

    /// Some issuers publish their encryption key under the name of their signing key.
    @Test func aKeyThatCannotVerifyDoesNotCountForItsName() throws {
        guard case .object(var members) = Self.named(Keys.rs256, "a") else { return }
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
