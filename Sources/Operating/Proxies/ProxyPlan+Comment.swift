import Settings

/// The comment above a configuration.
extension ProxyPlan {
    var comment: [String] {
        var lines = [
            "Made by `sallyport check --for \(self.proxy.rawValue)`. The proxy asks Sallyport at \(self.checks) whether a request is",
            "allowed (dialect \(self.proxy.dialect.rawValue)) and forwards it itself; Sallyport's own paths go to \(self.gateway).",
        ]
        if let tls = self.checksTLS {
            lines += [
                "It asks over TLS: sallyport-ca.pem has the authority of tls.certificates, or a self-signed certificate itself;",
                "\(tls.name) is a name in it.",
            ]
            if tls.asksForCertificate {
                lines += ["proxy.pem and proxy.key are the proxy's own certificate (authorization.peer_certificate)."]
            }
        }
        if self.apps.contains(where: \.isPlaceholder) {
            lines.append("Replace 127.0.0.1:3000 by the app's address: the settings do not contain it (upstream).")
        }
        lines += (self.warnings + self.shortcomings).flatMap { ["", "WARNING: \($0)"] }
        lines += ["", "What does not work with a proxy that asks:"]
        lines += self.limits.map { "- \($0)" }
        return lines.map { $0.isEmpty ? "#" : "# \($0)" }
    }

    /// Warnings about client fields that this proxy passes to the app. The gateway would remove them.
    private var shortcomings: [String] {
        var all: [String] = []
        switch self.proxy {
        case .nginx:
            all = [
                "this proxy removes a client's fields by name only: an app must not trust names like X-Auth-*, X-Original-* and X-Forwarded-* that are not listed below."
            ]
        case .caddy:
            all = [
                "this proxy removes a client's fields in the spellings with - and with _ only, unless it is 2.11 or later: an app must not trust others, such as X.Auth.Email. Before 2.11, the app gets an empty field where the user has no value."
            ]
        case .ingressNginx, .gatewayAPI:
            all = [
                "this proxy replaces the fields of the identity and no others: an app must not trust X-Forwarded-*, X-Original-* and Remote-* of a client."
            ]
        case .traefik, .envoy, .haproxy: break
        }
        let isSpelled = [.caddy, .traefik, .envoy].contains(self.proxy)
        if isSpelled, self.hosts.contains(where: \.url.isWildcard) {
            all.append(
                "on a host with a wildcard, the app gets Host and X-Forwarded-Host as the client spelled the name."
            )
        }
        return all
    }

    private var limits: [String] {
        var limits = [
            "Open WebSockets and event streams do not end at a sign-out: the next request is refused.",
            "Rules for answers (Cache-Control: private, cookies of the app), limits of bodies and time limits of routes do not apply.",
            "The proxy reads the path again in its own way; what is ambiguous is refused.",
            "An app has only the proxy's word for the fields: an assertion (identity.assertion) is a proof that it can verify.",
        ]
        if self.proxy == .envoy {
            limits.append(
                "failure_mode_allow: true would let every request pass while Sallyport cannot answer: **never set it**."
            )
        } else {
            limits.append(
                "Cookies of sessions and handoffs, X-Session-Token and Authorization reach the app: it must not show or log them."
            )
        }
        if !self.proxy.passesCookiesOnSuccess {
            limits.append(
                "A cookie for an allowed request is set by a redirect, and is not cleared otherwise."
            )
        }
        if self.proxy.dialect != .extAuthz {
            limits.append(
                "Sallyport does not answer preflights of other origins (routes[].cors): they need a public route."
            )
        }
        limits.append("A cached decision outlives the session: never cache the answers to checks.")
        return limits
    }
}
