import Cryptography
package import NIOCore
package import Sessions

extension RedisStore {
    package var onceMemory: OnceMemory { self.reigns.memory }

    /// Stores the id, and waits for a replica if there are any. A failover still loses the id if a replica that lacks
    /// it is promoted. Callers detect this loss with `onceMemory`.
    package func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool> {
        // The length shows where the scope ends, even if the scope contains spaces.
        let text = "\(id.scope.utf8.count) \(id.scope) \(id.id)"
        // All names of an id share a slot. Ids are spread over 4,096 tags. Twelve bits of a hash reveal no id.
        let tag = String(SHA256.digest(Array(text.utf8)).base64URL.prefix(2))
        let call = ScriptCall(
            Scripts.once,
            keys: self.seals.ring.names(of: text).map { Keyspace.once($0, tag: tag) },
            arguments: [Self.digits(min(max(lifetime, .zero), Self.longestLife) + Self.margin)]
        )
        let isFirst: EventLoopFuture<Bool> = self.client.run(call, on: loop) { result in
            switch try Self.written(result) {
            case .integer(1): return .success(true)
            case .integer(0): return .success(false)
            default: throw StoreError.unavailable
            }
        }
        return .later(isFirst)
    }
}
