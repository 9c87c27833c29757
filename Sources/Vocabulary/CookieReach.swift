/// The requests with which browsers send the gateway's cookies of a host.
package enum CookieReach: Sendable, Hashable {
    /// Like `site`, but over plain HTTP, without `Secure`. Only for loopback, or if the operator allows plain HTTP.
    case plain
    /// Requests of the same site, and links to it (`SameSite=Lax`).
    case site
    /// Also frames and requests of other sites, with a cookie jar per site (`SameSite=None; Partitioned`).
    case partitioned

    /// True if the cookies have the attribute `Secure`.
    package var isSecure: Bool { self != .plain }

    private static let prefixes = ["__Host-", "__Secure-"]

    /// Returns the name of the cookie for a configured name such as `__Host-sallyport`. Without `Secure`, the prefix
    /// `__Host-` or `__Secure-` is removed, because browsers would reject the cookie (RFC 6265bis 4.1.3).
    package func name(_ configured: String) -> String {
        guard !self.isSecure else { return configured }
        var name = configured.utf8[...]
        for prefix in Self.prefixes where name.count > prefix.utf8.count && name.starts(with: prefix.utf8) {
            name = name.dropFirst(prefix.utf8.count)
        }
        return String(Substring(name))
    }
}
