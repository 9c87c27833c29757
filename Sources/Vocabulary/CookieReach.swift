/// With which requests browsers send the gateway's cookies of a host.
package enum CookieReach: Sendable, Hashable {
    /// On plain http, without `Secure`: only on loopback or with the flag. Else as `site`.
    case plain
    /// With requests of the same site, and with links to it (`SameSite=Lax`).
    case site
    /// Also in frames and with requests of other sites, in a jar for each of them (`SameSite=None; Partitioned`).
    case partitioned

    /// Whether the cookies carry `Secure`.
    package var isSecure: Bool { self != .plain }

    /// The name of a cookie whose configured name this is, e.g. `__Host-sallyport`. Without `Secure`, its prefix
    /// `__Host-` or `__Secure-` is left out, because browsers would refuse the cookie (RFC 6265bis 4.1.3).
    package func name(_ configured: String) -> String {
        guard !self.isSecure else { return configured }
        var name = Substring(configured)
        for prefix in ["__Host-", "__Secure-"] where name.hasPrefix(prefix) && name.utf8.count > prefix.utf8.count {
            name = name.dropFirst(prefix.utf8.count)
        }
        return String(name)
    }
}
