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

    private static let prefixes = ["__Host-", "__Secure-"]

    /// The name of a cookie whose configured name this is, e.g. `__Host-sallyport`. Without `Secure`, its prefix
    /// `__Host-` or `__Secure-` is left out, because browsers would refuse the cookie (RFC 6265bis 4.1.3).
    package func name(_ configured: String) -> String {
        guard !self.isSecure else { return configured }
        var name = configured.utf8[...]
        for prefix in Self.prefixes where name.count > prefix.utf8.count && name.starts(with: prefix.utf8) {
            name = name.dropFirst(prefix.utf8.count)
        }
        return String(Substring(name))
    }
}
