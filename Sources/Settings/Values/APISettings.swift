/// An API for which access tokens are issued.
package struct APISettings: Sendable, Equatable {
    package var audience: String
    package var scopes: [String]
    package var lifetime: Duration
    package var routes: [String]
    package var resourceServers: [String] = []

    package init(audience: String, scopes: [String] = [], lifetime: Duration = .seconds(3600), routes: [String] = []) {
        self.audience = audience
        self.scopes = scopes
        self.lifetime = lifetime
        self.routes = routes
    }
}
