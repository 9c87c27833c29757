/// A stream, or a long request, that was permitted by a session and must learn when the session ends.
package protocol SessionHolder: AnyObject {
    /// The holder's index among the holders of its loop, set by `SessionHolders`. Negative if it is not listed.
    var holderPlace: Int32 { get set }
    /// Called on the loop after the session has ended.
    func sessionEnded()
    /// Called on the loop if the session could not be read for too long.
    func sessionUnreadable()
}

/// The long requests of one loop, found by what ends their sessions: an end visits no other connection, however many
/// are open. Confined to its loop.
///
/// Short requests are not listed here. A request's entry shows that the session has ended (`SessionCache.hasEnded`).
package final class SessionHolders {
    private struct Held {
        let holder: any SessionHolder
        let entry: CachedSession
    }

    private let cache: SessionCache
    private var table = PlaceTable<Held>()

    /// - Parameter cache: The cache of the loop, from which the sessions come.
    package init(cache: SessionCache) {
        self.cache = cache
    }

    /// Adds a holder of this session. The session may have ended since it was looked up.
    package func add(_ holder: any SessionHolder, of entry: CachedSession) {
        guard holder.holderPlace < 0 else { return }
        holder.holderPlace = self.table.add(Held(holder: holder, entry: entry), hashes: entry.endingHashes)
        if self.cache.hasEnded(entry) { return holder.sessionEnded() }
        // An end that came while the cache did not have the session was not noted, so the session is read again.
        if !entry.isKept { entry.doubt() }
    }

    /// Removes a holder that ends, if it is listed.
    package func remove(_ holder: any SessionHolder) {
        guard holder.holderPlace >= 0 else { return }
        self.table.remove(holder.holderPlace)
        holder.holderPlace = -1
    }

    /// Notifies the holders of sessions that have ended. If there are many, the loop serves its connections in between,
    /// but every entry is marked as ended before this returns.
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
            // By now the holder may hold another session or no session.
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
