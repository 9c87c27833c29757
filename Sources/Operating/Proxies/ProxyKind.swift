import ArgumentParser
import RequestPath
import Settings

/// A proxy that `check --for` prints a configuration for.
enum ProxyKind: String, CaseIterable, ExpressibleByArgument {
    case nginx, traefik, caddy, envoy, haproxy
    case ingressNginx = "ingress-nginx"
    case gatewayAPI = "gateway-api"

    /// The protocol of the proxy's checks.
    var dialect: AuthorizationDialect {
        switch self {
        case .nginx, .ingressNginx: .authRequest
        case .traefik, .caddy, .haproxy: .forwardAuth
        case .envoy, .gatewayAPI: .extAuthz
        }
    }

    /// The path of the proxy's checks. Answers at the path for Envoy and Traefik contain no empty fields, because these
    /// proxies would pass them on to the app. Both proxies remove the client's fields before the check.
    var checkPath: String {
        switch self {
        case .envoy, .traefik: CheckForms.valuedFolder + self.dialect.rawValue
        case .nginx, .ingressNginx, .caddy, .haproxy, .gatewayAPI: "/authz/\(self.dialect.rawValue)"
        }
    }

    /// True if cookies of an answer that allows a request reach the browser.
    var passesCookiesOnSuccess: Bool {
        switch self {
        case .nginx, .traefik, .envoy: true
        case .caddy, .haproxy, .ingressNginx, .gatewayAPI: false
        }
    }

    /// True if the proxy presents a certificate to the gateway in checks.
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

    /// Returns why the settings do not let this proxy send checks. `nil` if they do.
    func fault(in settings: Settings) -> String? {
        guard let authorization = settings.authorization else {
            return "no proxy may ask: add authorization with listen and peers"
        }
        return authorization.dialects.contains(self.dialect)
            ? nil : "\(self.rawValue) asks in the dialect \(self.dialect.rawValue): add it to authorization.dialects"
    }

    /// Returns the configuration of the proxy as a whole file.
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
