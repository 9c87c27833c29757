import Foundation
import TestSupport
import Testing

/// `deploy/kubernetes` and `deploy/helm`, as far as they can be checked without a cluster: rendered by kustomize and helm,
/// judged by the API's schemas, and their settings by the binary.
@Suite struct KubernetesTests {
    private typealias Mapping = [String: Any]

    /// The overlays of kustomize, the first of them with each proxy and with the Prometheus operator, and what helm makes
    /// of the chart's examples.
    static let overlays = [
        "production", "production+traefik", "production+ingress", "production+podmonitor", "single", "helm/single",
        "helm/gateway-api", "helm/traefik",
    ]
    static let hasKubectl = (try? PackageFiles.run(["kubectl", "kustomize", "--help"])) != nil

    /// The groups of what operators and proxies define, which the API's own schemas do not have.
    private static let others = ["gateway.networking.k8s.io", "traefik.io", "monitoring.coreos.com"]

    /// The objects of an overlay, with the text that they come from.
    private static func objects(_ overlay: String) throws -> (text: String, objects: [Mapping]) {
        let text = try self.rendered(overlay)
        return (text, try PackageFiles.yaml(text).compactMap { $0 as? Mapping })
    }

    private static func rendered(_ overlay: String) throws -> String {
        let parts = overlay.split(separator: "/")
        if parts.count == 2 { return try PackageFiles.text("deploy/helm/examples/\(parts[1]).yaml") }
        let names = overlay.split(separator: "+")
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-kustomize-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(at: PackageFiles.root.appending(path: "deploy/kubernetes"), to: folder)
        let path = folder.appending(path: "overlays/\(names[0])")
        if names.count == 2 {
            let file = path.appending(path: "kustomization.yaml")
            let text = try String(contentsOf: file, encoding: .utf8)
            let component = "  - ../../components/gateway-api\n"
            let other = "  - ../../components/\(names[1])\n"
            try #require(text.contains(component))
            try text.replacing(component, with: names[1] == "podmonitor" ? component + other : other)
                .write(to: file, atomically: true, encoding: .utf8)
        }
        let rendered = try #require(try PackageFiles.run(["kubectl", "kustomize", path.path]))
        try #require(rendered.status == 0, "\(rendered.output)")
        return rendered.output
    }

    private static func object(_ kind: String, in objects: [Mapping]) throws -> Mapping {
        try #require(objects.first { $0["kind"] as? String == kind && self.name($0).hasPrefix("sallyport") }, "\(kind)")
    }

    private static func name(_ object: Mapping) -> String {
        (object["metadata"] as? Mapping)?["name"] as? String ?? ""
    }

    private static func pod(_ deployment: Mapping) throws -> Mapping {
        let template = (deployment["spec"] as? Mapping)?["template"] as? Mapping
        return try #require(template?["spec"] as? Mapping)
    }

    private static func container(_ deployment: Mapping) throws -> Mapping {
        try #require((try self.pod(deployment)["containers"] as? [Mapping])?.first)
    }

    @Test(
        "Every object is valid by the schemas of the API, without unknown fields",
        .enabled(if: hasKubectl, "kubectl is not installed"),
        .enabled(if: PackageFiles.hasClientsPython, "no validator is installed")
    )
    func schemas() throws {
        for overlay in Self.overlays {
            let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID()).yaml")
            defer { try? FileManager.default.removeItem(at: file) }
            try Self.objects(overlay).text.write(to: file, atomically: true, encoding: .utf8)
            let script = """
                import sys, yaml, kubernetes_validate
                for document in yaml.safe_load_all(open(sys.argv[1])):
                    if document["apiVersion"].split("/")[0] in sys.argv[2:]: continue
                    kubernetes_validate.validate(document, "1.32", strict=True)
                    print("valid", document["kind"])
                """
            let command = [PackageFiles.clientsPython, "-c", script, file.path] + Self.others
            let judged = try #require(try PackageFiles.run(command))
            #expect(judged.status == 0, "\(judged.output)")
            #expect(judged.output.contains("valid Deployment") && judged.output.contains("valid NetworkPolicy"))
        }
    }

    @Test(
        "Every pod runs under the restricted security standard: nobody, without rights, on a read-only file system",
        .enabled(if: hasKubectl, "kubectl is not installed"),
        arguments: overlays
    )
    func restricted(_ overlay: String) throws {
        let deployments = try Self.objects(overlay).objects.filter { $0["kind"] as? String == "Deployment" }
        #expect(!deployments.isEmpty)
        for deployment in deployments {
            let (pod, container) = (try Self.pod(deployment), try Self.container(deployment))
            let name = Self.name(deployment)
            let ofPod = try #require(pod["securityContext"] as? Mapping, "\(name)")
            #expect(ofPod["runAsNonRoot"] as? Bool == true && ofPod["runAsUser"] as? Int == 65532)
            #expect((ofPod["seccompProfile"] as? Mapping)?["type"] as? String == "RuntimeDefault")
            let ofContainer = try #require(container["securityContext"] as? Mapping, "\(name)")
            #expect(ofContainer["allowPrivilegeEscalation"] as? Bool == false)
            #expect(ofContainer["readOnlyRootFilesystem"] as? Bool == true)
            #expect((ofContainer["capabilities"] as? Mapping)?["drop"] as? [String] == ["ALL"])
            #expect(pod["automountServiceAccountToken"] as? Bool == false)
        }
        let gateway = try Self.pod(try Self.object("Deployment", in: deployments))
        #expect(gateway["enableServiceLinks"] as? Bool == false)
    }

    @Test(
        "Probes, services and policies name ports of the pod, and selectors find it",
        .enabled(if: hasKubectl, "kubectl is not installed")
    )
    func names() throws {
        for overlay in Self.overlays {
            let objects = try Self.objects(overlay).objects
            let deployment = try Self.object("Deployment", in: objects)
            let container = try Self.container(deployment)
            let ports = Dictionary(
                uniqueKeysWithValues: (container["ports"] as? [Mapping] ?? []).compactMap { port in
                    (port["name"] as? String).map { ($0, port["containerPort"] as? Int) }
                }
            )
            #expect(ports == ["http": 8080, "admin": 9090])
            for (probe, path) in ["readinessProbe": "/readyz", "livenessProbe": "/healthz"] {
                let request = (container[probe] as? Mapping)?["httpGet"] as? Mapping
                #expect(request?["path"] as? String == path && request?["port"] as? String == "admin")
            }
            let labels = try #require(
                (((deployment["spec"] as? Mapping)?["template"] as? Mapping)?["metadata"] as? Mapping)?["labels"]
                    as? [String: String]
            )
            let service = try #require(try Self.object("Service", in: objects)["spec"] as? Mapping)
            let policy = try #require(try Self.object("NetworkPolicy", in: objects)["spec"] as? Mapping)
            let selectors = [
                service["selector"] as? [String: String],
                (policy["podSelector"] as? Mapping)?["matchLabels"] as? [String: String],
            ]
            for selector in selectors {
                let pairs = try #require(selector)
                #expect(!pairs.isEmpty && pairs.allSatisfy { labels[$0.key] == $0.value }, "\(overlay)")
            }
            let rules = policy["ingress"] as? [Mapping] ?? []
            #expect(
                rules.flatMap { $0["ports"] as? [Mapping] ?? [] }.compactMap { $0["port"] as? String } == [
                    "http", "admin",
                ]
            )
        }
    }

    @Test(
        "The binary takes the settings, variables and arguments of each overlay, and drains within its patience",
        .enabled(if: hasKubectl, "kubectl is not installed"),
        arguments: overlays
    )
    func settings(_ overlay: String) throws {
        let objects = try Self.objects(overlay).objects
        let deployment = try Self.object("Deployment", in: objects)
        let (pod, container) = (try Self.pod(deployment), try Self.container(deployment))
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-kubernetes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // The files as they are mounted.
        let map = try Self.object("ConfigMap", in: objects)
        let volume = try #require((pod["volumes"] as? [Mapping])?.first { $0["name"] as? String == "settings" })
        #expect((volume["configMap"] as? Mapping)?["name"] as? String == Self.name(map))
        let yaml = try #require((map["data"] as? [String: String])?["sallyport.yaml"])
        try yaml.replacing("/run/secrets/sallyport", with: folder.path)
            .write(to: folder.appending(path: "sallyport.yaml"), atomically: true, encoding: .utf8)
        let secrets = [
            "secret": String(repeating: "k3y-", count: 16), "client-secret": "of-the-provider",
            "redis-url": "redis://sallyport:word@redis.apps.svc:6379",
        ]
        for (name, text) in secrets {
            let file = folder.appending(path: name)
            try text.write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
        let variables = try #require(container["env"] as? [[String: String]]).map { variable in
            let value = variable["value"]?.replacing("/run/secrets/sallyport", with: folder.path)
                .replacing("/etc/sallyport", with: folder.path)
            return "\(variable["name"] ?? "")=\(value ?? "")"
        }
        let arguments = try #require(container["args"] as? [String])
        #expect(arguments.first == "run")
        let command = ["/usr/bin/env", "-i"] + variables + [".build/release/sallyport", "check"]
        let checked = try #require(try PackageFiles.run(command + arguments.dropFirst()))
        #expect(checked.status == 0, "\(checked.output)")
        let drain = ["drain.delay", "drain.timeout"].map { key in
            checked.output.split(separator: "\n").first { $0.hasPrefix("  \(key): ") }?.firstMatch(of: /(\d+)s/)
                .flatMap { Int($0.1) }
        }
        let patience = try #require(pod["terminationGracePeriodSeconds"] as? Int)
        #expect(try #require(drain[0]) + #require(drain[1]) < patience, "\(drain)")
    }
    /// The names of hosts, services and ports in what leads clients to the gateway: an HTTPRoute, IngressRoute or Ingress.
    private static func ways(_ object: Mapping) -> (hosts: [String], backends: [(name: String?, port: String)]) {
        let spec = object["spec"] as? Mapping ?? [:]
        let rules = spec["rules"] as? [Mapping] ?? []
        switch object["kind"] as? String {
        case "HTTPRoute":
            let backends = rules.flatMap { $0["backendRefs"] as? [Mapping] ?? [] }
            return (
                spec["hostnames"] as? [String] ?? [],
                backends.map { ($0["name"] as? String, $0["port"] as? Int == 80 ? "http" : "another") }
            )
        case "IngressRoute":
            let routes = spec["routes"] as? [Mapping] ?? []
            let backends = routes.flatMap { $0["services"] as? [Mapping] ?? [] }
            let rules = routes.compactMap { $0["match"] as? String }
            return (
                rules.compactMap { $0.firstMatch(of: /^Host\(`([^`]+)`\)$/).map { String($0.1) } },
                backends.map { ($0["name"] as? String, $0["port"] as? String ?? "another") }
            )
        default:
            let paths = rules.flatMap { ($0["http"] as? Mapping)?["paths"] as? [Mapping] ?? [] }
            let services = paths.compactMap { ($0["backend"] as? Mapping)?["service"] as? Mapping }
            return (
                rules.compactMap { $0["host"] as? String },
                services.map { ($0["name"] as? String, ($0["port"] as? Mapping)?["name"] as? String ?? "another") }
            )
        }
    }

    @Test(
        "A proxy leads every host of the settings to the service's port, and is let through to it",
        .enabled(if: hasKubectl, "kubectl is not installed"),
        arguments: overlays.filter { !$0.hasSuffix("single") }
    )
    func proxies(_ overlay: String) throws {
        let objects = try Self.objects(overlay).objects
        let kinds = ["HTTPRoute", "IngressRoute", "Ingress"]
        let routes = objects.filter { kinds.contains($0["kind"] as? String ?? "") }
        #expect(routes.count == 1)
        let (hosts, backends) = Self.ways(try #require(routes.first))
        let map = try #require(try Self.object("ConfigMap", in: objects)["data"] as? [String: String])
        let settings = try #require(map["sallyport.yaml"])
        let urls = settings.matches(of: /public_url"?: "?https:\/\/([^\s"]+)/).map { String($0.1) }
        #expect(hosts.sorted() == urls.sorted() && !hosts.isEmpty)
        let service = try Self.object("Service", in: objects)
        let port = try #require(((service["spec"] as? Mapping)?["ports"] as? [Mapping])?.first)
        #expect(port["name"] as? String == "http" && port["port"] as? Int == 80)
        #expect(!backends.isEmpty && backends.allSatisfy { $0.name == Self.name(service) && $0.port == "http" })
        // The proxy's pods are those of one namespace; in the base, nobody of another one.
        let policy = try #require(try Self.object("NetworkPolicy", in: objects)["spec"] as? Mapping)
        let from = try #require((policy["ingress"] as? [Mapping])?.first?["from"] as? [Mapping])
        let labels = (from.first?["namespaceSelector"] as? Mapping)?["matchLabels"] as? [String: String]
        #expect(from.count == 1 && labels?.keys.first == "kubernetes.io/metadata.name")
        // Idle connections of Traefik end before the gateway does.
        if let transport = objects.first(where: { $0["kind"] as? String == "ServersTransport" }) {
            let timeouts = (transport["spec"] as? Mapping)?["forwardingTimeouts"] as? [String: String]
            #expect(timeouts?["idleConnTimeout"] == "4s" && overlay.hasSuffix("traefik"))
        }
    }

    @Test(
        "The Prometheus operator finds the pods and their admin port, under the name that the alerts ask for",
        .enabled(if: hasKubectl, "kubectl is not installed"),
        arguments: ["production+podmonitor", "helm/gateway-api"]
    )
    func monitored(_ overlay: String) throws {
        let objects = try Self.objects(overlay).objects
        let monitor = try #require(try Self.object("PodMonitor", in: objects)["spec"] as? Mapping)
        let endpoint = try #require((monitor["podMetricsEndpoints"] as? [Mapping])?.first)
        #expect(endpoint["port"] as? String == "admin" && endpoint["path"] as? String == "/metrics")
        let deployment = try Self.object("Deployment", in: objects)
        let template = (deployment["spec"] as? Mapping)?["template"] as? Mapping
        let labels = try #require((template?["metadata"] as? Mapping)?["labels"] as? [String: String])
        let selector = try #require((monitor["selector"] as? Mapping)?["matchLabels"] as? [String: String])
        #expect(!selector.isEmpty && selector.allSatisfy { labels[$0.key] == $0.value })
        let label = try #require(monitor["jobLabel"] as? String)
        let job = try #require(labels[label])
        #expect((try PackageFiles.text("deploy/observability/alerts.yaml")).contains("{job=\"\(job)\"}"))
    }
}
