import Providers
import SocialBench
import StoreBench
import Testing
import Vocabulary

/// The doubles refuse what the real ones refuse, or the tests with them would prove nothing.
@Suite("The doubles of Apple and Facebook")
struct SocialNetworkTests {
    /// A request that has arrived, with changed parameters; nil removes one.
    private func again(_ request: SocialRequest, _ changes: [String: String?]) -> SocialRequest {
        var parameters = Dictionary(request.parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        for (name, value) in changes { parameters[name] = value }
        let text = parameters.map { "\($0.key)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
        let target = request.endpoint?.rawValue ?? ""
        return request.method == "GET"
            ? SocialRequest("GET", "\(target)?\(text)") : SocialRequest("POST", target, body: Array(text.utf8))
    }

    private func error(_ answer: SocialAnswer?) -> JSONValue? { answer.flatMap { JSONText.decode($0.body)?["error"] } }

    @Test("Apple redeems no code with a redirect, a second time, or for a client secret that is not good now")
    func apple() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.apple, bench.network.appleCode()).user != nil)
        let good = try #require(bench.network.requests(of: .appleToken).first)
        func send(_ changes: [String: String?] = [:]) -> JSONValue? {
            let fresh = String(decoding: bench.network.appleCode().bytes, as: UTF8.self)
            let all = ["code": Optional(fresh)].merging(changes) { $1 }
            return self.error(bench.network.answer(to: self.again(good, all)))
        }
        #expect(send() == nil && bench.network.complaints.isEmpty)
        #expect(send(["code": good["code"]]) == "invalid_grant" && bench.network.complaints.isEmpty)
        #expect(send(["redirect_uri": "https://a"]) == "invalid_grant")
        #expect(bench.network.complaints.count == 1 && bench.network.complaints[0].contains("redirect_uri"))
        let secret = try #require(good["client_secret"])
        for wrong in [secret + "A", String(secret.dropLast(4)), "", "a.b.c"] {
            #expect(send(["client_secret": wrong]) == "invalid_client")
        }
        bench.clock.advance(by: .seconds(301))
        #expect(send() == "invalid_client")
        #expect(bench.network.complaints.count == 6)
    }

    @Test("Facebook answers only whoever knows the app's secret")
    func facebook() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.facebook, bench.network.facebookToken()).user != nil)
        let good = try #require(bench.network.requests(of: .facebookDebug).first)
        #expect(self.error(bench.network.answer(to: self.again(good, [:]))) == nil)
        for (changes, code) in [
            (["access_token": "1234567890|x"], 190), (["access_token": nil], 190),
            (["appsecret_proof": good["appsecret_proof"]?.uppercased()], 100), (["appsecret_proof": nil], 100),
        ] as [([String: String?], JSONValue)] {
            #expect(self.error(bench.network.answer(to: self.again(good, changes)))?["code"] == code)
        }
        #expect(bench.network.answer(to: SocialRequest("POST", "/facebook/debug_token"))?.status == 405)
    }
}
