extension SessionResolver {
    /// Ends a session that another device presents, and everything in its `endReach`. If the store fails, the session
    /// continues until another device presents it again.
    package func end(_ session: CachedSession) {
        _ = session.session.end(session.key, in: self.store, on: self.loop)
    }
}
