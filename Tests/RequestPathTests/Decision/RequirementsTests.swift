import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("What a route requires of a session")
struct RequirementsTests {
    private static let signedIn = UnixTime(seconds: 1_795_242_896)

    private static let rows: [(String, @Sendable (inout RequirementSettings) -> Void, Reason?)] = [
        ("nothing", { _ in }, nil), ("its provider", { $0.providers = ["staff", "default"] }, nil),
        ("another provider", { $0.providers = ["staff", "Default", ""] }, .requireProvider),
        ("the level it has", { $0.aal = .aal2 }, nil),
        ("a lower level", { $0.aal = .aal1 }, nil), ("a higher level", { $0.aal = .aal3 }, .requireAAL),
        ("one of its groups", { $0.groupsAny = ["owners", "staff"] }, nil),
        ("another group", { $0.groupsAny = ["owners"] }, .requireGroups),
        ("its scopes", { $0.scopes = ["write", "read"] }, nil),
        ("a scope more", { $0.scopes = ["read", "admin"] }, .requireScopes),
        ("its origin", { $0.origins = ["browser", "transfer"] }, nil),
        ("another origin", { $0.origins = ["browser"] }, .requireOrigin),
        ("nobody who acts for the user", { $0.refusesActors = true }, nil),
        ("the age it has", { $0.maxAge = .seconds(60) }, nil),
        ("a lower age", { $0.maxAge = .seconds(59) }, .requireMaxAge),
        (
            "all of it; the first that is not met is the reason",
            {
                $0.aal = .aal3
                $0.groupsAny = ["owners"]
                $0.maxAge = .seconds(1)
            }, .requireAAL
        ),
        (
            "another provider, before what its users may not reach at all",
            {
                $0.providers = ["staff"]
                $0.aal = .aal3
            }, .requireProvider
        ),
    ]

    @Test("Every requirement is judged, in the order of the settings", arguments: rows.indices)
    func demands(row: Int) {
        let (name, change, expected) = Self.rows[row]
        var require = RequirementSettings()
        change(&require)
        let now = Self.signedIn.advanced(by: .seconds(60))
        #expect(Requirements.unmet(require, session(), now) == expected, "\(name)")
    }

    @Test(
        "What has no text is no group, and groups are compared byte for byte",
        arguments: [.null, ["staff": true], [["staff": true]], [1, .null], ["Staff"], "staff,x", [], ""] as [JSONValue]
    )
    func oddGroups(groups: JSONValue) {
        var require = RequirementSettings()
        require.groupsAny = ["staff"]
        let odd = session(traits: ["groups": groups])
        #expect(Requirements.unmet(require, odd, Self.signedIn) == .requireGroups)
    }

    @Test(
        "Groups count as the app sees them: numbers and Booleans by their text, one value as a list of it",
        arguments: [[7], [.number(7.5)], [true, 7], "7", 7, [["a", 7]]] as [JSONValue]
    )
    func scalarGroups(groups: JSONValue) {
        var require = RequirementSettings()
        require.groupsAny = ["7", "7.5"]
        #expect(Requirements.unmet(require, session(traits: ["groups": groups]), Self.signedIn) == nil)
    }

    @Test("Somebody who acts for the user passes, unless the route says that nobody may")
    func actors() {
        var delegated = session()
        delegated.actor = "grace"
        var require = RequirementSettings()
        #expect(Requirements.unmet(require, delegated, Self.signedIn) == nil)
        require.refusesActors = true
        #expect(Requirements.unmet(require, delegated, Self.signedIn) == .requireActor)
    }

    @Test("A level satisfies a requirement of that level and of every lower one")
    func levels() {
        for level in AssuranceLevel.allCases {
            for demand in AssuranceLevel.allCases {
                #expect(Self.unmet(level, demand: demand) == (level < demand ? .requireAAL : nil))
            }
        }
    }

    @Test("A level that an identity provider calls by its own name satisfies no requirement")
    func foreignLevels() {
        for text in ["urn:mace:incommon:iap:silver", "urn:oasis:names:tc:SAML:2.0:ac:classes:Password", "phrh", "zzz"] {
            for demand in AssuranceLevel.demandable {
                #expect(Self.unmet(AssuranceLevel(named: text), demand: demand) == .requireAAL, "\(text)")
            }
        }
    }

    private static func unmet(_ level: AssuranceLevel, demand: AssuranceLevel) -> Reason? {
        var session = session()
        session.aal = level
        var require = RequirementSettings()
        require.aal = demand
        return Requirements.unmet(require, session, self.signedIn)
    }
}
