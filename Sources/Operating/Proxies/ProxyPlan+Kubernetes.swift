import Settings

/// Configurations for Kubernetes. They assume services for the gateway and the apps, because the settings name none.
extension ProxyPlan {
    /// Ingresses for ingress-nginx, without snippets.
    var ingressNginx: [String] {
        let scheme = self.checksTLS == nil ? "http" : "https"
        let url = "\(scheme)://sallyport.default.svc.cluster.local:\(self.checks.port)/authz/auth-request"
        var lines = [
            "# Services: sallyport (ports \(self.gateway.port) and \(self.checks.port)), and one for each app.",
            "# A handoff by the query needs the redirect of the check's 401, which ingress-nginx replaces by its own to the",
            "# login page: let the app's links begin at a host that Sallyport serves itself, or use another proxy.",
        ]
        if self.checksTLS != nil {
            lines += ["# It does not verify the certificate of the checks: let the network lead to nobody else."]
        }
        for host in self.hosts {
            let name = Self.kubernetesName(host.label)
            lines +=
                ["---"] + Self.ingress("own-\(name)", host, ["nginx.ingress.kubernetes.io/use-regex: \"true\""])
            lines += Self.ingressPath("^(\(host.ownPaths))$", "ImplementationSpecific", "sallyport", self.gateway.port)
            let annotations = [
                "nginx.ingress.kubernetes.io/auth-url: \(url)",
                "nginx.ingress.kubernetes.io/auth-signin: \(Self.signInOrigin(host))/.sallyport/login?return_to=$escaped_request_uri",
                "nginx.ingress.kubernetes.io/auth-signin-redirect-param: return_to",
                "# A field without a value is removed from the client's request.",
                "nginx.ingress.kubernetes.io/auth-response-headers: \(self.fields.joined(separator: ","))",
                "# The redirect to the sign-in has the whole URL.",
                "nginx.ingress.kubernetes.io/proxy-buffer-size: 32k",
                "# Never set auth-cache-key: it would let requests pass after a sign-out.",
            ]
            lines += ["---"] + Self.ingress("host-\(name)", host, annotations)
            for (index, other) in host.otherApps.enumerated() {
                lines += [
                    "          # \(other.paths) leads to another app: give it a separate Ingress (number \(index + 2))."
                ]
            }
            lines += Self.ingressPath("/", "Prefix", Self.kubernetesName("app_\(host.app.label)"), host.app.port)
        }
        return lines + [""]
    }

    private static func ingress(_ name: String, _ host: Host, _ annotations: [String]) -> [String] {
        ["apiVersion: networking.k8s.io/v1", "kind: Ingress", "metadata:", "  name: \(name)", "  annotations:"]
            + annotations.indented(4)
            + ["spec:", "  ingressClassName: nginx"]
            + (host.url.isHTTPS
                ? ["  tls: [{hosts: [\(host.quotedName)], secretName: \(Self.kubernetesName(host.label))-tls}]"] : [])
            + ["  rules:", "    - host: \(host.quotedName)", "      http:", "        paths:"]
    }

    private static func ingressPath(_ path: String, _ type: String, _ service: String, _ port: Int) -> [String] {
        [
            "          - path: '\(path)'", "            pathType: \(type)",
            "            backend: {service: {name: \(service), port: {number: \(port)}}}",
        ]
    }

    /// Returns the origin of the sign-in page. For a wildcard, nginx inserts the requested name.
    private static func signInOrigin(_ host: Host) -> String {
        guard host.url.isWildcard else { return host.url.description }
        return "\(host.url.scheme)://$host\(host.url.port.map { ":\($0)" } ?? "")"
    }

    /// HTTPRoutes for Gateway API with the filter `ExternalAuth` (GEP-1494, experimental).
    var gatewayAPI: [String] {
        var lines = [
            "# Services: sallyport (ports \(self.gateway.port) and \(self.checks.port)), and one for each app; a Gateway named gateway.",
            "# Regular expressions of paths are a feature of implementations.",
        ]
        if let tls = self.checksTLS {
            lines += [
                "# The service's port \(self.checks.port) has the name checks, and the config map sallyport-ca has ca.crt.",
                "---", "apiVersion: gateway.networking.k8s.io/v1", "kind: BackendTLSPolicy",
                "metadata: {name: sallyport-checks}", "spec:",
                "  targetRefs: [{group: \"\", kind: Service, name: sallyport, sectionName: checks}]",
                "  validation:",
                "    caCertificateRefs: [{group: \"\", kind: ConfigMap, name: sallyport-ca}]",
                "    hostname: \(tls.name)",
            ]
            if tls.asksForCertificate {
                lines += ["# The Gateway shows its own certificate: spec.tls.backend.clientCertificateRef (1.4)."]
            }
        }
        for host in self.hosts {
            let name = Self.kubernetesName(host.label)
            lines += [
                "---", "apiVersion: gateway.networking.k8s.io/v1", "kind: HTTPRoute", "metadata:", "  name: \(name)",
                "spec:",
                "  parentRefs: [{name: gateway}]", "  hostnames: [\(host.quotedName)]", "  rules:",
                "    # Requests of browsers and native apps to Sallyport itself.",
                "    - matches: [{path: {type: RegularExpression, value: '\(host.ownPaths)'}}]",
                "      backendRefs: [{name: sallyport, port: \(self.gateway.port)}]",
            ]
            for app in host.otherApps {
                lines += ["    - matches: [{path: {type: RegularExpression, value: '\(app.paths)'}}]"]
                lines += self.externalAuth(app.app)
            }
            lines += ["    - matches: [{path: {type: PathPrefix, value: /}}]"] + self.externalAuth(host.app)
        }
        return lines + [""]
    }

    private func externalAuth(_ app: App) -> [String] {
        [
            "      filters:",
            "        # Each is in every answer that allows a request, so a client's is replaced; other names pass.",
            "        - type: ExternalAuth",
            "          externalAuth:",
            "            protocol: HTTP",
            "            backendRef: {name: sallyport, port: \(self.checks.port)}",
            "            http:",
            "              path: /authz/ext-authz",
            "              allowedHeaders: [\(Self.checkedFields.joined(separator: ", "))]",
            "              allowedResponseHeaders: [\(self.fields.map { $0.lowercased() }.joined(separator: ", "))]",
            "      backendRefs: [{name: \(Self.kubernetesName("app_\(app.label)")), port: \(app.port)}]",
        ]
    }

    /// Returns a valid name for Kubernetes: lower-case letters, digits and `-` (RFC 1123).
    private static func kubernetesName(_ label: String) -> String {
        String(label.lowercased().map { $0 == "_" ? "-" : $0 })
    }
}
