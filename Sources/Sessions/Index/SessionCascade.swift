package import NIOCore

/// Counts the sessions that end together with a session, for the audit stream. The store ends sessions without listing
/// them, so they are counted before the end. The count may miss a session that was just created.
package struct SessionCascade: Sendable {
    private let store: any RecordStore

    package init(store: any RecordStore) {
        self.store = store
    }

    /// Counts the other live sessions that end with this one (`Session.endReach`). Access tokens are not counted.
    ///
    /// - Parameters:
    ///   - key: The key of this session.
    ///   - family: The keys of the session's family (`HandoffFamily`), if the caller has read them.
    package func count(
        with session: Session,
        _ key: RecordKey,
        family: [RecordKey]? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        guard let root = session.familyRoot(key) else {
            guard session.endReach == .lineage else { return loop.makeSucceededFuture(0) }
            return self.count(of: session.subject, besides: key, on: loop) { $0 == session.lineage }
        }
        let members =
            family.map { loop.makeSucceededFuture($0) } ?? HandoffFamily.members(of: root, in: self.store, on: loop)
        return members.flatMap { members in
            self.store.liveCount(of: session.subject, members.filter { $0 != key }, on: loop)
        }
    }

    /// Counts the live sessions of the subject in these lineages, before the lineages end.
    ///
    /// - Parameter lineages: The lineages; `nil` for all.
    package func count(
        of subject: String,
        in lineages: [Lineage]?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        self.count(of: subject, besides: nil, on: loop) { lineages?.contains($0) ?? true }
    }

    private func count(
        of subject: String,
        besides key: RecordKey?,
        on loop: any EventLoop,
        in isConcerned: @escaping @Sendable (Lineage) -> Bool
    ) -> EventLoopFuture<Int> {
        self.store.sessions(of: subject, on: loop).flatMap { keys in
            let others = keys.filter { $0 != key && isConcerned($0.lineage) }
            return self.store.liveCount(of: subject, others, on: loop)
        }
    }
}
