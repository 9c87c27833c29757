import Cryptography
import EndpointBench
import Providers
import Sessions
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("What a browser keeps of a sign-in")
struct KeptSignInTests {
    private let bench = SignInBench()
    private let provider = ScriptedBrowserProvider()

    private var flow: BrowserSignInFlow {
        BrowserSignInFlow(
            sessions: self.bench.sessions,
            provider: self.provider,
            limiter: LocalRateLimiter(clock: self.bench.time.clock),
            keys: SealingKeyRing(current: Secret("a secret of the tests"))
        )
    }

    private func begin(_ wish: BrowserSignIn, returnTo: String = "/a") async throws -> (id: String, kept: Secret) {
        let begun = try await self.flow.begin(wish, returnTo: returnTo, on: SignInBench.host)
        return (begun.id, begun.kept)
    }

    @Test("It holds all that completes the sign-in, is opened for its id and host only, and reveals nothing")
    func sealed() async throws {
        let wish = BrowserSignIn(callback: "", demand: SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(600)))
        let (id, kept) = try await self.begin(wish, returnTo: "/r?a=1")
        let pending = try #require(self.flow.pending(kept, id: id, on: SignInBench.host))
        #expect(pending.returnTo == "/r?a=1" && pending.begunAt == self.bench.time.now && !pending.isRepeat)
        #expect(pending.demand == SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(600)))
        #expect(pending.atProvider?.id == id && pending.atProvider?.verifier == "verifier of \(id)")
        #expect(self.flow.pending(kept, id: "other", on: SignInBench.host) == nil)
        #expect(self.flow.pending(kept, id: id, on: "\(SignInBench.host):8443") == nil)
        let text = String(decoding: kept.bytes, as: UTF8.self)
        #expect(text.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
        let bytes = try #require(Base64URL.decoded(kept.bytes[...]))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("verifier"))
        for index in stride(from: 0, to: bytes.count, by: 7) {
            var altered = bytes
            altered[index] ^= 1
            #expect(self.flow.pending(Secret(Base64URL.encoded(altered)), id: id, on: SignInBench.host) == nil)
        }
        for length in [0, 1, 20, bytes.count - 1] {
            let cut = Secret(Base64URL.encoded(Array(bytes.prefix(length))))
            #expect(self.flow.pending(cut, id: id, on: SignInBench.host) == nil)
        }
    }

    @Test(
        "On a host with several providers it names the one at which it began, and else it is what a former gateway reads"
    )
    func names() async throws {
        let keys = SealingKeyRing(current: Secret("a secret of the tests"))
        let named = BrowserSignInFlow(
            sessions: self.bench.sessions,
            name: "google",
            provider: self.provider,
            limiter: LocalRateLimiter(clock: self.bench.time.clock),
            keys: keys
        )
        let begun = try await named.begin(BrowserSignIn(callback: ""), returnTo: "/a", on: SignInBench.host)
        let pending = try #require(self.flow.pending(begun.kept, id: begun.id, on: SignInBench.host))
        #expect(pending.provider == "google" && pending.returnTo == "/a" && pending.app == nil)
        let short = try #require(named.shortened(pending, id: begun.id, on: SignInBench.host))
        #expect(named.pending(short, id: begun.id, on: SignInBench.host)?.provider == "google")
        let lone = try await self.begin(BrowserSignIn(callback: ""))
        #expect(self.flow.pending(lone.kept, id: lone.id, on: SignInBench.host)?.provider == nil)
        func version(_ kept: Secret, _ id: String) throws -> UInt8? {
            let text = try #require(Base64URL.decoded(kept.bytes[...]))
            return try keys.open(text, for: Array("sign-in \(SignInBench.host) \(id)".utf8)).first
        }
        #expect(try version(lone.kept, lone.id) == 3)
        #expect(try version(begun.kept, begun.id) == 4)
    }

    @Test("Shortened, it says where it leads and what it demands, and nothing that completes it")
    func shortened() async throws {
        let (id, kept) = try await self.begin(
            BrowserSignIn(callback: "", demand: SignInDemand(aal: .aal2)),
            returnTo: "/r?a=1"
        )
        let pending = try #require(self.flow.pending(kept, id: id, on: SignInBench.host))
        let text = try #require(self.flow.shortened(pending, id: id, on: SignInBench.host))
        #expect(text.bytes.count < kept.bytes.count)
        let short = try #require(self.flow.pending(text, id: id, on: SignInBench.host))
        #expect(short.atProvider == nil && short.returnTo == "/r?a=1" && short.begunAt == pending.begunAt)
        #expect(short.demand == pending.demand && short.app == pending.app)
        #expect(self.flow.shortened(short, id: id, on: SignInBench.host) == nil)
    }

    @Test(
        "What an earlier version has kept begins again: for its page, its app and its demands",
        arguments: [1, 2] as [UInt8]
    )
    func earlier(version: UInt8) async throws {
        var writer = CompactWriter()
        writer.write(byte: version)
        writer.write(self.bench.time.now.milliseconds)
        writer.write("/r?a=1")
        writer.write(byte: 1)
        writer.write(optional: AssuranceLevel?.some(.aal2)) { $0.write($1.rawValue) }
        writer.write(optional: Duration?.some(.seconds(300))) { $0.write($1.wholeMilliseconds) }
        writer.write(list: Array("verifier".utf8)) { $0.write(byte: $1) }
        if version == 2 {
            writer.write("flow")
            writer.write("myapp://back")
        }
        let keys = SealingKeyRing(current: Secret("a secret of the tests"))
        let place = Array("sign-in \(SignInBench.host) id".utf8)
        let kept = Secret(Base64URL.encoded(keys.seal(writer.bytes, for: place)))
        let pending = try #require(self.flow.pending(kept, id: "id", on: SignInBench.host))
        #expect(pending.atProvider == nil && !pending.isRepeat && pending.returnTo == "/r?a=1")
        #expect(pending.demand == SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(300)))
        #expect(pending.app == (version == 2 ? WaitingApp(flow: "flow", returnTo: "myapp://back") : nil))
        #expect(pending.beginsAgain)
    }

    @Test("Why a provider gave no answer is told at each sign-in that ends with it; a refusal is recorded and not told")
    func outages() async throws {
        let told = Mutex<[String]>([])
        let flow = BrowserSignInFlow(
            sessions: self.bench.sessions,
            provider: self.provider,
            limiter: LocalRateLimiter(clock: self.bench.time.clock),
            keys: SealingKeyRing(current: Secret("a secret of the tests")),
            reportOutage: { words in told.withLock { $0.append(words) } }
        )
        let begun = try await flow.begin(BrowserSignIn(callback: ""), returnTo: "/a", on: SignInBench.host)
        let pending = try #require(flow.pending(begun.kept, id: begun.id, on: SignInBench.host))
        let requester = try self.bench.requester()
        self.provider.leave()
        await #expect(throws: NotDone.self) {
            try await flow.prove(pending, [("state", begun.id)], .web, for: requester)
        }
        #expect(told.withLock(\.self) == ["the provider is away"])
        self.provider.leave(false)
        await #expect(throws: NotDone.self) {
            try await flow.prove(pending, [("state", "another")], .web, for: requester)
        }
        #expect(told.withLock(\.self).count == 1)
    }

    @Test("It expires after ten minutes")
    func expiry() async throws {
        let (id, kept) = try await self.begin(BrowserSignIn(callback: ""))
        let pending = try #require(self.flow.pending(kept, id: id, on: SignInBench.host))
        #expect(!pending.isExpired(at: self.bench.time.now.advanced(by: .seconds(600))))
        #expect(pending.isExpired(at: self.bench.time.now.advanced(by: .seconds(601))))
    }
}
