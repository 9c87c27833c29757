import JOSE
import TestSupport
import Testing
import Vocabulary

/// The examples of RFC 7520 section 4, from the working group's cookbook.
@Suite(.enabled(if: TestData.isExpected("jose_cookbook/4_1.rsa_v15_signature.json"), TestData.absence))
struct CookbookTests {
    @Test(arguments: [
        "4_1.rsa_v15_signature", "4_2.rsa-pss_signature", "4_3.ecdsa_signature", "4_4.hmac-sha2_integrity_protection",
    ])
    func verifiesCompactTokens(_ name: String) throws {
        let example = try Self.example(name)
        let token = try #require(example["output"]?["compact"]?.string)
        let verified = try Self.keys(of: example).verify(bytes(token))
        #expect(verified.payload == bytes(try #require(example["input"]?["payload"]?.string)))
        let changed = bytes(token.replacing(".S", with: ".T", maxReplacements: 1))
        #expect(refusal { _ = try Self.keys(of: example).verify(changed) }?.kind == .signature)
    }

    /// A token without its payload (RFC 7515 appendix F).
    @Test func refusesADetachedPayload() throws {
        let example = try Self.example("4_5.signature_with_detached_content")
        let token = try #require(example["output"]?["compact"]?.string)
        #expect(refusal { _ = try Self.keys(of: example).verify(bytes(token)) }?.kind == .signature)
    }

    @Test(arguments: [
        "4_1.rsa_v15_signature", "4_4.hmac-sha2_integrity_protection", "4_6.protecting_specific_header_fields",
        "4_7.protecting_content_only", "4_8.multiple_signatures",
    ])
    func refusesTheFormsInJSON(_ name: String) throws {
        let example = try Self.example(name)
        let values = ["json", "json_flat"].compactMap { example["output"]?[$0] }
        #expect(!values.isEmpty)
        for value in values { #expect(refusal { _ = try JWS.header(of: JSONText.encode(value)) } != nil) }
    }

    private static func example(_ name: String) throws -> JSONValue {
        try #require(JSONText.decode(TestData.bytes("jose_cookbook/\(name).json")))
    }

    private static func keys(of example: JSONValue) throws -> KeyFile {
        try KeyFile(JSONText.encode(try #require(example["input"]?["key"])))
    }
}
