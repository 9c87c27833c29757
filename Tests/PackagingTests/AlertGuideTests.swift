import Foundation
import TestSupport
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

    /// Runs a test of the rules with promtool: series at one-minute steps, and the alerts that are expected.
    private static func expectRules(_ test: String) throws {
        let rules = PackageFiles.root.appending(path: "deploy/observability/alerts.yaml").path
        let file = try TemporaryFile("rule_files: [\(rules)]\nevaluation_interval: 1m\n\(test)")
        defer { file.remove() }
        let judged = try #require(try PackageFiles.run(["promtool", "test", "rules", file.path]), "no promtool")
        #expect(judged.status == 0, "\(judged.output)")
    }

    @Test("A missing replica is reported where Redis had one, and never where one Redis runs by choice")
    func missingReplica() throws {
        let summary = "A primary of Redis has lost its replicas: a failover may lose sign-outs"
        try Self.expectRules(
            """
            tests:
              - interval: 1m
                input_series:
                  - {series: 'sallyport_redis_replicas{job="alone",instance="a"}', values: '0x60'}
                  - {series: 'sallyport_redis_replicas{job="pair",instance="a"}', values: '1x20 0x40'}
                  - {series: 'sallyport_redis_replicas{job="restarted",instance="a"}', values: '1x20'}
                  - {series: 'sallyport_redis_replicas{job="restarted",instance="b"}', values: '_x21 0x40'}
                alert_rule_test:
                  - {eval_time: 15m, alertname: SallyportRedisReplicaMissing, exp_alerts: []}
                  - eval_time: 40m
                    alertname: SallyportRedisReplicaMissing
                    exp_alerts:
                      - {exp_labels: {severity: ticket, job: pair}, exp_annotations: {summary: "\(summary)"}}
                      - {exp_labels: {severity: ticket, job: restarted}, exp_annotations: {summary: "\(summary)"}}

            """
        )
    }

    @Test("A provider that says no to most users is reported, and leavers among many users are not")
    func endedUsers() throws {
        let summary = "The provider ends the access of most users that it is asked about, and they are signed out"
        func tests(_ name: String, renewed: String, ended: String, _ alerts: String) -> String {
            """
              - interval: 1m
                name: \(name)
                input_series:
                  - {series: 'sallyport_provider_renewals_total{result="renewed",instance="a"}', values: '\(renewed)'}
                  - {series: 'sallyport_provider_renewals_total{result="ended",instance="a"}', values: '\(ended)'}
                alert_rule_test:
                  - eval_time: 30m
                    alertname: SallyportProviderEndsUsers
                    exp_alerts: [\(alerts)]

            """
        }
        let alert = "{exp_labels: {severity: page}, exp_annotations: {summary: \"\(summary)\"}}"
        try Self.expectRules(
            "tests:\n" + tests("all", renewed: "0+10x20 200x20", ended: "0x20 0+10x20", alert)
                + tests("leavers", renewed: "0+100x40", ended: "0+2x40", "")
                + tests("few", renewed: "0x40", ended: "0x25 1x15", "")
        )
    }
}
