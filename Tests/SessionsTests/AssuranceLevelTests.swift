import Testing
import Vocabulary

@Suite("Assurance levels")
struct AssuranceLevelTests {
    @Test("The levels are ordered, and their names are those of Kratos")
    func order() {
        #expect(AssuranceLevel.allCases == AssuranceLevel.allCases.sorted())
        #expect(AssuranceLevel.allCases.map(\.rawValue) == ["aal0", "aal1", "aal2", "aal3"])
        #expect(AssuranceLevel.demandable == [.aal1, .aal2, .aal3])
        for level in AssuranceLevel.allCases { #expect(AssuranceLevel(named: level.rawValue) == level) }
    }

    @Test(
        "A text that is not the name of a level is below every level that can be demanded",
        arguments: ["urn:mace:incommon:iap:silver", "phrh", "", "AAL3", "aal4", "aal10", " aal3", "aal3\u{0}", "zzz"]
    )
    func unknown(_ text: String) {
        #expect(AssuranceLevel(named: text) == .aal0)
        #expect(AssuranceLevel.demandable.allSatisfy { AssuranceLevel(named: text) < $0 })
    }
}
