import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("What a route requires of a session")
struct RequirementsTests {
    private static let signedIn = UnixTime(seconds: 1_795_242_896)

    private static let rows: [(String, @Sendable (inout RequirementSettings) -> Void, Reason?)] = [
        ("nothing", { _ in }, nil), ("the level it has", { $0.aal = "aal2" }, nil),
        ("a lower level", { $0.aal = "aal1" }, nil), ("a higher level", { $0.aal = "aal3" }, .requireAAL),
        ("one of its groups", { $0.groupsAny = ["owners", "staff"] }, nil),
        ("another group", { $0.groupsAny = ["owners"] }, .requireGroups),
        ("its scopes", { $0.scopes = ["write", "read"] }, nil),
        ("a scope more", { $0.scopes = ["read", "admin"] }, .requireScopes),
        ("its origin", { $0.origins = ["browser", "transfer"] }, nil),
        ("another origin", { $0.origins = ["browser"] }, .requireOrigin),
        ("the age it has", { $0.maxAge = .seconds(60) }, nil),
        ("a lower age", { $0.maxAge = .seconds(59) }, .requireMaxAge),
        (
            "all of it; the first that is not met is the reason",
            {
                $0.aal = "aal3"
                $0.groupsAny = ["owners"]
                $0.maxAge = .seconds(1)
            }, .requireAAL
        ),
    ]

    @Test("Every demand is judged, in the order of the settings", arguments: rows.indices)
    func demands(row: Int) {
        let (name, change, expected) = Self.rows[row]
        var require = RequirementSettings()
        change(&require)
        let now = Self.signedIn.advanced(by: .seconds(60))
        #expect(Requirements.unmet(require, session(), now) == expected, "\(name)")
    }

    @Test(
        "Groups that are no list of texts are no groups",
        arguments: [.null, "staff", ["staff": true], [1, .null]] as [JSONValue]
    )
    func oddGroups(groups: JSONValue) {
        var require = RequirementSettings()
        require.groupsAny = ["staff"]
        let odd = session(traits: ["groups": groups])
        #expect(Requirements.unmet(require, odd, Self.signedIn) == .requireGroups)
    }
}
