import Foundation
import Testing

/// The chart in `deploy/helm`. What it makes of its examples is judged by `KubernetesTests`.
@Suite struct HelmTests {
    /// Helm as `deploy/test.sh` installs it. Without it these tests are skipped, and fail in CI.
    private static let helm = ".build/tools/helm"
    private static let hasHelm = PackageFiles.isExpected(helm)

    private static let examples = ["single", "gateway-api", "traefik"]

    private static func template(_ arguments: [String]) throws -> (status: Int32, output: String) {
        try self.run(["template", "sallyport", "deploy/helm", "--namespace", "sallyport"] + arguments)
    }

    private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        try #require(try PackageFiles.run([self.helm] + arguments), "\(self.helm) is not installed")
    }

    @Test(
        "helm lint finds nothing wrong in the chart, without values and with those of each example",
        .enabled(if: hasHelm, "helm is not installed")
    )
    func lint() throws {
        for values in [[]] + Self.examples.map({ ["--values", "deploy/helm/examples/\($0).values.yaml"] }) {
            let linted = try Self.run(["lint", "--strict", "deploy/helm"] + values)
            #expect(linted.status == 0 && linted.output.contains("0 chart(s) failed"), "\(linted.output)")
        }
    }

    @Test("A chart without settings is not installed", .enabled(if: hasHelm, "helm is not installed"))
    func unset() throws {
        let rendered = try Self.template([])
        #expect(rendered.status != 0 && rendered.output.contains("settings is empty"), "\(rendered.output)")
    }

    @Test(
        "The examples are what helm makes of their values today",
        .enabled(if: hasHelm, "helm is not installed"),
        arguments: examples
    )
    func current(_ name: String) throws {
        let rendered = try Self.template(["--values", "deploy/helm/examples/\(name).values.yaml"])
        #expect(rendered.status == 0, "\(rendered.output)")
        let saved = try PackageFiles.text("deploy/helm/examples/\(name).yaml")
        #expect(
            rendered.output == saved,
            """
            write it anew: \(Self.helm) template sallyport deploy/helm --namespace sallyport \
            --values deploy/helm/examples/\(name).values.yaml >deploy/helm/examples/\(name).yaml
            """
        )
    }

    @Test(
        "Values that would start nothing are refused by the chart's schema, which names them",
        .enabled(if: hasHelm, "helm is not installed"),
        arguments: [
            ("replicas=0", "/replicas"), ("arguments={run}", "/arguments/0"),
            ("image.digest=sha256:1", "/image/digest"),
            ("settings.listen=:80", "/settings"), ("expose.kind=nginx", "/expose/kind"),
            ("expose.kind=ingress", "/expose/hosts"), ("secret.files.REDIS=redis-url", "REDIS"),
            ("replica=2", "replica"), ("settings=null", "settings"),
        ]
    )
    func refused(_ value: String, _ place: String) throws {
        let rendered = try Self.template(["--values", "deploy/helm/examples/single.values.yaml", "--set", value])
        #expect(rendered.status != 0 && rendered.output.contains(place), "\(rendered.output)")
    }

    @Test(
        "Settings with texts of any length reach the gateway as they were written",
        .enabled(if: hasHelm, "helm is not installed")
    )
    func longTexts() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "helm-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = "Not from here: please sign in from the network of the office, or ask the help desk for access."
        let demand =
            "event.client.client_id == 'the-app-with-a-name-that-fills-the-line' and event.request.ip != '192.0.2.1'"
        let values = folder.appending(path: "values.yaml")
        try """
        settings:
          public_url: https://app.example.com
          upstream: http://app:3000
          provider: {kratos: {public_url: "http://kratos:4433"}}
          rules: [{name: office, at: [mint], when: "\(demand)", then: deny, text: "\(text)"}]
        """.write(to: values, atomically: true, encoding: .utf8)
        let map = try Self.template(["--show-only", "templates/configmap.yaml", "--values", values.path])
        #expect(map.status == 0, "\(map.output)")
        let settings = try #require(map.output.range(of: "sallyport.yaml: |\n")).upperBound
        let file = folder.appending(path: "sallyport.yaml")
        try String(map.output[settings...]).write(to: file, atomically: true, encoding: .utf8)
        let command = [".build/release/sallyport", "check", "--without-files", "--config", file.path]
        let checked = try #require(try PackageFiles.run(command))
        #expect(checked.status == 0 && checked.output.contains(demand) && checked.output.contains(text))
    }

    @Test("The chart has the version of the sources")
    func named() throws {
        let documents = try PackageFiles.yaml(PackageFiles.text("deploy/helm/Chart.yaml"))
        let chart = try #require(documents.first as? [String: Any])
        let version = try #require(try PackageFiles.run([".build/release/sallyport", "--version"])).output
        #expect((chart["appVersion"] as? String).map { $0 + "\n" } == version)
        #expect(chart["version"] as? String == chart["appVersion"] as? String)
    }
}
