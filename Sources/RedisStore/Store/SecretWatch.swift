import Cryptography
import NIOCore
import Synchronization
package import Vocabulary

/// Detects other gateways of the same Redis that have other secrets. Each gateway repeatedly writes the fingerprints of
/// its secrets into one register, and reads the fingerprints of all gateways.
///
/// If two gateways share no secret, only the later one is treated as wrong, so that it cannot take the earlier one
/// down.
package final class SecretWatch: Sendable {
    /// The interval at which a gateway writes its entry. The entry of a stopped gateway is valid for `lifetime`.
    private static let interval = Duration.seconds(10)
    private static let lifetime = Duration.seconds(30)

    private struct State {
        var strangers = SecretRegister.OtherSecretCounts(earlier: 0, later: 0)
        var task: Task<Void, Never>?
    }

    private let client: RedisClient
    private let fingerprints: String
    private let id = Base64URL.encode(Random.bytes(9))
    private let changed: @Sendable (SecretRegister.OtherSecretCounts) -> Void
    private let state = Mutex(State())

    /// - Parameter changed: Called when the numbers of gateways with other secrets have changed.
    package init(
        client: RedisClient,
        secrets: SecretRing,
        changed: @escaping @Sendable (SecretRegister.OtherSecretCounts) -> Void
    ) {
        self.client = client
        self.fingerprints = SecretRegister.fingerprints(of: secrets)
        self.changed = changed
    }

    /// The numbers of gateways with other secrets, when last read.
    package var strangers: SecretRegister.OtherSecretCounts { self.state.withLock { $0.strangers } }

    /// Registers the gateway, and renews its entry in the background. Waits for the first answer or failure.
    package func start() async {
        await self.look()
        let task = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                if !Task.isCancelled { await self.look() }
            }
        }
        self.state.withLock { $0.task = task }
    }

    /// Removes the gateway from the register, if it was registered.
    package func shutDown() async {
        guard let task = self.state.withLock({ $0.task }) else { return }
        task.cancel()
        await task.value
        _ = try? await self.write("").get()
    }

    private func look() async {
        guard let reply = try? await self.write(self.fingerprints).get(), case .bulk(let bytes) = reply,
            let strangers = SecretRegister(String(decoding: bytes, as: UTF8.self)).strangers(to: self.id)
        else { return }
        let isNew = self.state.withLock { state in
            defer { state.strangers = strangers }
            return state.strangers != strangers
        }
        if isNew { self.changed(strangers) }
    }

    /// - Parameter fingerprints: The fingerprints; empty to remove the entry.
    private func write(_ fingerprints: String) -> EventLoopFuture<RedisReply> {
        let call = ScriptCall(
            Scripts.register,
            keys: [Keyspace.secrets],
            arguments: [Array(self.id.utf8), Array(fingerprints.utf8), RedisStore.digits(Self.lifetime)]
        )
        return self.client.run(call, on: self.client.firstLoop)
    }
}
