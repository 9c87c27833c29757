import Foundation
import TestSupport
import Testing

/// `deploy/kubernetes`, as far as it can be checked without a cluster: rendered by kustomize, judged by the API's schemas,
/// and its settings by the binary.
@Suite struct KubernetesTests {
    private typealias Mapping = [String: Any]

    static let overlays = ["production", "single"]
    static let hasKubectl = (try? PackageFiles.run(["kubectl", "kustomize", "--help"])) != nil

    /// The objects of an overlay, with the text that they come from.
    private static func objects(_ overlay: String) throws -> (text: String, objects: [Mapping]) {
        let rendered = try #require(
            try PackageFiles.run(["kubectl", "kustomize", "deploy/kubernetes/overlays/\(overlay)"])
        )
        try #require(rendered.status == 0, "\(rendered.output)")
        return (rendered.output, try PackageFiles.yaml(rendered.output).compactMap { $0 as? Mapping })
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
        .enabled(if: hasKubectl),
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
                    kubernetes_validate.validate(document, "1.32", strict=True)
                    print("valid", document["kind"])
                """
            let judged = try #require(try PackageFiles.run([PackageFiles.clientsPython, "-c", script, file.path]))
            #expect(judged.status == 0, "\(judged.output)")
            #expect(judged.output.contains("valid Deployment") && judged.output.contains("valid NetworkPolicy"))
        }
    }

    @Test(
        "Every pod runs under the restricted security standard: nobody, without rights, on a read-only file system",
        .enabled(if: hasKubectl),
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

    @Test("Probes, services and policies name ports of the pod, and selectors find it", .enabled(if: hasKubectl))
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
        .enabled(if: hasKubectl),
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
}
