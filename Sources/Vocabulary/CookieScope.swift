/// Which requests carry the gateway's cookies of a host.
package enum CookieScope: Sendable, Hashable {
    /// Like `site`, but without `Secure`, for plain HTTP. Only for loopback, or if the operator allows plain HTTP.
    case plain
    /// Requests from the same site, and navigations from links on other sites (`SameSite=Lax`).
    case site
    /// All requests, including those in frames of other sites. Browsers keep separate cookies for each embedding site
    /// (`SameSite=None; Partitioned`).
    case partitioned

    /// True if the cookies have the attribute `Secure`.
    package var isSecure: Bool { self != .plain }

    private static let prefixes = ["__Host-", "__Secure-"]

    /// Returns the cookie's name. Without `Secure`, the prefix `__Host-` or `__Secure-` is removed: browsers would
    /// reject the cookie (RFC 6265bis 4.1.3).
    package func name(_ configured: String) -> String {
        guard !self.isSecure else { return configured }
        var name = configured.utf8[...]
        for prefix in Self.prefixes where name.count > prefix.utf8.count && name.starts(with: prefix.utf8) {
            name = name.dropFirst(prefix.utf8.count)
        }
        return String(Substring(name))
    }
}
