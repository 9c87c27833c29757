import ArgumentParser
import RequestPath
import Settings

/// A proxy for which `check --for` prints a configuration.
enum ProxyKind: String, CaseIterable, ExpressibleByArgument {
    case nginx, traefik, caddy, envoy, haproxy
    case ingressNginx = "ingress-nginx"
    case gatewayAPI = "gateway-api"

    /// The form in which it asks.
    var dialect: AuthorizationDialect {
        switch self {
        case .nginx, .ingressNginx: .authRequest
        case .traefik, .caddy, .haproxy: .forwardAuth
        case .envoy, .gatewayAPI: .extAuthz
        }
    }

    /// Where it asks. Envoy and Traefik let the app see a field without a value, and remove the client's fields before.
    var checkPath: String {
        switch self {
        case .envoy, .traefik: CheckForms.valuedFolder + self.dialect.rawValue
        case .nginx, .ingressNginx, .caddy, .haproxy, .gatewayAPI: "/authz/\(self.dialect.rawValue)"
        }
    }

    /// Whether cookies of an answer that allows a request reach the browser.
    var passesCookiesOnSuccess: Bool {
        switch self {
        case .nginx, .traefik, .envoy: true
        case .caddy, .haproxy, .ingressNginx, .gatewayAPI: false
        }
    }

    /// Whether it shows a certificate to the gateway when it asks.
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

    /// Why it cannot ask; nil: it can.
    func fault(in settings: Settings) -> String? {
        guard let authorization = settings.authorization else {
            return "no proxy may ask: add authorization with listen and peers"
        }
        return authorization.dialects.contains(self.dialect)
            ? nil : "\(self.rawValue) asks in the dialect \(self.dialect.rawValue): add it to authorization.dialects"
    }

    /// The whole configuration, for these settings.
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
