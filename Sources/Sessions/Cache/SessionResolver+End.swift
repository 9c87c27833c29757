extension SessionResolver {
    /// Ends a session that another device presents, and everything that ends together with it. If the store fails, the
    /// session stays until another device presents it again. The present request is denied in any case.
    package func end(_ session: CachedSession) {
        _ = session.session.end(session.key, in: self.store, on: self.loop)
    }
}
