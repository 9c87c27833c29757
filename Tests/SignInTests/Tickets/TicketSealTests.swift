import Cryptography
import EndpointBench
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("What a browser carries between hosts")
struct TicketSealTests {
    private static let secret = Secret("a secret of the tests, 32 bytes or more")
    private let bench: SignInBench
    private let tickets: HostTickets

    init() {
        self.bench = SignInBench()
        self.tickets = Self.tickets(self.bench, SealingKeyRing(current: Self.secret))
    }

    private static func tickets(_ bench: SignInBench, _ keys: SealingKeyRing) -> HostTickets {
        HostTickets(
            hosts: SignInHosts([]),
            sessions: bench.sessions,
            keys: keys,
            limiter: LocalRateLimiter(clock: bench.time.clock),
            journal: AuditJournal { _ in true }
        )
    }

    private func begin(_ returnTo: String = "/x", demand: SignInDemand = SignInDemand(), back: String? = nil)
        -> HostTickets.Beginning
    {
        self.tickets.begin(on: "b.example.com", from: "a.example.com", returnTo: returnTo, demand: demand, back: back)
    }

    @Test("Request and nonce come back as they were, and fit together")
    func roundTrip() throws {
        let demand = SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(600))
        let begun = self.begin("/x?a=b", demand: demand, back: "/y")
        let request = try #require(self.tickets.request(begun.request, id: begun.id, issuer: "a.example.com"))
        let nonce = try #require(self.tickets.nonce(begun.kept, id: begun.id, on: "b.example.com"))
        #expect(request.host == "b.example.com" && request.issuer == "a.example.com" && request.demand == demand)
        #expect(request.back == "/y" && request.begunAt == self.bench.time.now && nonce.begunAt == request.begunAt)
        #expect(request.challenge == SHA256.digest(nonce.secret.value.bytes) && nonce.returnTo == "/x?a=b")
        let text = begun.id + begun.request + String(decoding: begun.kept.bytes, as: UTF8.self)
        #expect(text.utf8.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F })
        #expect(begun.id.utf8.count == 22 && begun.id != self.begin().id && begun.kept != self.begin().kept)
    }

    @Test(
        "A request names the providers that count where it comes from and the hint, and without them a former gateway reads it"
    )
    func providers() throws {
        let begun = self.begin(demand: SignInDemand(aal: .aal2, providers: ["google", "staff"]))
        let request = try #require(self.tickets.request(begun.request, id: begun.id, issuer: "a.example.com"))
        #expect(request.demand == SignInDemand(aal: .aal2, providers: ["google", "staff"]) && request.back == nil)
        for providers in [[], ["google"]] {
            let hinted = SignInDemand(loginHint: "ada@example.com", providers: providers)
            let begun = self.begin(demand: hinted, back: "/y")
            let request = try #require(self.tickets.request(begun.request, id: begun.id, issuer: "a.example.com"))
            #expect(request.demand == hinted && request.back == "/y")
        }
        let plain = self.begin(back: "/y")
        #expect(self.tickets.request(plain.request, id: plain.id, issuer: "a.example.com")?.demand.providers == [])
    }

    @Test("Neither is accepted under another id, on another host, in the place of the other, or altered")
    func places() throws {
        let begun = self.begin()
        let other = self.begin()
        let kept = String(decoding: begun.kept.bytes, as: UTF8.self)
        #expect(self.tickets.request(begun.request, id: other.id, issuer: "a.example.com") == nil)
        #expect(self.tickets.request(begun.request, id: begun.id, issuer: "b.example.com") == nil)
        #expect(self.tickets.request(begun.request, id: begun.id, issuer: "a.example.com:8443") == nil)
        #expect(self.tickets.request(kept, id: begun.id, issuer: "a.example.com") == nil)
        #expect(self.tickets.nonce(begun.kept, id: other.id, on: "b.example.com") == nil)
        #expect(self.tickets.nonce(begun.kept, id: begun.id, on: "a.example.com") == nil)
        #expect(self.tickets.nonce(Secret(begun.request), id: begun.id, on: "b.example.com") == nil)
        for index in stride(from: 0, to: begun.request.utf8.count, by: 7) {
            var bytes = Array(begun.request.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let altered = String(decoding: bytes, as: UTF8.self)
            #expect(self.tickets.request(altered, id: begun.id, issuer: "a.example.com") == nil, "\(index)")
        }
        for text in ["", "x", "=", String(repeating: "A", count: 9000)] {
            #expect(self.tickets.request(text, id: begun.id, issuer: "a.example.com") == nil)
            #expect(self.tickets.nonce(Secret(text), id: begun.id, on: "b.example.com") == nil)
        }
    }

    @Test("A new secret still accepts what was carried under the old one; without it nothing is accepted")
    func rotation() {
        let begun = self.begin()
        let next = Secret("another secret of the tests, 32 bytes")
        let rotated = Self.tickets(self.bench, SealingKeyRing(current: next, accepted: [Self.secret]))
        #expect(rotated.request(begun.request, id: begun.id, issuer: "a.example.com") != nil)
        #expect(rotated.nonce(begun.kept, id: begun.id, on: "b.example.com") != nil)
        let replaced = Self.tickets(self.bench, SealingKeyRing(current: next))
        #expect(replaced.request(begun.request, id: begun.id, issuer: "a.example.com") == nil)
        #expect(replaced.nonce(begun.kept, id: begun.id, on: "b.example.com") == nil)
    }

    @Test("Every nonce fits into a cookie", arguments: [0, 100, 2700, 3000, 8000])
    func size(length: Int) throws {
        let page = "/" + String(repeating: "a", count: length)
        let begun = self.begin(page)
        #expect(begun.kept.bytes.count <= 3900)
        let nonce = try #require(self.tickets.nonce(begun.kept, id: begun.id, on: "b.example.com"))
        #expect(nonce.returnTo == (length < 2800 ? page : "/"))
        #expect(begun.request.utf8.count < 400)
    }
}

@Suite("Hosts that share a sign-in")
struct SignInHostsTests {
    private static func host(_ name: String, _ hasEndpoints: Bool, _ binding: BindingMode = .none) -> HostSettings {
        var bound = RouteSettings(path: "/bound/**", upstream: "app", auth: .required)
        bound.liveBinding = binding
        let open = RouteSettings(path: "/**", upstream: "app", auth: .public)
        let url = PublicURL(isHTTPS: true, host: name, port: nil)
        return HostSettings(publicURL: url, endpoints: hasEndpoints, routes: [open, bound])
    }

    @Test("The first host with endpoints serves those without; where there is none, every host serves itself")
    func directory() {
        let some = SignInHosts([Self.host("b", false, .ip), Self.host("a", true), Self.host("a2", true)])
        #expect(some.isShared)
        #expect(some.signInHost(of: "b")?.origin == "https://a")
        #expect(some.signInHost(of: "a") == nil && some.signInHost(of: "a2") == nil && some.signInHost(of: "x") == nil)
        #expect(some.host("b")?.bindings == [.ip] && some.host("a")?.bindings == [] && some.host("x") == nil)
        let none = SignInHosts([Self.host("b", false), Self.host("c", false)])
        #expect(!none.isShared && none.signInHost(of: "b") == nil)
        #expect(!SignInHosts([Self.host("a", true)]).isShared)
    }
}
