import Cryptography
import Dispatch
import Providers
import Sessions
import Settings
import Synchronization
import Testing
import Vocabulary

@Suite("Static provider")
struct StaticProviderTests {
    /// A hash at the least cost that is accepted: these tests are about who, not about how hard.
    private static func hash(_ password: String) throws -> Secret {
        let salt = Random.bytes(16)
        let cost = Scrypt.Cost(n: 1024, r: 8, p: 1)
        let hash = try #require(Scrypt.derive(password: Array(password.utf8), salt: salt, cost: cost, count: 32))
        return Secret("scrypt:1024:8:1:\(Base64URL.encode(salt)):\(Base64URL.encode(hash))")
    }

    private func users(_ identifiers: String...) throws -> [UserSettings] {
        try identifiers.map { identifier in
            UserSettings(
                identifier: identifier,
                id: "id of \(identifier)",
                passwordHash: try Self.hash("correct horse"),
                traits: ["email": .string(identifier)],
                aal: "aal1"
            )
        }
    }

    private func subject(_ result: AuthenticationResult) -> String? {
        guard case .authenticated(let identity, _, _) = result else { return nil }
        return identity.id
    }

    @Test("The right password signs in with the user's traits and level")
    func rightPassword() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com"))
        let result = await provider.authenticate(identifier: "alice@example.com", password: Secret("correct horse"))
        let identity = Identity(id: "id of alice@example.com", traits: ["email": "alice@example.com"])
        #expect(result == .authenticated(identity, aal: "aal1", methods: ["password"]))
    }

    @Test("A wrong password, an unknown user and no users at all are the same refusal")
    func refusals() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com", "bob@example.com"))
        for (identifier, password) in [
            ("alice@example.com", "wrong"), ("alice@example.com", ""), ("mallory@example.com", "correct horse"),
            ("", "correct horse"), ("alice@example.com\u{0}", "correct horse"), (" alice@example.com", "correct horse"),
            (String(repeating: "a", count: 300), "correct horse"),
            ("alice@example.com", String(repeating: "correct horse", count: 100)),
        ] {
            #expect(await provider.authenticate(identifier: identifier, password: Secret(password)) == .refused)
        }
        let empty = StaticProvider(users: [])
        #expect(await empty.authenticate(identifier: "alice", password: Secret("x")) == .refused)
    }

    /// Peers #67 (CVE-2025-24806).
    @Test("Identifiers are bytes after ASCII case folding: no other spelling is the user")
    func spelling() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com", "zo\u{EB}", "kim"))
        func subject(_ identifier: String) async -> String? {
            self.subject(await provider.authenticate(identifier: identifier, password: Secret("correct horse")))
        }
        #expect(await subject("ALICE@Example.Com") == "id of alice@example.com")
        #expect(await subject("Zo\u{EB}") == "id of zo\u{EB}")
        #expect(await subject("zoe\u{308}") == nil, "the decomposed spelling is canonically equivalent")
        #expect(await subject("ZO\u{CB}") == nil)
        #expect(await subject("\u{212A}im") == nil, "the Kelvin sign is a k in Unicode case folding")
        #expect(UserIdentifier("ALICE") == UserIdentifier("alice"))
        #expect(UserIdentifier("zo\u{EB}") != UserIdentifier("zoe\u{308}"))
    }

    @Test("When the workers are busy, known and unknown users alike are told to come again")
    func overload() async throws {
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 0)
        let provider = StaticProvider(users: try self.users("alice@example.com"), workers: workers)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let busy = Task {
            await workers.run {
                start.finish()
                gate.wait()
            }
        }
        for await _ in started {}
        for identifier in ["alice@example.com", "mallory@example.com"] {
            let result = await provider.authenticate(identifier: identifier, password: Secret("correct horse"))
            #expect(result == .unavailable)
        }
        gate.signal()
        await busy.value
        let result = await provider.authenticate(identifier: "alice@example.com", password: Secret("correct horse"))
        #expect(self.subject(result) == "id of alice@example.com")
    }

    @Test("Whoever is answered finds the place free again")
    func oneAfterTheOther() async {
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 0)
        var refused = 0
        for number in 0..<5000 where await workers.run({ number }) != number { refused += 1 }
        #expect(refused == 0)
    }

    @Test("No more than the configured number run at once, and all that may wait are served")
    func concurrency() async {
        let workers = PasswordWorkers(atOnce: 2, waitingLimit: 40)
        let gauge = Gauge()
        let served = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    await workers.run {
                        gauge.enter()
                        defer { gauge.leave() }
                        return number
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { served, number in
                if let number { served.insert(number) }
            }
        }
        #expect(served == Set(0..<40))
        #expect(gauge.most <= 2)
    }

    /// How many are inside now, and how many were at most.
    private final class Gauge: Sendable {
        private let count = Mutex((now: 0, most: 0))

        var most: Int { self.count.withLock { $0.most } }

        func enter() {
            self.count.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
        }

        func leave() {
            self.count.withLock { $0.now -= 1 }
        }
    }
}
