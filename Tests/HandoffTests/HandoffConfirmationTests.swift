import AddressIntelligence
import Cryptography
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("Tokens that wait for the user's confirmation") struct HandoffConfirmationTests {
    private static let host = "app.example.com"
    private static let keys = SealingKeyRing(current: Secret("a secret of the tests"))
    private let confirmation = HandoffConfirmation(.crossSite, keys: Self.keys)
    private let now = UnixTime(seconds: 1_800_000_000)

    private func pending(target: String = "/a//b?x=%2F&y") -> PendingHandoff {
        PendingHandoff(token: Secret("spt_secret"), transport: .cookie, target: target, clientID: "web")
    }

    @Test(
        "The mode decides which tokens are asked about",
        arguments: [
            (.never, .consume, .refuse), (.crossSite, .consume, .ask), (.always, .ask, .ask),
        ] as [(HandoffSettings.Confirmation, HandoffConfirmation.Treatment, HandoffConfirmation.Treatment)]
    )
    func modes(
        mode: HandoffSettings.Confirmation,
        own: HandoffConfirmation.Treatment,
        foreign: HandoffConfirmation.Treatment
    ) {
        let confirmation = HandoffConfirmation(mode, keys: Self.keys)
        #expect(confirmation.treatment(isCrossSite: false) == own)
        #expect(confirmation.treatment(isCrossSite: true) == foreign)
    }

    @Test("What is sealed is opened for a minute, on its own host only, and shows nothing of the token")
    func seal() throws {
        let pending = self.pending()
        let sealed = try #require(self.confirmation.seal(pending, on: Self.host, now: self.now))
        #expect(!sealed.bytes.contains(Array("spt_".utf8)))
        #expect(self.confirmation.open(sealed, on: Self.host, now: self.now) == pending)
        #expect(self.confirmation.open(sealed, on: Self.host, now: self.now.advanced(by: .seconds(60))) == pending)
        #expect(self.confirmation.open(sealed, on: Self.host, now: self.now.advanced(by: .seconds(61))) == nil)
        #expect(self.confirmation.open(sealed, on: "\(Self.host):8443", now: self.now) == nil)
        let others = HandoffConfirmation(.crossSite, keys: SealingKeyRing(current: Secret("another secret")))
        #expect(others.open(sealed, on: Self.host, now: self.now) == nil)
        for index in sealed.bytes.indices {
            var bytes = sealed.bytes
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(self.confirmation.open(Secret(bytes), on: Self.host, now: self.now) == nil)
        }
        #expect(self.confirmation.open(Secret(""), on: Self.host, now: self.now) == nil)
    }

    @Test("Each has a proof and an attempt of its own")
    func proofs() {
        let (one, two) = (self.pending(), self.pending())
        #expect(one.proof != two.proof && one.attempt != two.attempt && one.proof.bytes.count == 22)
    }

    @Test("A page whose URL has no room in a cookie cannot wait")
    func room() {
        let long = self.pending(target: "/" + String(repeating: "x", count: 2_600))
        #expect(self.confirmation.seal(long, on: Self.host, now: self.now) != nil)
        let longer = self.pending(target: "/" + String(repeating: "x", count: 2_800))
        #expect(self.confirmation.seal(longer, on: Self.host, now: self.now) == nil)
    }

    private func request(_ bench: HandoffBench, _ token: Secret, from address: String = "1.128.0.1") throws
        -> HandoffRequest
    {
        HandoffRequest(
            token: token.bytes,
            transport: .query,
            authority: Self.host,
            client: .web,
            device: DeviceFacts(address: try #require(IPAddress(address)), asn: nil, userAgent: nil),
            existing: nil,
            attempt: AttemptSecret(),
            requestID: "req"
        )
    }

    @Test("A preview names the user and changes nothing; the token can be used afterwards")
    func preview() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let request = try self.request(bench, token)
        let records = bench.records.all.count
        for _ in 0..<2 {
            guard case .asks(let session) = try await bench.consumer().preview(request, on: bench.loop).get() else {
                Issue.record("the token is live")
                return
            }
            #expect(session.subject == "alice")
        }
        #expect(bench.records.all.count == records)
        #expect(try await bench.consume(token).signedIn != nil)
    }

    @Test("A preview on the wrong device refuses and burns the token, and so on for each refusal")
    func refusedPreview() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let request = try self.request(bench, token, from: "12.0.0.1")
        guard
            case .ended(.refused(.bindingIPMismatch, _)) = try await bench.consumer().preview(request, on: bench.loop)
                .get()
        else {
            Issue.record("the device is another one")
            return
        }
        #expect(bench.records.last?.burns == true)
        for wrong in [token, Secret("x")] {
            let request = try self.request(bench, wrong)
            guard case .ended(.refused) = try await bench.consumer().preview(request, on: bench.loop).get() else {
                Issue.record("the token is burned, or none")
                return
            }
        }
        #expect(try await bench.consume(token).refusal == .handoffBurned)
    }

    /// A client that was removed, and comes back as soon as it was asked for.
    private final class ReturningClient: ClientDirectory {
        private let wasAskedFor = Mutex(false)

        func hasExisted(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
            self.wasAskedFor.withLock { asked in
                defer { asked = true }
                return asked
            }
        }

        func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool { true }
    }

    @Test("A preview judges once: if it refuses the token, a client that comes back signs nobody in unasked")
    func returningClient() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let records = bench.records.all.count
        let consumer = bench.consumer(clients: ReturningClient())
        let preview = try await consumer.preview(self.request(bench, token), on: bench.loop).get()
        guard case .ended(.refused(.sessionClientGone, _)) = preview else {
            Issue.record("\(preview)")
            return
        }
        #expect(bench.records.all.count == records + 1)
        guard case .asks = try await consumer.preview(self.request(bench, token), on: bench.loop).get() else {
            Issue.record("the client is back")
            return
        }
    }

    @Test("While the store cannot answer, a preview says so")
    func outage() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        bench.store.fail(with: .unavailable)
        let preview = try await bench.consumer().preview(self.request(bench, token), on: bench.loop).get()
        guard case .ended(.unavailable) = preview else {
            Issue.record("\(preview)")
            return
        }
    }
}
