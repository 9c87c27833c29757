import Cryptography
import JOSE
import NIOCore
import RedisServers
import RedisStore
import Sessions
import SignOn
import TestSupport
import Testing
import Vocabulary

@Suite("The keys of id_tokens in Redis")
struct IDTokenKeysTests {
    private static let old = Secret("an old secret of the tests, 32 bytes")
    private static let new = Secret("a new secret of the tests, 32 bytes.")
    private static let hour = Duration.seconds(3600)

    /// A gateway's keys, with a client and caches of its own.
    private struct Member {
        let store: RedisStore
        let keys: IDTokenKeys

        init(_ client: RedisClient, _ current: Secret = old, accepted: [Secret] = []) {
            let ring = SealingKeyRing(current: current, accepted: accepted)
            let caches = SessionCaches(isDoubting: true)
            self.store = RedisStore(
                client: client,
                ring: ring,
                clock: .system,
                caches: caches,
                readBackPatience: .seconds(10)
            )
            self.keys = IDTokenKeys(store: self.store, ring: ring, loops: loops, clock: .system)
            self.keys.start(following: caches)
        }

        var published: [String]? { self.keys.published?.keys.compactMap(\.keyID) }
        var signer: String { get async throws { try await self.keys.signer().publicKey.thumbprint } }
    }

    @Test("Two gateways that start at once end with one key, and follow each other's rotation without a restart")
    func shared() async throws {
        try await RedisServer.with { server in
            // The store starts its client, together with the listener for changes.
            let clients = try (0..<2).map { _ in try RedisClient(configuration: server.configuration(), group: loops) }
            let (one, two) = (Member(clients[0]), Member(clients[1]))
            for member in [one, two] { try await member.store.start() }
            async let first = one.signer
            async let second = two.signer
            let names = try await [first, second]
            #expect(names[0] == names[1])
            let rotation = try await one.keys.rotate(after: Self.hour)
            for member in [one, two] {
                try await waitUntil("the next key") { member.published == [names[0], rotation.keyID] }
                #expect(try await member.signer == names[0])
            }
            for member in [one, two] {
                await member.keys.stop()
                try await member.store.shutDown()
            }
        }
    }

    @Test("No part of a key stands open in Redis, and a lost secret is an error until an operator discards its keys")
    func lostSecret() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let key = try await Member(client).keys.signer()
                let before = try await client.dump()
                let open = key.pkcs8.bytes
                for value in before.values {
                    for start in stride(from: 0, to: open.count - 16, by: 16) {
                        #expect(!value.contains(Array(open[start..<(start + 16)])))
                    }
                }

                let stranger = Member(client, Self.new)
                await #expect(throws: IDTokenKeyFailure.unreadable) { try await stranger.keys.signer() }
                await #expect(throws: IDTokenKeys.RotationRefusal.failure(.unreadable)) {
                    try await stranger.keys.rotate(after: Self.hour)
                }
                #expect(try await client.dump() == before)
                #expect(try await Member(client).signer == key.publicKey.thumbprint)

                let rotation = try await stranger.keys.rotate(after: Self.hour, discards: true)
                #expect(try await stranger.signer == rotation.keyID)
                #expect(try await Member(client, Self.new).signer == rotation.keyID)
            }
        }
    }

    @Test("The keys survive a rotation of the secret, and so does a rotation of the keys in its middle")
    func secretRotation() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let first = try await Member(client).signer
                let added = Member(client, Self.old, accepted: [Self.new])
                #expect(try await added.signer == first)
                let promoted = Member(client, Self.new, accepted: [Self.old])
                #expect(try await promoted.signer == first)
                await added.keys.refresh()
                #expect(try await added.signer == first)
                let rotation = try await promoted.keys.rotate(after: Self.hour)
                await added.keys.refresh()
                let retired = Member(client, Self.new)
                #expect(try await retired.signer == first)
                for member in [added, retired] { #expect(member.published == [first, rotation.keyID]) }
            }
        }
    }
}
