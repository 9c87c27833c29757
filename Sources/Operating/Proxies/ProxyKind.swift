import ArgumentParser
import RequestPath
import Settings

/// The proxies for which `check --for` prints a configuration.
enum ProxyKind: String, CaseIterable, ExpressibleByArgument {
    case nginx, traefik, caddy, envoy, haproxy
    case ingressNginx = "ingress-nginx"
    case gatewayAPI = "gateway-api"

    /// The protocol of the proxy's forward-auth checks.
    var dialect: AuthorizationDialect {
        switch self {
        case .nginx, .ingressNginx: .authRequest
        case .traefik, .caddy, .haproxy: .forwardAuth
        case .envoy, .gatewayAPI: .extAuthz
        }
    }

    /// The path of the proxy's checks. The answers for Envoy and Traefik contain no empty fields: these proxies remove
    /// the client's fields themselves, and would pass empty fields on to the app.
    var checkPath: String {
        switch self {
        case .envoy, .traefik: CheckForms.valuedFolder + self.dialect.rawValue
        case .nginx, .ingressNginx, .caddy, .haproxy, .gatewayAPI: "/authz/\(self.dialect.rawValue)"
        }
    }

    /// True if the browser receives cookies from an answer that allows a request.
    var passesCookiesOnSuccess: Bool {
        switch self {
        case .nginx, .traefik, .envoy: true
        case .caddy, .haproxy, .ingressNginx, .gatewayAPI: false
        }
    }

    /// True if the proxy can present a client certificate in checks.
    var showsCertificate: Bool {
        switch self {
        case .nginx, .traefik, .caddy, .envoy, .gatewayAPI: true
        case .haproxy, .ingressNginx: false
        }
    }

    var pathSyntax: PathSyntax {
        switch self {
        case .nginx, .ingressNginx: .bytes
        case .haproxy: .haproxy
        case .caddy: .characters
        case .traefik: .reserved
        case .envoy, .gatewayAPI: .raw
        }
    }

    /// Explains why this proxy cannot be used with the settings; `nil` if it can.
    func fault(in settings: Settings) -> String? {
        guard let authorization = settings.authorization else {
            return "no proxy may ask: add authorization with listen and peers"
        }
        return authorization.dialects.contains(self.dialect)
            ? nil : "\(self.rawValue) asks in the dialect \(self.dialect.rawValue): add it to authorization.dialects"
    }

    /// Returns the proxy's configuration as a whole file.
    func configuration(_ plan: ProxyPlan) -> String {
        let lines =
            switch self {
            case .nginx: plan.nginx
            case .traefik: plan.traefik
            case .caddy: plan.caddy
            case .envoy: plan.envoy
            case .haproxy: plan.haproxy
            case .ingressNginx: plan.ingressNginx
            case .gatewayAPI: plan.gatewayAPI
            }
        return (plan.comment + lines).joined(separator: "\n")
    }
}
