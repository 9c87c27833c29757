/// An API for which the gateway issues access tokens (`apis`).
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
