package import NIOCore
import Synchronization
package import Vocabulary

/// The resolvers of all event loops, for endpoints that show a session, such as `whoami`. Showing a session is not a
/// use of it.
package final class SessionResolvers: Sendable {
    private struct Member: Sendable {
        let loop: any EventLoop
        let resolver: NIOLoopBound<SessionResolver>
    }

    private let members = Mutex<[Member]>([])

    package init() {}

    /// Adds the resolver of a loop. Must be called on that loop.
    package func add(_ resolver: SessionResolver) {
        let member = Member(loop: resolver.loop, resolver: NIOLoopBound(resolver, eventLoop: resolver.loop))
        self.members.withLock { $0.append(member) }
    }

    /// Returns the live session of this token from the cache of the caller's loop. `nil` if the caller is on no loop,
    /// or if `SessionResolver.shown` finds none.
    package func known(_ token: Secret, now: UnixTime) -> SessionPresentation? {
        guard let resolver = self.own else { return nil }
        return token.bytes.withUnsafeBytes { resolver.shown($0, now: now) }
    }

    /// Reads the session of the token with this key, and caches it on the caller's loop. `nil` if the caller is on no
    /// loop, or if `SessionResolver.readsShown` is false. The caller must then ask the store.
    package func read(_ token: Secret, key: RecordKey, now: UnixTime) -> EventLoopFuture<SessionPresentation?>? {
        guard let resolver = self.own, resolver.readsShown else { return nil }
        return resolver.readShown(token, key: key, now: now)
    }

    private var own: SessionResolver? {
        self.members.withLock { members in members.first { $0.loop.inEventLoop } }?.resolver.value
    }
}
