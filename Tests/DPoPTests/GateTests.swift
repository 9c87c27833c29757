import JOSE
import NIOCore
import NIOPosix
import Sessions
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// Proofs at a gateway that remembers them.
@Suite struct GateTests {
    private static let file = "dpop_rfc9449.json"

    @Test(
        "RFC 9449's own proofs are accepted once each, at their time, place and token",
        .enabled(if: TestData.isExpected(file), TestData.absence)
    )
    func standard() async throws {
        let document = try #require(JSONText.decode(TestData.bytes(Self.file)))
        guard case .array(let entries) = document["proofs"] else { throw JOSEError("there are no proofs") }
        let token = Secret(try #require(document["access_token"]?.string))
        // The gateway has run for long, so no nonce is demanded.
        let clock = MovableClock(startingAt: UnixTime(seconds: 1_562_262_616 - 1000))
        let store = MemoryStore(maxSessions: 10, maxMarkers: 10, clock: clock.clock, caches: SessionCaches())
        let gate = DPoPGate(Bench.secrets, onces: store)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let proofs = try entries.filter { $0["header"]?["typ"] == "dpop+jwt" }
            .map { (text: try #require($0["jwt"]?.string), payload: try #require($0["payload"])) }
        #expect(proofs.count == 3)
        func time(_ payload: JSONValue) -> UnixTime {
            guard case .integer(let seconds) = payload["iat"] else { return UnixTime(seconds: 0) }
            return UnixTime(seconds: seconds)
        }
        // The two at the token endpoint have one `jti`: by the time of the later one, the first can no longer be used.
        for (text, payload) in proofs.sorted(by: { time($0.payload) < time($1.payload) }) {
            clock.advance(by: time(payload).since(clock.now))
            let url = try #require(payload["htu"]?.string)
            let path = "/" + url.split(separator: "/").dropFirst(2).joined(separator: "/")
            let demand = DPoPDemand(
                method: try #require(payload["htm"]?.string),
                target: DPoPTarget(origin: bytes(String(url.dropLast(path.utf8.count))), path: bytes(path)),
                accessToken: payload["ath"] == nil ? nil : token,
                thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
            )
            func present() async throws -> DPoPRefusal? {
                let proof = try gate.judge(bytes(text), for: demand, keys: nil, now: clock.now)
                return try await gate.redeem(proof, now: clock.now, on: loop).get()
            }
            #expect(try await present() == nil)
            clock.advance(by: .seconds(1))
            #expect(try await present() == .replayed)
        }
    }
}
