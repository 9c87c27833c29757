import RedisServers
import RedisStore
import Synchronization
import Testing
import Vocabulary

/// Gateways of one Redis that compare their secrets.
@Suite("The register of secrets") struct SecretRegisterTests {
    private static let text = """
        one 100 900 aaa,bbb
        two 200 900 bbb
        a line of a later version
        three 300 900 ccc
        """

    @Test(
        "Of gateways without a common secret, the later one is told of an earlier one, and the earlier of a later one"
    )
    func strangers() {
        let register = SecretRegister(Self.text)
        #expect(register.strangers(to: "one") == SecretRegister.OtherSecretCounts(earlier: 0, later: 1))
        #expect(register.strangers(to: "two") == SecretRegister.OtherSecretCounts(earlier: 0, later: 1))
        #expect(register.strangers(to: "three") == SecretRegister.OtherSecretCounts(earlier: 2, later: 0))
        #expect(register.strangers(to: "four") == nil)
    }

    @Test("Rings that overlap are no strangers, so that a rotation is none")
    func rotation() {
        let (old, new, next) = (Secret("the old secret"), Secret("the new secret"), Secret("the next secret"))
        func strangers(_ first: SecretRing, _ second: SecretRing) -> Int? {
            let text =
                "1 1 1 \(SecretRegister.fingerprints(of: first))\n2 2 2 \(SecretRegister.fingerprints(of: second))"
            return SecretRegister(text).strangers(to: "2")?.earlier
        }
        #expect(strangers(SecretRing(current: old), SecretRing(current: new, accepted: [old])) == 0)
        #expect(strangers(SecretRing(current: old, accepted: [new]), SecretRing(current: new)) == 0)
        #expect(strangers(SecretRing(current: new, accepted: [old]), SecretRing(current: next, accepted: [new])) == 0)
        #expect(strangers(SecretRing(current: old), SecretRing(current: new)) == 1)
    }

    @Test("A gateway registers, is told of another with other secrets, and leaves no entry behind")
    func watch() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let told = Mutex<[SecretRegister.OtherSecretCounts]>([])
                func watch(_ secret: String) -> SecretWatch {
                    SecretWatch(client: client, secrets: SecretRing(current: Secret(secret))) { strangers in
                        told.withLock { $0.append(strangers) }
                    }
                }
                let (first, same, other) = (watch("one secret"), watch("one secret"), watch("another secret"))
                for watch in [first, same, other] {
                    await watch.start()
                    // Of two that came in the same millisecond, either may be the earlier one.
                    try await Task.sleep(for: .milliseconds(2))
                }
                #expect(first.strangers == SecretRegister.OtherSecretCounts(earlier: 0, later: 0))
                #expect(other.strangers == SecretRegister.OtherSecretCounts(earlier: 2, later: 0))
                #expect(told.withLock { $0 } == [other.strangers])
                for watch in [first, same] { await watch.shutDown() }
                let last = watch("another secret")
                await last.start()
                #expect(last.strangers == SecretRegister.OtherSecretCounts(earlier: 0, later: 0))
                for watch in [other, last] { await watch.shutDown() }
                let left = try await client.dump()
                #expect(left.isEmpty)
            }
        }
    }
}
