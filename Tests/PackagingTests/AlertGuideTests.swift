import Foundation
import Testing

/// The guide on monitoring says what to do for each alert.
@Suite struct AlertGuideTests {
    @Test func everyAlertHasARowAndNoOtherHas() throws {
        let file = try PackageFiles.text("deploy/observability/alerts.yaml")
        let alerts = file.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(!alerts.isEmpty)
        let guide = try PackageFiles.text("Sources/sallyport/Sallyport.docc/Run/Monitoring.md")
        let rows = guide.matches(of: /\n\| `(Sallyport\w+)` \| [^|]+ \| [^|]+ \|/).map { String($0.1) }
        #expect(rows.sorted() == alerts.sorted())
    }

    private static let promtool = "/usr/bin/promtool"

    /// Prometheus itself judges the rule: a Redis that never had a replica, one that had, and one that has.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "promtool is not installed"))
    func aMissingReplicaIsToldOnlyWhereThereWasOne() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-alerts-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rules = PackageFiles.root.appending(path: "deploy/observability/alerts.yaml").path
        let tests = """
            rule_files: ["\(rules)"]
            evaluation_interval: 1m
            tests:
              - interval: 1m
                input_series:
                  - {series: 'sallyport_redis_replicas{instance="single"}', values: "0x120"}
                  - {series: 'sallyport_redis_replicas{instance="lost"}', values: "1x30 0x90"}
                  - {series: 'sallyport_redis_replicas{instance="whole"}', values: "1x120"}
                  - {series: 'sallyport_redis_replicas{instance="back"}', values: "1x30 0x30 1x60"}
                alert_rule_test:
                  - eval_time: 2h
                    alertname: SallyportRedisReplicaMissing
                    exp_alerts:
                      - exp_labels: {severity: ticket, instance: lost}
                        exp_annotations:
                          summary: "A primary has fewer replicas than it should: a failover may lose sign-outs"

            """
        let file = folder.appending(path: "tests.yaml")
        try tests.write(to: file, atomically: true, encoding: .utf8)
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: Self.promtool)
        process.arguments = ["test", "rules", file.path]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(output)")
    }
}
