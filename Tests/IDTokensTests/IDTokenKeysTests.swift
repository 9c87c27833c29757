import Cryptography
import JOSE
import NIOCore
import NIOPosix
import Sessions
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("The keys of id_tokens in the store")
struct IDTokenKeysTests {
    private static let hour = Duration.seconds(3600)

    @Test("The first gateway makes the key: RSA with 2048 bits, named by its thumbprint, published as clients need it")
    func first() async throws {
        let bench = KeyBench()
        let (keys, notices) = bench.gateway()
        #expect(keys.published == nil, "nothing was read")
        let key = try await keys.signer()
        #expect(key.algorithm == .rs256 && notices.all == [.made(keyID: key.publicKey.thumbprint)])
        let published = try #require(keys.published?.keys)
        #expect(published == [key.publicKey])
        guard case .object(let members) = published[0].value else { throw JOSEError("no object") }
        #expect(members.keys.sorted() == ["alg", "e", "kid", "kty", "n", "use"])
        #expect(members["kty"] == "RSA" && members["alg"] == "RS256" && members["use"] == "sig")
        #expect(members["kid"] == .string(key.publicKey.thumbprint))
        #expect(members["n"]?.string.flatMap { Base64URL.decode($0) }?.count == 256)
    }

    @Test("Gateways that start at once end with one key, whoever is faster")
    func race() async throws {
        let bench = KeyBench()
        let gateways = (0..<4).map { _ in bench.gateway() }
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for gateway in gateways { group.addTask { try await gateway.keys.signerID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(names.count == 1)
        #expect(gateways.flatMap { $0.notices.all }.count == 1, "one has made it")
    }

    @Test("A gateway whose key comes second takes the key that is there")
    func second() async throws {
        let bench = KeyBench()
        let (one, two) = (bench.gateway().keys, bench.gateway())
        bench.store.change { $0.beforePut = { await one.prepare() } }
        #expect(try await two.keys.signerID == one.signerID)
        #expect(two.notices.all.isEmpty && bench.store.puts == 2)
    }

    @Test("Many requests that need the first key make one")
    func requests() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await keys.signerID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(names.count == 1 && bench.store.puts == 1)
    }

    @Test("A gateway that needs no key makes none, and publishes the one that another made")
    func reader() async throws {
        let bench = KeyBench()
        let reader = bench.gateway().keys
        await reader.refresh()
        #expect(reader.publishedIDs == [] && bench.store.puts == 0)
        let name = try await bench.gateway().keys.signerID
        await reader.refresh()
        #expect(reader.publishedIDs == [name])
    }

    @Test("While the store has been away since the start there is no key, and once it is back there is one")
    func outageAtStart() async throws {
        let bench = KeyBench()
        let (keys, notices) = bench.gateway()
        bench.store.change { $0.isAway = true }
        for _ in 0..<2 {
            await #expect(throws: IDTokenKeyFailure.unavailable) { try await keys.signer() }
        }
        #expect(keys.published == nil && notices.all == [.failed(.unavailable)], "said once")
        bench.store.change { $0.isAway = false }
        let name = try await keys.signerID
        #expect(notices.all.last == .made(keyID: name))
    }

    @Test("While the store refuses writes one key waits for it, which no cache takes for none")
    func refusedWrites() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        bench.store.change { $0.refusesWrites = true }
        for _ in 0..<3 {
            await #expect(throws: IDTokenKeyFailure.unavailable) { try await keys.signer() }
        }
        #expect(keys.published == nil)
        bench.store.change { $0.refusesWrites = false }
        let name = Array(try await keys.signerID.utf8)
        #expect(bench.store.attempts.count == 4)
        for attempt in bench.store.attempts { #expect(attempt.contains(sequence: name[...])) }
    }

    @Test("The last keys are used while the store is away, and the next ones when their time has come")
    func outage() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let first = try await keys.signerID
        let rotation = try await bench.gateway().keys.rotate(after: Self.hour)
        await keys.refresh()
        bench.store.change { $0.isAway = true }
        await keys.refresh()
        #expect(try await keys.signerID == first && keys.publishedIDs == [first, rotation.keyID])
        bench.clock.advance(by: Self.hour)
        #expect(try await keys.signerID == rotation.keyID && keys.publishedIDs == [rotation.keyID, first])
    }

    @Test("A change that the store reports is read at once")
    func change() async throws {
        let bench = KeyBench()
        let (keys, notices) = bench.gateway()
        keys.start(following: bench.caches)
        let first = try await keys.signerID
        let rotation = try await bench.gateway().keys.rotate(after: Self.hour)
        try await waitUntil("the next key") { keys.publishedIDs == [first, rotation.keyID] }
        let notice = IDTokenKeys.Notice.rotated(keyID: rotation.keyID, signsFrom: rotation.signsFrom)
        try await waitUntil("a notice") { notices.all.contains(notice) }
        let key = DocumentKey(collection: SigningKeyDocument.collection, id: "id-token")
        #expect(try await bench.store.delete(key, on: bench.loops.next()).get())
        try await waitUntil("the keys are back") { notices.all.contains(.restored) }
        #expect(try await bench.gateway().keys.signerID == first, "a store that lost the keys gets them back")
        await keys.stop()
    }

    @Test("Once it is stopped it asks the store no more, and knows its keys still")
    func stopped() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        keys.start(following: bench.caches)
        let first = try await keys.signerID
        await keys.stop()
        _ = try await bench.gateway().keys.rotate(after: Self.hour)
        await keys.refresh()
        #expect(try await keys.signerID == first && keys.publishedIDs == [first])
        let other = bench.gateway().keys
        await other.stop()
        await #expect(throws: IDTokenKeyFailure.unavailable) { try await other.signer() }
    }

    // MARK: Rotation

    @Test(
        "A new key is published at once, signs when clients know it, and the old one stays until its tokens have ended"
    )
    func rotation() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let first = try await keys.signerID
        let rotatedAt = bench.clock.now
        let rotation = try await bench.gateway().keys.rotate(after: Self.hour)
        let end = rotatedAt.advanced(by: Self.hour + IDToken.longestLifetime + Self.hour)
        #expect(rotation.former?.keyID == first && rotation.former?.publishedUntil == end)
        #expect(rotation.signsFrom == rotatedAt.advanced(by: Self.hour))
        await keys.refresh()
        let second = rotation.keyID

        #expect(try await keys.signerID == first && keys.publishedIDs == [first, second])
        bench.clock.advance(by: Self.hour - .milliseconds(1))
        #expect(try await keys.signerID == first && keys.publishedIDs == [first, second])
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await keys.signerID == second && keys.publishedIDs == [second, first])
        bench.clock.advance(by: end.since(bench.clock.now) - .milliseconds(1))
        #expect(keys.publishedIDs == [second, first])
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await keys.signerID == second && keys.publishedIDs == [second])

        _ = try await bench.gateway().keys.rotate(after: Self.hour)
        let other = bench.gateway().keys
        await other.refresh()
        #expect(other.publishedIDs?.count == 2, "the first key is in the store no more")
    }

    @Test("While a key waits there is no other rotation; after that there is one")
    func waiting() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let first = try await keys.rotate(after: Self.hour)
        #expect(first.former == nil && first.signsFrom == bench.clock.now, "the first key has none before it")
        let second = try await keys.rotate(after: Self.hour)
        await #expect(throws: IDTokenKeys.RotationRefusal.waiting(keyID: second.keyID, until: second.signsFrom)) {
            try await keys.rotate(after: Self.hour)
        }
        bench.clock.advance(by: Self.hour)
        let third = try await keys.rotate(after: Self.hour)
        #expect(third.former?.keyID == second.keyID)
        await keys.refresh()
        #expect(keys.publishedIDs == [second.keyID, third.keyID, first.keyID])
    }

    @Test("Two rotations at once add one key")
    func rotationRace() async throws {
        let bench = KeyBench()
        let (one, two) = (bench.gateway().keys, bench.gateway().keys)
        await one.prepare()
        bench.store.change { $0.beforePut = { _ = try? await two.rotate(after: Self.hour) } }
        await #expect(throws: IDTokenKeys.RotationRefusal.self) { try await one.rotate(after: Self.hour) }
        await one.refresh()
        #expect(one.publishedIDs?.count == 2)
    }

    @Test("A rotation in an outage fails and changes nothing")
    func rotationOutage() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let first = try await keys.signerID
        bench.store.change { $0.isAway = true }
        await #expect(throws: IDTokenKeys.RotationRefusal.failure(.unavailable)) {
            try await keys.rotate(after: Self.hour)
        }
        bench.store.change { $0.isAway = false }
        await keys.refresh()
        #expect(keys.publishedIDs == [first])
    }

    @Test("A discard leaves the new key alone, which signs at once")
    func discard() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        let first = try await keys.signerID
        let rotation = try await keys.rotate(after: Self.hour, discards: true)
        await keys.refresh()
        #expect(rotation.keyID != first && rotation.former == nil)
        #expect(try await keys.signerID == rotation.keyID && keys.publishedIDs == [rotation.keyID])
    }

    // MARK: Secrets

    @Test("No part of a private key stands open in the store")
    func sealed() async throws {
        let bench = KeyBench()
        let key = try await bench.gateway().keys.signer()
        let bytes = try await bench.bytes()
        let open = key.pkcs8.bytes
        #expect(bytes.count > open.count)
        for start in stride(from: 0, to: open.count - 16, by: 16) {
            #expect(!bytes.contains(sequence: open[start..<(start + 16)]))
        }
    }

    @Test("Keys under a secret that is not accepted are an error that says what to do, and are not overwritten")
    func unreadable() async throws {
        let bench = KeyBench()
        let first = try await bench.gateway().keys.signerID
        let before = try await bench.bytes()
        let (stranger, notices) = bench.gateway(KeyBench.new)
        for _ in 0..<2 {
            await #expect(throws: IDTokenKeyFailure.unreadable) { try await stranger.signer() }
        }
        #expect(stranger.published == nil && notices.all == [.failed(.unreadable)])
        let words = IDTokenKeyFailure.unreadable.sentence
        #expect(words.contains("secret_file") && words.contains("keys rotate-signing --discard"))
        await #expect(throws: IDTokenKeys.RotationRefusal.failure(.unreadable)) {
            try await stranger.rotate(after: Self.hour)
        }
        #expect(try await bench.bytes() == before)

        #expect(try await bench.gateway(KeyBench.new, accepted: [KeyBench.old]).keys.signerID == first)
    }

    @Test("Keys that only a list shows are not taken for none, and a discard replaces them")
    func hidden() async throws {
        let bench = KeyBench()
        bench.store.change { $0.refusesLists = true }
        let keys = bench.gateway().keys
        await #expect(throws: IDTokenKeyFailure.unreadable) { try await keys.signer() }
        #expect(bench.store.puts == 0)
        let rotation = try await keys.rotate(after: Self.hour, discards: true)
        #expect(try await keys.signerID == rotation.keyID)
    }

    @Test("A list whose connection ends is asked for again, and says nothing of the secret")
    func listCutOff() async throws {
        let bench = KeyBench()
        bench.store.change { $0.refusesNextList = true }
        let (keys, notices) = bench.gateway()
        _ = try await keys.signer()
        #expect(!notices.all.contains(.failed(.unreadable)))
    }

    @Test("A gateway that starts with a new secret seals the keys again, so that the old secret can be dropped")
    func resealed() async throws {
        let bench = KeyBench()
        let old = bench.gateway(KeyBench.old, accepted: [KeyBench.new])
        let first = try await old.keys.signerID
        let new = bench.gateway(KeyBench.new, accepted: [KeyBench.old])
        #expect(try await new.keys.signerID == first && new.notices.all == [.resealed])
        #expect(try await bench.gateway(KeyBench.new).keys.signerID == first)
        // The secret is rolled out step by step: gateways of both kinds run, and do not write in turns.
        for _ in 0..<3 {
            await old.keys.refresh()
            await new.keys.refresh()
        }
        #expect(bench.store.puts == 2, "made by the old one, and sealed by the new one")
        bench.clock.advance(by: .seconds(86_400))
        _ = try await old.keys.rotate(after: Self.hour)
        await new.keys.refresh()
        #expect(try await bench.gateway(KeyBench.new).keys.signerID == first, "what the old one wrote later, too")
    }
}

extension [UInt8] {
    fileprivate func contains(sequence: ArraySlice<UInt8>) -> Bool {
        guard self.count >= sequence.count else { return false }
        return (0...(self.count - sequence.count)).contains { self[$0..<($0 + sequence.count)].elementsEqual(sequence) }
    }
}
