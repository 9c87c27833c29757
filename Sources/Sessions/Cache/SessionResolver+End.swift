import NIOCore

extension SessionResolver {
    /// Ends a session that another device presents, and everything in its `endReach`. If the store fails, the session
    /// continues until another device presents it again.
    package func end(_ session: CachedSession) {
        let ended = NewSession(key: session.key, session: session.session)
        ended.session.end(ended.key, in: self.store, on: self.loop).whenSuccess { [onEnd = self.parties.onEnd] in
            onEnd(ended)
        }
    }
}
