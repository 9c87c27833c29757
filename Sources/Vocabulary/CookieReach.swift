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
}
