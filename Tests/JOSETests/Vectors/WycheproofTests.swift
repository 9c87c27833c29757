import JOSE
import TestSupport
import Testing
import Vocabulary

/// The vectors of Project Wycheproof. Each is judged as `sallyport verify-jws` judges it: with the keys of a file.
@Suite struct WycheproofTests {
    private struct Vector {
        var id: Int64
        var isValid: Bool
        var token: [UInt8]
        var keys: JSONValue
    }

    @Test(.enabled(if: TestData.isExpected("wycheproof_json_web_signature_test.json"), TestData.absence))
    func signatures() throws {
        // The keys of these name an algorithm that does not exist, or another one than that of the token that they verify
        // (RFC 7520 uses one key with several).
        let withoutAlgorithm: Set<Int64> = [346, 347, 350, 351]
        // These hold a character that is not of base64url, and are called valid.
        let leftOut: Set<Int64> = [372, 373]
        // By name these are padded. In the file the padding is missing, which makes them equal to the valid 357.
        let padded: [Int64: String] = [
            367: "eyJraWQiOiJoczI1Ni1rZXkiLCJhbGciOiJIUzI1NiJ9=.VGVzdA.c1LROH7eNQwUT8KMVEO52VC3WZ9e_AnDWbZ7aMmowV8",
            370: "eyJraWQiOiJoczI1Ni1rZXkiLCJhbGciOiJIUzI1NiJ9.VGVzdA==.c1LROH7eNQwUT8KMVEO52VC3WZ9e_AnDWbZ7aMmowV8",
        ]
        var vectors = try Self.vectors("wycheproof_json_web_signature_test.json").filter { !leftOut.contains($0.id) }
        for index in vectors.indices {
            let id = vectors[index].id
            if withoutAlgorithm.contains(id), case .object(var members) = vectors[index].keys {
                members["alg"] = nil
                vectors[index].keys = .object(members)
            }
            if let token = padded[id] { vectors[index].token = bytes(token) }
        }
        #expect(vectors.count == 399)
        Self.judge(vectors)
    }

    @Test(
        "CVE-2017-15361: Weak, broken and mixed keys of Project Wycheproof are refused",
        .enabled(if: TestData.isExpected("wycheproof_json_web_key_test.json"), TestData.absence)
    )
    func keys() throws {
        let vectors = try Self.vectors("wycheproof_json_web_key_test.json")
        #expect(vectors.count == 26)
        Self.judge(vectors)
    }

    private static func judge(_ vectors: [Vector]) {
        for vector in vectors {
            let error = refusal { _ = try KeyFile(JSONText.encode(vector.keys)).verify(vector.token) }
            #expect((error == nil) == vector.isValid, "tcId \(vector.id): \(error?.detail ?? "accepted")")
        }
    }

    private static func vectors(_ name: String) throws -> [Vector] {
        let document = try #require(JSONText.decode(TestData.bytes(name)))
        return try document.list("testGroups").flatMap { group in
            let keys = try #require(group["public"] ?? group["private"])
            return try group.list("tests").map { test in
                guard case .integer(let id) = test["tcId"], let token = test["jws"]?.string else {
                    throw JOSEError("a test has no tcId or no jws")
                }
                return Vector(id: id, isValid: test["result"] == "valid", token: bytes(token), keys: keys)
            }
        }
    }
}

extension JSONValue {
    /// The elements of a member.
    func list(_ name: String) throws -> [JSONValue] {
        guard case .array(let elements) = self[name] else { throw JOSEError("\(name) is no array") }
        return elements
    }
}
