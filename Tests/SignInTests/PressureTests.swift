import AddressIntelligence
import Dispatch
import NIOCore
import Providers
import Sessions
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// No client can keep other users from signing in, whatever addresses it has.
@Suite("Sign-in under pressure")
struct PressureTests {
    @Test(
        "A household with 64 networks that guesses passwords without pause does not keep others from signing in",
        arguments: [true, false]
    )
    func household(isCounted: Bool) async throws {
        // The run without limits shows that the shared places for password checks are enough to protect others.
        let bench = SignInBench(provider: SlowProvider(), limiter: isCounted ? nil : ScriptedLimiter.open)
        let isOver = Flag()
        let tried = (0..<64).map { _ in Flag() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    while !isOver.isSet, !Task.isCancelled {
                        let address = "2001:db8:0:\(String(number, radix: 16))::1"
                        let result = try await bench.attempt("u\(number)", "wrong", from: address)
                        #expect(result != .signedIn)
                        tried[number].set()
                        // Do not repeat a throttled try at once; the test's own clock does not help here.
                        if result != .refused { try await Task.sleep(for: .milliseconds(2)) }
                    }
                }
            }
            try await waitUntil("wrong passwords are checked") { tried.allSatisfy(\.isSet) }
            for number in 0..<28 {
                if isCounted { bench.time.advance(by: .seconds(1)) }
                let address = number.isMultiple(of: 2) ? "198.51.\(number).7" : "2001:db8:\(number + 1)::7"
                #expect(try await bench.attempt(from: address) == .signedIn, "\(number)")
            }
            isOver.set()
            try await group.waitForAll()
        }
    }

    @Test("If strangers have taken every place, a user from an address with an earlier sign-in still gets one")
    func familiar() async throws {
        let bench = SignInBench(provider: SlowProvider(), limiter: ScriptedLimiter.open)
        #expect(try await bench.attempt(from: "203.0.113.9") == .signedIn)
        let isOver = Flag()
        let isFull = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<250 {
                group.addTask {
                    while !isOver.isSet, !Task.isCancelled {
                        let result = try await bench.attempt("u\(number)", "wrong", from: "10.\(number).0.1")
                        if result == .unavailable(.providerUnavailable) {
                            isFull.set()
                            try await Task.sleep(for: .milliseconds(2))
                        }
                    }
                }
            }
            try await waitUntil("no place is left") { isFull.isSet }
            for _ in 0..<5 {
                #expect(try await bench.attempt(from: "203.0.113.9") == .signedIn)
            }
            isOver.set()
            try await group.waitForAll()
        }
    }

    @Test("A try that could not be served is not counted; a wrong password always is")
    func givenBack() async throws {
        let provider = SwitchedProvider()
        let bench = SignInBench(provider: provider, room: 1)
        #expect(try await bench.attempt(from: "198.51.100.1") == .signedIn, "the store is full now")
        let alice = "alice@example.com"
        // Five of ten tries are left.
        for _ in 0..<5 { #expect(try await bench.attempt(alice, "wrong") == .refused) }
        provider.isAway.withLock { $0 = true }
        for _ in 0..<1000 { #expect(try await bench.attempt() == .unavailable(.providerUnavailable)) }
        provider.isAway.withLock { $0 = false }
        for _ in 0..<1000 { #expect(try await bench.attempt() == .unavailable(.storeFull)) }
        // The right password has emptied the user's bucket, although its session could not be stored.
        for _ in 0..<10 { #expect(try await bench.attempt(alice, "wrong") == .refused) }
        #expect(try await bench.attempt(alice, "wrong").isThrottled)
        #expect(try await bench.attempt().isThrottled)
        // 15 tries of the address are counted.
        for number in 0..<35 { #expect(try await bench.attempt("u\(number)", "wrong") == .refused) }
        #expect(try await bench.attempt("v", "wrong").isThrottled)
    }

    @Test("If there is no place for a password check, the limiter is not asked, so that a flood does not load it")
    func noRoom() async throws {
        let untouchable = ScriptedLimiter { loop in
            Issue.record("the limiter was asked")
            return loop.makeSucceededFuture(.allowed)
        }
        let bench = SignInBench(provider: FullProvider(), limiter: untouchable)
        #expect(try await bench.attempt() == .unavailable(.providerUnavailable))
    }

    @Test("An outage of the provider gives back the tries that a user had left, and no more")
    func noFreeGuesses() async throws {
        let provider = SwitchedProvider()
        let bench = SignInBench(provider: provider)
        var judged = 0
        for round in 0..<100 {
            provider.isAway.withLock { $0 = round.isMultiple(of: 2) }
            if try await bench.attempt("alice@example.com", "wrong") == .refused { judged += 1 }
        }
        #expect(judged == 10)
    }

    @Test("Guesses at one user from many networks of one site are throttled, but not the user's known address")
    func oneUserFromManyNetworks() async throws {
        for (base, other) in [("2001:db8:1:#::1", "2001:db8:2::1"), ("192.0.2.#", "192.0.3.1")] {
            func site(_ number: Int) -> String { base.replacing("#", with: "\(number)") }
            let bench = SignInBench()
            #expect(try await bench.attempt(from: site(200)) == .signedIn)
            let spelling = "ALICE@example.com"
            // The successful sign-in counted as a try of a stranger.
            for number in 1..<30 {
                #expect(try await bench.attempt(spelling, "wrong", from: site(number)) == .refused)
            }
            #expect(try await bench.attempt(from: site(100)) == .throttled(.seconds(5)))
            #expect(try await bench.attempt(from: site(200)) == .signedIn, "her own address")
            #expect(try await bench.attempt(from: other) == .signedIn)
            // Bob is not affected.
            #expect(try await bench.attempt("bob@example.com", "wrong", from: site(100)) == .refused)
        }
    }

    @Test(
        "Tries for many users are counted per household, per site and per IPv4 network, whatever the exact address",
        arguments: [
            (name: "household", burst: 100, base: "2001:db8:0:#::1", beside: "2001:db8:0:100::1"),
            (name: "site", burst: 200, base: "2001:db8:0:#00::1", beside: "2001:db8:1::1"),
            (name: "IPv4 network", burst: 400, base: "192.0.2.#", beside: "192.0.3.1"),
        ]
    )
    func blocks(name: String, burst: Int, base: String, beside: String) async throws {
        let bench = SignInBench(provider: SwitchedProvider())
        func attempt(_ number: Int, from address: String) async throws -> SignInBench.Result {
            try await bench.attempt("u\(number)", "wrong", from: address)
        }
        // One of the addresses in the block.
        func address(_ number: Int) -> String {
            base.replacing("#", with: String(number % 100, radix: base.contains(":") ? 16 : 10))
        }
        for number in 0..<burst {
            #expect(try await attempt(number, from: address(number)) == .refused, "\(number)")
        }
        guard case .throttled(let wait) = try await attempt(burst, from: address(7)), wait <= .seconds(1) else {
            Issue.record("the \(name) is not throttled")
            return
        }
        // A try that is refused for the block is not counted for the address.
        for _ in 0..<100 { #expect(try await attempt(burst, from: address(8)).isThrottled) }
        bench.time.advance(by: .seconds(1))
        #expect(try await attempt(burst, from: address(8)) == .refused)
        #expect(try await attempt(burst, from: beside) == .refused)
    }

    @Test("The memory of addresses is bounded, and the latest ones are kept")
    func memory() throws {
        let familiar = FamiliarAddresses(capacity: 100)
        let user = try #require(UserIdentifier("alice"))
        let other = try #require(UserIdentifier("bob"))
        func key(_ number: Int) -> AddressKey { IPAddress(v4: 0x0A00_0000 + UInt32(number)).key }
        for number in 0..<10_000 {
            familiar.add(key(number), user)
            for recent in max(0, number - 99)...number {
                guard familiar.contains(key(recent), user) else {
                    Issue.record("\(recent) is forgotten at \(number)")
                    return
                }
            }
        }
        #expect(familiar.contains(key(9999)))
        #expect(!familiar.contains(key(9999), other))
        #expect(!familiar.contains(key(0)))
        #expect(!familiar.contains(key(0), user))
    }

    /// Checks alice's password as the static provider does, with a delay that uses no CPU.
    private struct SlowProvider: PasswordProvider {
        private let workers = PasswordWorkers()

        func authenticate(
            identifier: String,
            password: Secret,
            from source: SignInSource
        ) async throws(NotDone) -> Authentication {
            let isDone: Void? = await self.workers.run(for: source) {
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
            }
            guard isDone != nil else { throw NotDone(.providerUnavailable) }
            guard identifier == "alice@example.com", password == Secret(SignInBench.password) else {
                throw NotDone(.signInRefused)
            }
            return SwitchedProvider.alice
        }
    }

    private struct FullProvider: PasswordProvider {
        func hasRoom(for source: SignInSource) -> Bool { false }

        func authenticate(
            identifier: String,
            password: Secret,
            from source: SignInSource
        ) async throws(NotDone) -> Authentication {
            Issue.record("a password was looked at")
            throw NotDone(.providerUnavailable)
        }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)

        var isSet: Bool { self.value.withLock { $0 } }

        func set() {
            self.value.withLock { $0 = true }
        }
    }
}
