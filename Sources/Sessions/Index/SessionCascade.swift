package import NIOCore

/// Counts what ends together with a session, for the audit stream. What ends sessions changes a state and enumerates
/// nothing, so the count is taken before, from the index: a session of the last moment may be missing in it.
package struct SessionCascade: Sendable {
    private let store: any SessionStore
    private let index: any SessionIndex

    package init(store: any SessionStore, index: any SessionIndex) {
        self.store = store
        self.index = index
    }

    /// How many other live sessions end with this one (`Session.endReach`). An access token is a part of its session.
    ///
    /// - Parameter key: The key of this session.
    package func count(with session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Int> {
        guard session.endReach != .nothing else { return loop.makeSucceededFuture(0) }
        let root = session.familyRoot(key)
        return self.index.sessions(of: session.subject, on: loop).flatMap { keys in
            let others = keys.filter { $0 != key && $0.lineage == session.lineage }
            return EventLoopFuture.whenAllSucceed(
                others.map { other in
                    self.store.session(other, on: loop).map { stored in
                        guard let record = stored?.record, record.isListed else { return false }
                        return root == nil || record.familyRoot(other) == root
                    }
                },
                on: loop
            )
        }.map { $0.count(where: \.self) }
    }

    /// How many live sessions of the subject are in these lineages, of which none goes on.
    ///
    /// - Parameter lineages: nil: in any.
    package func count(
        of subject: String,
        in lineages: [Lineage]?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        self.index.sessions(of: subject, on: loop).flatMap { keys in
            let ending = keys.filter { lineages?.contains($0.lineage) ?? true }
            let lives = ending.map { key in
                self.store.session(key, on: loop).map { $0?.record.isListed ?? false }
            }
            return EventLoopFuture.whenAllSucceed(lives, on: loop)
        }.map { $0.count(where: \.self) }
    }
}
