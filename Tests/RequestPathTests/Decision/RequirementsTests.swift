import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("What a route demands of a session")
struct RequirementsTests {
    private static let now = UnixTime(seconds: 1_795_242_900)

    private func unmet(_ level: AssuranceLevel, demand: AssuranceLevel) -> Reason? {
        var session = session()
        session.aal = level
        var require = RequirementSettings()
        require.aal = demand
        return Requirements.unmet(require, session, Self.now)
    }

    @Test("A level suffices for itself and for every lower one")
    func levels() {
        for level in AssuranceLevel.allCases {
            for demand in AssuranceLevel.allCases {
                #expect(self.unmet(level, demand: demand) == (level < demand ? .requireAAL : nil))
            }
        }
    }

    @Test("A level that an identity provider calls by a name of its own suffices for none that a route can demand")
    func foreignLevels() {
        for text in ["urn:mace:incommon:iap:silver", "urn:oasis:names:tc:SAML:2.0:ac:classes:Password", "phrh", "zzz"] {
            for demand in AssuranceLevel.demandable {
                #expect(self.unmet(AssuranceLevel(named: text), demand: demand) == .requireAAL, "\(text)")
            }
        }
    }
}
