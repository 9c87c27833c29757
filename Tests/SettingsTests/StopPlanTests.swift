import Settings
import Testing

/// How long a stop may last.
@Suite struct StopPlanTests {
    /// What compose, Kubernetes and systemd wait for with the files in `deploy`.
    private static let patience = Duration.seconds(30)

    @Test func fitsAsAWholeIntoTheUsualPatienceOfSupervisors() {
        let plan = StopPlan(DrainSettings())
        #expect(plan.requests == .seconds(25))
        #expect(plan.end < Self.patience)
    }

    @Test(
        "A call of a provider that has begun has its time; none begins that would have none",
        arguments: [0, 1, 20, 3600]
    )
    func callsHaveTheirTime(timeout: Int) {
        var drain = DrainSettings()
        drain.delay = .zero
        drain.timeout = .seconds(timeout)
        for isByHand in [false, true] {
            let plan = StopPlan(drain, isByHand: isByHand)
            #expect(plan.calls - plan.renewals >= .seconds(6) && plan.renewals <= plan.requests)
            #expect(plan.requests < plan.calls && plan.calls < plan.end)
        }
    }

    @Test func waitsForNoLoadBalancerWhereAPersonStops() {
        #expect(StopPlan(DrainSettings(), isByHand: true).requests == DrainSettings().timeout)
    }
}
