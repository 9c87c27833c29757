package import NIOCore

extension Session {
    /// True if this is a client's session that came from a browser's session. The two share their lineage, and the
    /// client's session ends with the browser's session (`enforce_online_refresh_tokens`).
    package var isOnline: Bool { self.kind == .native && self.origin == .browser }

    /// The reach of this session's end, normally its lineage. A session that descends from a handoff or from a
    /// browser's session ends only with its own family (`HandoffFamily`), because the session that it came from stays
    /// signed in. A session whose descendants may outlive it also ends only with its family.
    package var endReach: EndReach {
        self.origin == .transfer || self.isOnline || self.endsAlone ? .session : .lineage
    }

    /// Ends this session and everything that ends together with it.
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
