/// A stream or long request that must be stopped when its session ends.
package protocol SessionHolder: AnyObject {
    /// The place in `SessionHolders`, which sets it; negative if the holder is not listed.
    var holderPlace: Int32 { get set }
    /// Called on the loop when the session has ended.
    func sessionEnded()
    /// Called on the loop when the session could not be read for too long (`StreamSessions.patience`).
    func sessionUnreadable()
}

/// The streams and long requests of one loop, found by what ends their sessions. Used only on this loop.
///
/// Short requests are not listed. They ask `SessionCache.hasEnded`.
package final class SessionHolders {
    private struct Held {
        let holder: any SessionHolder
        let entry: CachedSession
    }

    private let cache: SessionCache
    private var table = PlaceTable<Held>()

    /// - Parameter cache: The cache of the loop.
    package init(cache: SessionCache) {
        self.cache = cache
    }

    /// Adds a holder of this session, which may have ended since it was looked up.
    package func add(_ holder: any SessionHolder, of entry: CachedSession) {
        guard holder.holderPlace < 0 else { return }
        holder.holderPlace = self.table.add(Held(holder: holder, entry: entry), hashes: entry.endingHashes)
        if self.cache.hasEnded(entry) { return holder.sessionEnded() }
        // Ends did not reach the entry while the cache did not contain it, so the session is read again.
        if !entry.isKept { entry.doubt() }
    }

    /// Removes a holder. Does nothing if it is not listed.
    package func remove(_ holder: any SessionHolder) {
        guard holder.holderPlace >= 0 else { return }
        self.table.remove(holder.holderPlace)
        holder.holderPlace = -1
    }

    /// Notifies the holders of ended sessions, in slices if there are many. Every entry is marked as ended before this
    /// returns.
    package func end(_ endings: Endings) {
        var ended: [Held] = []
        for end in endings.invalidations {
            for held in self.held(endedBy: end) {
                held.entry.leave(as: .ended)
                ended.append(held)
            }
        }
        guard !ended.isEmpty else { return }
        self.cache.slices.run {
            let held = ended.removeLast()
            // The holder may have another session or none by now.
            let place = held.holder.holderPlace
            if place >= 0, self.table[place]?.entry === held.entry { held.holder.sessionEnded() }
            return !ended.isEmpty
        }
    }

    /// Notifies the holders of a session that could not be read for too long.
    package func giveUp(_ key: RecordKey) {
        for held in self.held(endedBy: .session(key)) { held.holder.sessionUnreadable() }
    }

    private func held(endedBy end: Invalidation) -> [Held] {
        guard let hash = end.hash else { return [] }
        var found: [Held] = []
        self.table.forEach(hash) { _, held in
            if end.ends(held.entry) { found.append(held) }
            return true
        }
        return found
    }
}
