import Foundation
import Testing

/// What requests cost the tested binary (`deploy/costs.py`), against the table in `deploy/costs.txt`. No time is measured.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK"))
struct CostTests {
    @Test func noRequestCostsMoreThanTheTableAllows() throws {
        let measured = try #require(try PackageFiles.run(["deploy/costs.py"]))
        #expect(measured.status == 0, "\(measured.output)")
    }
}
