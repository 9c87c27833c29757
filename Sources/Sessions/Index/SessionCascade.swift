package import NIOCore

/// Counts what ends together with a session, for the audit stream. What ends sessions changes a state and enumerates
/// nothing, so the count is taken before, from the index or from the family's record: a session of the last moment may be
/// missing in it.
package struct SessionCascade: Sendable {
    private let store: any RecordStore

    package init(store: any RecordStore) {
        self.store = store
    }

    /// How many other live sessions end with this one (`Session.endReach`). An access token is a part of its session.
    ///
    /// - Parameters:
    ///   - key: The key of this session.
    ///   - family: The sessions of its family (`HandoffFamily`), if the caller has read them.
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

    /// How many live sessions of the subject are in these lineages, of which none goes on.
    ///
    /// - Parameter lineages: nil: in any.
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
