/// Ory Kratos, which keeps users and their sessions.
///
/// ## Configuration keys (`provider.kratos`)
/// - `public_url` (URL, required; SALLYPORT_KRATOS_URL): its public API, as the gateway reaches it. Browsers and apps reach
///   it on the hosts with endpoints, to which the gateway passes them through.
/// - `admin_url` (URL): its admin API; only for sign-outs.
/// - `ca_file` (path): certificates to trust instead of the system's.
/// - `cookie` (token, default: ory_kratos_session): the name of its session cookie.
/// - `cache` (duration, default: 30s, range: 0s to 5m): how long its word on a session is used.
/// - `stale_if_error` (duration, default: 1m, range: 0s to 10m): for how long beyond that while it cannot be asked.
package struct KratosSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var adminURL: PublicURL?
    package var caFile: String?
    package var cookieName = "ory_kratos_session"
    package var cacheLifetime: Duration = .seconds(30)
    package var staleLifetime: Duration = .seconds(60)

    package init(publicURL: PublicURL) {
        self.publicURL = publicURL
    }

    /// The name of the upstream through which its endpoints are reached.
    package static let upstream = "provider.kratos"
}
