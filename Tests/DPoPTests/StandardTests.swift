import Cryptography
import JOSE
import TestSupport
import Testing
import Vocabulary

/// The examples of RFC 9449.
@Suite struct StandardTests {
    private static let file = "dpop_rfc9449.json"

    @Test(.enabled(if: TestData.isExpected(file), TestData.absence))
    func acceptsTheProofsOfTheStandardAtTheirTimeAndPlaceOnly() throws {
        let document = try #require(JSONText.decode(TestData.bytes(Self.file)))
        guard case .array(let entries) = document["proofs"] else { throw JOSEError("there are no proofs") }
        let token = try #require(document["access_token"]?.string)
        let proofs = entries.filter { $0["header"]?["typ"] == "dpop+jwt" }
        #expect(proofs.count == 3)
        for proof in proofs {
            let text = try #require(proof["jwt"]?.string)
            let payload = try #require(proof["payload"])
            guard case .integer(let seconds) = payload["iat"] else { throw JOSEError("there is no iat") }
            let url = try #require(payload["htu"]?.string)
            let path = "/" + url.split(separator: "/").dropFirst(2).joined(separator: "/")
            var bench = Bench()
            bench.now = UnixTime(seconds: seconds + 10)
            bench.demand = DPoPDemand(
                method: try #require(payload["htm"]?.string),
                target: DPoPTarget(origin: bytes(String(url.dropLast(path.utf8.count))), path: bytes(path)),
                accessToken: payload["ath"] == nil ? nil : Secret(token),
                thumbprint: proof["jkt"]?.string
            )
            #expect(bench.judge(bytes(text)).accepted?.thumbprint == proof["jkt"]?.string)
            bench.demand.accessToken = Secret(token + "x")
            #expect(bench.judge(bytes(text)).fault == DPoPRefusal.accessToken)
            bench.demand.accessToken = nil
            bench.demand.method = "PUT"
            #expect(bench.judge(bytes(text)).fault == DPoPRefusal.method)
            bench.demand.method = try #require(payload["htm"]?.string)
            bench.now = UnixTime(seconds: seconds + 301)
            #expect(bench.judge(bytes(text)).refusal == DPoPRefusal.clock(nonce: bench.nonce))
        }
        let accessToken = try #require(entries.first { $0["header"]?["typ"] == nil }?["jwt"]?.string)
        #expect(Bench().judge(bytes(accessToken)).fault != nil, "an access token is no proof")
    }

    private static let wycheproof = "wycheproof_json_web_signature_test.json"

    /// Each signature by ES256 that Project Wycheproof calls invalid, as it stands and as that of a proof whose header
    /// holds the vector's key.
    @Test(
        "The wrong signatures of Project Wycheproof are wrong in proofs",
        .enabled(if: TestData.isExpected(wycheproof), TestData.absence)
    )
    func refusesTheWrongSignaturesOfWycheproof() throws {
        let document = try #require(JSONText.decode(TestData.bytes(Self.wycheproof)))
        guard case .array(let groups) = document["testGroups"] else { throw JOSEError("there are no groups") }
        let bench = Bench()
        var judged = 0
        for group in groups {
            guard let key = group["public"], key["crv"] == "P-256",
                case .array(let tests) = group["tests"]
            else { continue }
            let header = JSONText.encode(["typ": "dpop+jwt", "alg": "ES256", "jwk": key])
            let payload = JSONText.encode(.object(bench.claims()))
            for test in tests where test["result"] == "invalid" {
                guard let token = test["jws"]?.string,
                    let signature = token.split(separator: ".", omittingEmptySubsequences: false).last
                else { continue }
                judged += 1
                let proof = Base64URL.encode(header) + "." + Base64URL.encode(payload) + "." + signature
                #expect(bench.judge(bytes(proof)).accepted == nil, "\(test["tcId"] ?? .null)")
                #expect(bench.judge(bytes(token)).accepted == nil, "\(test["tcId"] ?? .null)")
            }
        }
        #expect(judged == 39)
    }
}
