/// An API: what an access token is issued for.
///
/// ## Configuration keys (`apis[]`)
/// - `audience` (text, required): its name, as clients ask for it.
/// - `scopes` (list, default: none): the scopes that its access tokens can have.
/// - `lifetime` (duration, default: 1h, range: 1m to 1d): how long an access token lives.
/// - `routes` (list of names, default: none): the routes that accept its access tokens.
/// - `resource_servers` (list of client_id, default: none): the clients that may introspect its access tokens.
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
