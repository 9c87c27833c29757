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
        let desk = try await TokenDesk([self.provider])
        let other = try await desk.another([self.provider])
        self.provider.say(desk.alice(cached: .seconds(30)), of: self.opaque)
        let session = try #require(try await desk.resolve(self.opaque).session)
        #expect(try await other.resolve(self.opaque) == .found(session))
        #expect(self.provider.calls.count == 1)
        desk.clock.advance(by: .seconds(31))
        for place in [desk, other] { #expect(try await place.resolve(self.opaque) == .found(session)) }
        #expect(self.provider.calls.count == 2)
    }

    @Test("No token is shown to the provider of another realm, and none of its verdicts is used")
    func realms() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(cached: .seconds(600)), of: self.opaque)
        _ = try #require(try await desk.resolve(self.opaque).session)
        #expect(self.provider.calls.count == 1)
        try await desk.reload([self.provider], of: Realm("staff"))
        #expect(try await desk.resolve(self.opaque).session == nil)
        #expect(self.provider.calls.count == 1)
        try await desk.reload([self.provider])
        #expect(try await desk.resolve(self.opaque).session?.identity.realm == .default)
    }

    @Test("New claims reach the other loops, and the session stays the same")
    func claims() async throws {
        let desk = try await TokenDesk([self.provider])
        let other = try await desk.another([self.provider])
        self.provider.say(desk.alice(cached: .seconds(10)), of: self.opaque)
        let old = try #require(try await desk.resolve(self.opaque).session)
        _ = try await other.resolve(self.opaque)
        var changed = desk.alice(cached: .seconds(10))
        changed.identity.traits = ["email": "new@example.com"]
        changed.issuedAt = old.issuedAt
        self.provider.say(changed, of: self.opaque)
        desk.clock.advance(by: .seconds(10))
        for place in [desk, other] {
            let session = try #require(try await place.resolve(self.opaque).session)
            #expect(session.identity.traits == ["email": "new@example.com"] && session.id == old.id)
        }
        #expect(self.provider.calls.count == 2)
    }

    @Test("A token that proves itself is judged once by each loop, and again when its verdict has run out")
    func judgedByEach() async throws {
        let desk = try await TokenDesk([self.signatures])
        let other = try await desk.another([self.signatures])
        self.signatures.say(.known(desk.alice(cached: .seconds(600))))
        let session = try #require(try await desk.resolve(self.signed).session)
        for (index, place) in [desk, other].enumerated() {
            #expect(try await place.resolve(self.signed).session == session)
            desk.clock.advance(by: .seconds(3))
            #expect(try await place.resolve(self.signed) == .hit(session))
            #expect(self.signatures.count == index + 1)
        }
        // Read again in the store, and not judged again.
        desk.clock.advance(by: .seconds(100))
        _ = try await desk.resolve(self.signed)
        #expect(self.signatures.count == 3, "an entry that was not used is forgotten")
        desk.clock.advance(by: .seconds(4))
        for _ in 0..<100 where self.signatures.count == 3 { _ = try await desk.resolve(self.signed) }
        #expect(self.signatures.count == 3)
        desk.clock.advance(by: .seconds(600))
        #expect(try await desk.resolve(self.signed).session == session)
        #expect(self.signatures.count == 4)
    }

    @Test("A forged token costs the store nothing, and a judgement only every two seconds")
    func forged() async throws {
        let desk = try await TokenDesk([self.signatures])
        for _ in 0..<3 { #expect(try await desk.resolve(self.signed) == .none(.credentialInvalidToken)) }
        #expect(desk.store.calls == 0 && self.signatures.count == 1)
        desk.clock.advance(by: .seconds(2))
        self.signatures.say(.unknown(.credentialExpired))
        #expect(try await desk.resolve(self.signed) == .none(.credentialExpired))
        #expect(desk.store.calls == 0 && self.signatures.count == 2)
    }

    @Test("While the store cannot answer, no token is accepted and none refused; what is known serves for five seconds")
    func storeAway() async throws {
        let desk = try await TokenDesk([self.signatures, self.provider])
        self.signatures.say(.known(desk.alice(cached: .seconds(600))))
        self.provider.say(desk.alice(), of: self.opaque)
        let session = try #require(try await desk.resolve(self.signed).session)
        desk.store.fail(with: .unavailable)
        #expect(try await desk.resolve(self.opaque) == .unavailable(.storeUnavailable))
        #expect(try await desk.resolve("eyJ.two") == .unavailable(.storeUnavailable))
        desk.clock.advance(by: .milliseconds(4999))
        #expect(try await desk.resolve(self.signed) == .hit(session))
        desk.clock.advance(by: .milliseconds(1))
        #expect(try await desk.resolve(self.signed) == .unavailable(.storeUnavailable))
        desk.store.fail(with: nil)
        #expect(try await desk.resolve(self.signed).session == session)
        #expect(self.provider.calls.isEmpty)
    }

    @Test("Without room in the store a new token is not accepted; those that are known are")
    func full() async throws {
        let desk = try await TokenDesk([self.signatures], room: 1)
        self.signatures.say(.known(desk.alice(cached: .seconds(1))))
        #expect(try await desk.resolve(self.signed).session != nil)
        #expect(try await desk.resolve("eyJ.two") == .unavailable(.storeFull))
        desk.clock.advance(by: .seconds(2))
        #expect(try await desk.resolve(self.signed).session != nil)
    }

    @Test(
        "A reload with another configuration forgets verdicts, here and in the store, but not a sign-out (CVE-2026-33496)"
    )
    func reload() async throws {
        let desk = try await TokenDesk([self.signatures])
        self.signatures.say(.known(desk.alice(cached: .seconds(600))))
        for token in [self.signed, "eyJ.out"] { #expect(try await desk.resolve(token).session != nil) }
        try await desk.end(.signOut, token: "eyJ.out", of: self.signatures.name)
        let strict = ScriptedSignatures(configuration: "another audience")
        strict.say(.unknown(.credentialOtherAudience))
        try await desk.reload([strict])
        #expect(try await desk.resolve(self.signed) == .none(.credentialOtherAudience))
        strict.say(.known(desk.alice(cached: .seconds(600))))
        desk.clock.advance(by: .seconds(2))
        #expect(try await desk.resolve(self.signed).session != nil)
        #expect(try await desk.resolve("eyJ.out") == .none(.sessionUnknown))
        try await desk.reload([])
        #expect(try await desk.resolve(self.signed) == .malformed)
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
