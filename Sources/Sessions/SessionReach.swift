package import NIOCore

extension Session {
    /// True if this is a client's session that came from a browser's session. The client's session ends with the
    /// browser's session (`enforce_online_refresh_tokens`).
    package var isOnline: Bool { self.kind == .native && self.origin == .browser }

    /// What ends together with this session: normally its whole lineage. A session that came from a handoff or from a
    /// browser's session ends with its family only (`HandoffFamily`). So does a session with `endsAlone`.
    package var endReach: EndReach {
        self.origin == .transfer || self.isOnline || self.endsAlone ? .session : .lineage
    }

    /// Ends this session and everything in its `endReach`.
    ///
    /// - Parameter key: The key of this session.
    package func end(
        _ key: RecordKey,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        switch self.endReach {
        case .nothing: loop.makeSucceededVoidFuture()
        case .lineage: store.end(self.lineage, on: loop)
        case .session:
            if let root = self.familyRoot(key) {
                HandoffFamily.end(root: root, in: store, on: loop)
            } else {
                store.end(key, on: loop).map { _ in }
            }
        }
    }
}
