import NIOCore
import Providers
import Sessions
import StoreBench
import Testing
import Vocabulary

@Suite("Verdicts on tokens, shared by the store")
struct SharedTokenTests {
    private let provider = ScriptedTokens()
    private let signatures = ScriptedSignatures()
    private let opaque = "ory_st_one"
    private let signed = "eyJ.one"

    @Test("Another loop uses the verdict on an opaque token until it runs out, then one of them asks")
    func shared() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        let other = try await bench.another([self.provider])
        self.provider.say(bench.alice(cached: .seconds(30)), of: self.opaque)
        let session = try #require(try await bench.resolve(self.opaque).session)
        #expect(try await other.resolve(self.opaque) == .found(session))
        #expect(self.provider.calls.count == 1)
        bench.clock.advance(by: .seconds(31))
        for place in [bench, other] { #expect(try await place.resolve(self.opaque) == .found(session)) }
        #expect(self.provider.calls.count == 2)
    }

    @Test("No token is shown to the provider of another realm, and none of its verdicts is used")
    func realms() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        self.provider.say(bench.alice(cached: .seconds(600)), of: self.opaque)
        _ = try #require(try await bench.resolve(self.opaque).session)
        #expect(self.provider.calls.count == 1)
        try await bench.reload([self.provider], of: Realm("staff"))
        #expect(try await bench.resolve(self.opaque).session == nil)
        #expect(self.provider.calls.count == 1)
        try await bench.reload([self.provider])
        #expect(try await bench.resolve(self.opaque).session?.identity.realm == .default)
    }

    @Test("New claims reach the other loops, and the session stays the same")
    func claims() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        let other = try await bench.another([self.provider])
        self.provider.say(bench.alice(cached: .seconds(10)), of: self.opaque)
        let old = try #require(try await bench.resolve(self.opaque).session)
        _ = try await other.resolve(self.opaque)
        var changed = bench.alice(cached: .seconds(10))
        changed.identity.traits = ["email": "new@example.com"]
        changed.issuedAt = old.issuedAt
        self.provider.say(changed, of: self.opaque)
        bench.clock.advance(by: .seconds(10))
        for place in [bench, other] {
            let session = try #require(try await place.resolve(self.opaque).session)
            #expect(session.identity.traits == ["email": "new@example.com"] && session.id == old.id)
        }
        #expect(self.provider.calls.count == 2)
    }

    @Test("A token that proves itself is judged once by each loop, and again when its verdict has run out")
    func judgedByEach() async throws {
        let bench = try await TokenEndpointBench([self.signatures])
        let other = try await bench.another([self.signatures])
        self.signatures.say(.known(bench.alice(cached: .seconds(600))))
        let session = try #require(try await bench.resolve(self.signed).session)
        for (index, place) in [bench, other].enumerated() {
            #expect(try await place.resolve(self.signed).session == session)
            bench.clock.advance(by: .seconds(3))
            #expect(try await place.resolve(self.signed) == .hit(session))
            #expect(self.signatures.count == index + 1)
        }
        // Read again in the store, and not judged again.
        bench.clock.advance(by: .seconds(100))
        _ = try await bench.resolve(self.signed)
        #expect(self.signatures.count == 3, "an entry that was not used is forgotten")
        bench.clock.advance(by: .seconds(4))
        for _ in 0..<100 where self.signatures.count == 3 { _ = try await bench.resolve(self.signed) }
        #expect(self.signatures.count == 3)
        bench.clock.advance(by: .seconds(600))
        #expect(try await bench.resolve(self.signed).session == session)
        #expect(self.signatures.count == 4)
    }

    @Test("A forged token costs the store nothing, and a judgement only every two seconds")
    func forged() async throws {
        let bench = try await TokenEndpointBench([self.signatures])
        for _ in 0..<3 { #expect(try await bench.resolve(self.signed) == .none(.credentialInvalidToken)) }
        #expect(bench.store.calls == 0 && self.signatures.count == 1)
        bench.clock.advance(by: .seconds(2))
        self.signatures.say(.unknown(.credentialExpired))
        #expect(try await bench.resolve(self.signed) == .none(.credentialExpired))
        #expect(bench.store.calls == 0 && self.signatures.count == 2)
    }

    @Test("While the store cannot answer, no token is accepted and none refused; what is known serves for five seconds")
    func storeAway() async throws {
        let bench = try await TokenEndpointBench([self.signatures, self.provider])
        self.signatures.say(.known(bench.alice(cached: .seconds(600))))
        self.provider.say(bench.alice(), of: self.opaque)
        let session = try #require(try await bench.resolve(self.signed).session)
        bench.store.fail(with: .unavailable)
        #expect(try await bench.resolve(self.opaque) == .unavailable(.storeUnavailable))
        #expect(try await bench.resolve("eyJ.two") == .unavailable(.storeUnavailable))
        bench.clock.advance(by: .milliseconds(4999))
        #expect(try await bench.resolve(self.signed) == .hit(session))
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await bench.resolve(self.signed) == .unavailable(.storeUnavailable))
        bench.store.fail(with: nil)
        #expect(try await bench.resolve(self.signed).session == session)
        #expect(self.provider.calls.isEmpty)
    }

    @Test("Without room in the store a new token is not accepted; those that are known are")
    func full() async throws {
        let bench = try await TokenEndpointBench([self.signatures], room: 1)
        self.signatures.say(.known(bench.alice(cached: .seconds(1))))
        #expect(try await bench.resolve(self.signed).session != nil)
        #expect(try await bench.resolve("eyJ.two") == .unavailable(.storeFull))
        bench.clock.advance(by: .seconds(2))
        #expect(try await bench.resolve(self.signed).session != nil)
    }

    @Test(
        "A reload with another configuration forgets verdicts, here and in the store, but not a sign-out (CVE-2026-33496)"
    )
    func reload() async throws {
        let bench = try await TokenEndpointBench([self.signatures])
        self.signatures.say(.known(bench.alice(cached: .seconds(600))))
        for token in [self.signed, "eyJ.out"] { #expect(try await bench.resolve(token).session != nil) }
        try await bench.end(.signOut, token: "eyJ.out", of: self.signatures.name)
        let strict = ScriptedSignatures(configuration: "another audience")
        strict.say(.unknown(.credentialOtherAudience))
        try await bench.reload([strict])
        #expect(try await bench.resolve(self.signed) == .none(.credentialOtherAudience))
        strict.say(.known(bench.alice(cached: .seconds(600))))
        bench.clock.advance(by: .seconds(2))
        #expect(try await bench.resolve(self.signed).session != nil)
        #expect(try await bench.resolve("eyJ.out") == .none(.sessionUnknown))
        try await bench.reload([])
        #expect(try await bench.resolve(self.signed) == .malformed)
    }

    @Test("Keys tell providers, configurations and tokens apart, however they are divided (CVE-2026-71326)")
    func keys() {
        let authority = TokenAuthority(secret: Secret("a secret"))
        func key(_ token: String, _ provider: String, _ configuration: String) -> RecordKey {
            Array(token.utf8).withUnsafeBytes {
                ForeignNames(authority, provider: provider, configuration: configuration).key(of: $0)
            }
        }
        let keys = [
            key("ab", "c", ""), key("a", "bc", ""), key("b", "ca", ""), key("", "abc", ""), key("a", "b", "c"),
            key("a", "c", "b"), key("1 c", "ab", ""), key("c", "ab1 ", ""),
        ]
        #expect(Set(keys).count == keys.count && Set(keys.map(\.lineage)).count == keys.count)
        #expect(key("t", "p", "1").lineage == key("t", "p", "2").lineage)
    }
}
