import JOSE
import NIOCore
package import Sessions
import Vocabulary

/// One event loop's state about sessions: the cache, proof keys, seen devices, and the exchanges that depend on
/// sessions. Confined to the loop.
package final class LoopSessions {
    package let resolver: SessionResolver
    let streams: StreamSessions
    let holders: SessionHolders
    let proofKeys = DPoPKeyCache()
    var seenDevices = SeenDevices()

    /// - Parameter clock: The clock of the session store.
    init(_ resolver: SessionResolver, on loop: any EventLoop, clock: Clock) {
        self.resolver = resolver
        self.streams = StreamSessions(loop: loop, resolver: resolver, clock: clock)
        let holders = SessionHolders(cache: resolver.cache)
        self.holders = holders
        // Invalidating all sessions (`.all`) ends no stream: the next sweep reads the streams' sessions again.
        resolver.cache.onInvalidation = { [unowned holders] in holders.end($0) }
        self.streams.onGone = { [unowned holders] in holders.end(Endings([.session($0)])) }
        self.streams.onUnreadable = { [unowned holders] in holders.giveUp($0) }
    }
}
