extension SettingsBuilder {
    /// Reports wildcard hosts that have `endpoints: true`, or whose provider has no host with a single name. Sign-ins
    /// and the issuer (`iss`) need a host with a single name.
    mutating func checkWildcards(_ settings: Settings) {
        for (host, tree) in zip(settings.hosts, self.writtenHosts) where host.publicURL.isWildcard && !self.isPartial {
            let fix = "add a host with one name, such as https://id.example.com, with endpoints: true"
            if host.endpoints {
                self.report(
                    tree.place(of: "endpoints", or: "public_url"),
                    found: "true on \(host.publicURL), which covers many names",
                    allowed: "false: the users of all these names sign in on a host with one name",
                    fix: "remove it, and \(fix)"
                )
            } else if settings.issuer(of: host.providers[0]).utf8.contains(UInt8(ascii: "*")) {
                self.report(
                    tree.place(of: "public_url"),
                    found: "\(host.publicURL), but no host with one name",
                    allowed:
                        "a wildcard together with a host with one name and the same provider, which is the gateway's issuer",
                    fix: fix
                )
            }
        }
    }
}
