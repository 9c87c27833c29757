import AddressIntelligence
import Cryptography
import Dispatch
import Providers
import Sessions
import Settings
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

@Suite("Static provider")
struct StaticProviderTests {
    /// A hash of the lowest accepted cost, because these tests are not about its strength.
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
                aal: .aal1
            )
        }
    }

    private static let home = SignInSource(IPAddress(v4: 0xC000_0201), isFamiliar: false)

    private func subject(_ result: Result<Authentication, NotDone>) -> String? { result.value?.identity.id }

    @Test("The right password gives the user's traits and level")
    func rightPassword() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com"))
        let result = await provider.answer(
            identifier: "alice@example.com",
            password: Secret("correct horse"),
            from: Self.home
        )
        let identity = Identity(id: "id of alice@example.com", traits: ["email": "alice@example.com"])
        let expected = Authentication(identity: identity, aal: .aal1, methods: ["password"])
        #expect(result == .success(expected))
    }

    @Test("A user's hash may be by bcrypt, beside others' by scrypt")
    func bcrypt() async throws {
        var users = try self.users("alice@example.com", "bob@example.com")
        // "correct horse".
        users[1].passwordHash = Secret("$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e")
        let provider = StaticProvider(users: users)
        func subject(_ identifier: String, _ password: String) async -> String? {
            self.subject(
                await provider.answer(identifier: identifier, password: Secret(password), from: Self.home)
            )
        }
        #expect(await subject("alice@example.com", "correct horse") == "id of alice@example.com")
        #expect(await subject("bob@example.com", "correct horse") == "id of bob@example.com")
        #expect(await subject("bob@example.com", "correct Horse") == nil)
        for number in 0..<20 { #expect(await subject("mallory\(number)", "correct horse") == nil) }
    }

    @Test("A wrong password, an unknown user and a provider without users give the same refusal")
    func refusals() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com", "bob@example.com"))
        for (identifier, password) in [
            ("alice@example.com", "wrong"), ("alice@example.com", ""), ("mallory@example.com", "correct horse"),
            ("", "correct horse"), ("alice@example.com\u{0}", "correct horse"),
            ("a alice@example.com", "correct horse"),
            (String(repeating: "a", count: 300), "correct horse"),
            ("alice@example.com", String(repeating: "correct horse", count: 100)),
        ] {
            #expect(
                await provider.answer(identifier: identifier, password: Secret(password), from: Self.home)
                    == .refused(.signInRefused)
            )
        }
        let empty = StaticProvider(users: [])
        #expect(
            await empty.answer(identifier: "alice", password: Secret("x"), from: Self.home) == .refused(.signInRefused)
        )
    }

    @Test("It knows that a user of its own is gone, and nothing of users who signed in elsewhere")
    func lostUsers() throws {
        let provider = StaticProvider(users: try self.users("alice@example.com"))
        func hasLost(_ subject: String, _ methods: [String] = ["password"], at name: String? = nil) -> Bool {
            let now = UnixTime(seconds: 1_800_000_000)
            return provider.hasLostUser(
                of: Session(
                    id: "ses_1",
                    kind: .native,
                    origin: .native,
                    lineage: Lineage(tag: "aaaaaaaaaa"),
                    identity: Identity(id: subject, traits: [:]),
                    aal: .aal1,
                    methods: methods,
                    authenticatedAt: now,
                    issuedAt: now,
                    expiresAt: now.advanced(by: .seconds(60)),
                    idleLifetime: .seconds(60),
                    provider: name.map { ProviderSession(name: $0) }
                )
            )
        }
        #expect(!hasLost("id of alice@example.com"))
        #expect(hasLost("id of bob@example.com") && hasLost("alice@example.com"))
        #expect(!hasLost("google-oauth2|1", ["google-oauth2"]))
        #expect(!hasLost("bob", at: "https://id.example.com"))
    }

    /// CVE-2025-24806.
    @Test("Identifiers are compared as bytes in NFC after ASCII case folding, so no other spelling is the same user")
    func spelling() async throws {
        let provider = StaticProvider(users: try self.users("alice@example.com", "zo\u{EB}", "kim"))
        func subject(_ identifier: String) async -> String? {
            self.subject(
                await provider.answer(identifier: identifier, password: Secret("correct horse"), from: Self.home)
            )
        }
        #expect(await subject("ALICE@Example.Com") == "id of alice@example.com")
        #expect(await subject("Zo\u{EB}") == "id of zo\u{EB}")
        #expect(await subject("zoe\u{308}") == "id of zo\u{EB}", "the decomposed spelling of some keyboards")
        #expect(await subject("ZO\u{CB}") == nil)
        #expect(await subject("zo\u{EB}\u{301}") == nil)
        #expect(await subject("\u{212A}im") == "id of kim", "NFC makes the Kelvin sign a K")
        #expect(await subject("\u{FF4B}im") == nil, "a wide k is no k")
        #expect(UserIdentifier("ALICE") == UserIdentifier("alice"))
        #expect(UserIdentifier("zo\u{EB}") == UserIdentifier("zoe\u{308}"))
    }

    @Test(
        "White space and invisible characters at the ends of an identifier do not count",
        arguments: [
            " ", "  ", "\t", "\r\n", "\u{A0}", "\u{3000}", "\u{2003}", "\u{202F}", "\u{200B}", "\u{200D}", "\u{FEFF}",
            "\u{2060}", "\u{200E}", "\u{202C}", "\u{AD}", " \u{200B}\t\u{A0} ",
        ]
    )
    func ends(mark: String) async throws {
        let provider = StaticProvider(users: try self.users("ada lovelace", "\u{A0}bob "))
        for identifier in ["ada lovelace\(mark)", "\(mark)ada lovelace", "\(mark)Ada Lovelace\(mark)"] {
            let result = await provider.answer(
                identifier: identifier,
                password: Secret("correct horse"),
                from: Self.home
            )
            #expect(self.subject(result) == "id of ada lovelace")
            #expect(UserIdentifier(identifier) == UserIdentifier("ada lovelace"))
        }
        let bob = await provider.answer(
            identifier: "bob\(mark)",
            password: Secret("correct horse"),
            from: Self.home
        )
        #expect(self.subject(bob) == "id of \u{A0}bob ")
        #expect(UserIdentifier("ada\(mark)lovelace") != UserIdentifier("adalovelace"))
        #expect(UserIdentifier(mark) == nil)
    }

    @Test("What no user has as an identifier is none, whatever its length")
    func noIdentifier() {
        for text in ["", "a\tb", "a\u{0}", "\u{0}a", "a\u{7F}", "a\nb"] { #expect(UserIdentifier(text) == nil) }
        #expect(UserIdentifier(String(repeating: "a", count: 256)) != nil)
        #expect(UserIdentifier(String(repeating: "a", count: 257)) == nil)
        #expect(UserIdentifier(String(repeating: " ", count: 100) + String(repeating: "a", count: 256)) != nil)
        #expect(UserIdentifier(String(repeating: "e\u{308}", count: 128)) != nil)
        #expect(UserIdentifier(String(repeating: " ", count: 1_000_000) + "a") == nil)
        #expect(UserIdentifier("e" + String(repeating: "\u{308}\u{323}", count: 200)) == nil)
    }

    @Test(
        "A password signs in in either of Unicode's forms, whichever its hash was made from",
        arguments: [
            ("p\u{E4}ss", "p\u{E4}ss", true), ("p\u{E4}ss", "pa\u{308}ss", true), ("pa\u{308}ss", "p\u{E4}ss", true),
            ("pa\u{308}ss", "pa\u{308}ss", true), ("\u{1E0D}\u{307}", "\u{1E0B}\u{323}", true),
            ("\u{D55C}\u{AE00}", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}", true),
            ("pass", "p\u{E4}ss", false),
            ("p\u{E4}ss", "P\u{E4}ss", false), ("p\u{E4}ss", " p\u{E4}ss", false), ("\u{FB01}", "fi", false),
            ("a\u{E4}a\u{308}", "\u{E4}", false),
        ]
    )
    func passwordForms(configured: String, typed: String, isRight: Bool) async throws {
        var users = try self.users("ada")
        users[0].passwordHash = try Self.hash(configured)
        let provider = StaticProvider(users: users)
        let result = await provider.answer(identifier: "ada", password: Secret(typed), from: Self.home)
        #expect((self.subject(result) != nil) == isRight)
    }

    @Test("A password that is no text signs in as its bytes")
    func passwordBytes() async throws {
        let bytes: [UInt8] = [0xFF, 0x61, 0xCC, 0x88, 0x00]
        let salt = Random.bytes(16)
        let cost = Scrypt.Cost(n: 1024, r: 8, p: 1)
        let hash = try #require(Scrypt.derive(password: bytes, salt: salt, cost: cost, count: 32))
        var users = try self.users("ada")
        users[0].passwordHash = Secret("scrypt:1024:8:1:\(Base64URL.encode(salt)):\(Base64URL.encode(hash))")
        let provider = StaticProvider(users: users)
        let result = await provider.answer(identifier: "ada", password: Secret(bytes), from: Self.home)
        #expect(self.subject(result) != nil)
    }

    @Test("A user's hash may be by Argon2, also in the other form of Unicode, and unknown users take the same decoy")
    func argon2() async throws {
        var users = try self.users("alice@example.com", "bob@example.com")
        // "pa\u{308}ss", decomposed.
        users[1].passwordHash = Secret(
            "$argon2id$v=19$m=1024,t=1,p=2$MDEyMzQ1Njc4OWFiY2RlZg$p+gSBpwDuEPUW59JzyAnzR3vflA4DkQL9T897/UtTVc"
        )
        let provider = StaticProvider(users: users)
        func subject(_ identifier: String, _ password: String) async -> String? {
            self.subject(
                await provider.answer(identifier: identifier, password: Secret(password), from: Self.home)
            )
        }
        #expect(await subject("bob@example.com", "p\u{E4}ss") == "id of bob@example.com")
        #expect(await subject("bob@example.com", "pa\u{308}ss") == "id of bob@example.com")
        #expect(await subject("bob@example.com", "pass") == nil)
        for number in 0..<20 { #expect(await subject("mallory\(number)", "p\u{E4}ss") == nil) }
    }

    @Test("When the workers are busy, known and unknown users get the same answer: unavailable")
    func overload() async throws {
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 0)
        let provider = StaticProvider(users: try self.users("alice@example.com"), workers: workers)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let busy = Task {
            await workers.run(for: Self.home) {
                start.finish()
                gate.wait()
            }
        }
        for await _ in started {}
        for identifier in ["alice@example.com", "mallory@example.com"] {
            let result = await provider.answer(
                identifier: identifier,
                password: Secret("correct horse"),
                from: Self.home
            )
            #expect(result == .refused(.providerUnavailable))
        }
        #expect(!provider.hasRoom(for: Self.home))
        gate.signal()
        await busy.value
        #expect(provider.hasRoom(for: Self.home))
        let result = await provider.answer(
            identifier: "alice@example.com",
            password: Secret("correct horse"),
            from: Self.home
        )
        #expect(self.subject(result) == "id of alice@example.com")
    }

    @Test("When an answer arrives, its place is free again")
    func oneAfterTheOther() async {
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 0)
        var refused = 0
        for number in 0..<5000 where await workers.run(for: Self.home, { number }) != number { refused += 1 }
        #expect(refused == 0)
    }

    @Test("Hashes run at a low priority, and those who wait for them at their own")
    func priority() async {
        // On Linux, both are of the calling thread.
        @Sendable func niceness() -> Int32 { getpriority(Int32(PRIO_PROCESS.rawValue), 0) }
        let before = niceness()
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 10)
        for _ in 0..<3 { #expect(await workers.run(for: Self.home, niceness) == 10) }
        #expect(niceness() == before)
    }

    @Test("At most the configured number run at once, and all that may wait are served")
    func concurrency() async {
        let workers = PasswordWorkers(atOnce: 2, waitingLimit: 78)
        let gauge = Gauge()
        let served = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    await workers.run(for: Self.stranger(number)) {
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

    /// A sign-in from an IPv4 /24 that no other has.
    private static func stranger(_ number: Int) -> SignInSource {
        SignInSource(IPAddress(v4: 0x0A00_0001 + UInt32(number) << 8), isFamiliar: false)
    }

    @Test(
        "No network takes all places: newcomers get a share and are served next, and some places are kept for familiar users"
    )
    func shares() async throws {
        let queue = Queue(PasswordWorkers(atOnce: 1, waitingLimit: 39))
        // One household with many /64s gets half of the 30 places for strangers, and no more.
        for number in 0..<100 {
            let address = try #require(IPAddress("2001:db8:0:\(number)::1"))
            let isLetIn = try await queue.enter("household", SignInSource(address, isFamiliar: false))
            #expect(isLetIn == (number < 15))
        }
        for number in 0..<10 { #expect(try await queue.enter("newcomer", Self.stranger(number))) }
        // Strangers from many networks do not get the last quarter.
        for number in 10..<100 {
            #expect(try await queue.enter("flood", Self.stranger(number)) == (number < 15))
        }
        for number in 0..<9 {
            let user = SignInSource(IPAddress(v4: 0x0B00_0000 + UInt32(number)), isFamiliar: true)
            #expect(try await queue.enter("user", user), "one of nine in one /24")
        }
        let order = await queue.open()
        #expect(order.count == 39)
        #expect(order.first == "household")
        // All others are served before the household is served a third time.
        let third = order.indices.filter { order[$0] == "household" }[2]
        #expect(order[..<third].count { $0 != "household" } == 24)
    }

    @Test("A place that is free again can be taken from any network")
    func places() async {
        let workers = PasswordWorkers(atOnce: 1, waitingLimit: 3)
        for number in 0..<1000 { #expect(await workers.run(for: Self.stranger(number), { number }) == number) }
        for number in 0..<1000 { #expect(await workers.run(for: Self.home, { number }) == number) }
    }

    /// Work that is submitted one item after the other and begins when the gate opens.
    private final class Queue: Sendable {
        private let workers: PasswordWorkers
        private let gate = DispatchSemaphore(value: 0)
        private let begun = Mutex<[String]>([])
        private let tasks = Mutex<[Task<Void, Never>]>([])
        private let refusals = Mutex(0)

        init(_ workers: PasswordWorkers) {
            self.workers = workers
        }

        /// Submits work; true if it gets a place.
        func enter(_ name: String, _ source: SignInSource) async throws -> Bool {
            let (places, refusals) = (self.workers.occupiedPlaces, self.refusals.withLock { $0 })
            let isFirst = places == 0
            let task = Task {
                let done: Void? = await self.workers.run(for: source) {
                    if isFirst { self.gate.wait() }
                    self.begun.withLock { $0.append(name) }
                }
                if done == nil { self.refusals.withLock { $0 += 1 } }
            }
            self.tasks.withLock { $0.append(task) }
            try await waitUntil("a place or a refusal") {
                self.workers.occupiedPlaces > places || self.refusals.withLock { $0 } > refusals
            }
            return self.workers.occupiedPlaces > places
        }

        /// Opens the gate and returns the names in the order in which the work was done.
        func open() async -> [String] {
            self.gate.signal()
            for task in self.tasks.withLock({ $0 }) { await task.value }
            return self.begun.withLock { $0 }
        }
    }

    /// The number of callers inside now, and the largest number so far.
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

extension StaticProvider {
    fileprivate func answer(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async -> Result<Authentication, NotDone> {
        // The helper for all errors, which takes an autoclosure, crashes here in Swift 6.3.1.
        do throws(NotDone) {
            return .success(try await self.authenticate(identifier: identifier, password: password, from: source))
        } catch {
            return .failure(error)
        }
    }
}
