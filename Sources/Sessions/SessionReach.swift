package import NIOCore

extension Session {
    /// What ends together with this session: its lineage. A session that descends from a handoff ends only with its
    /// own family (`HandoffFamily`), because the native app that it came from stays signed in.
    package var endReach: EndReach { self.origin == .transfer ? .session : .lineage }

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
