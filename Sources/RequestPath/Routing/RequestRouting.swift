package import Settings

extension RouteTable {
    /// Returns the route of a request; see `match(host:method:rawPath:reading:)`.
    ///
    /// A preflight that no route accepts as OPTIONS gets the route of the requested method, if that route has CORS
    /// settings (Fetch 4.8).
    package func match(host: HostEntry, head: RequestHead, _ base: Bytes, reading: PathReading) -> RouteMatch {
        let path = head.path.bytes(in: base)
        let match = self.match(host: host, method: head.method.bytes(in: base), rawPath: path, reading: reading)
        guard case .methodNotAllowed = match, let asked = head.value(.preflightMethod, in: base),
            case .route(let route) = self.match(host: host, method: asked, rawPath: path, reading: reading),
            route.use({ $0.preflight(head) }) != nil
        else { return match }
        return .route(route)
    }
}

extension RouteEntry {
    /// Returns the route's CORS settings for a preflight. `nil` for other requests, or if the route has none.
    package func preflight(_ head: RequestHead) -> CORSSettings? {
        guard head.knownMethod == .options, head.line(.preflightMethod) != nil, head.line(.origin) != nil else {
            return nil
        }
        return self.settings.cors
    }
}
