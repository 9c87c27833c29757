import Providers
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Traits from claims")
struct ClaimsMappingTests {
    private func traits(_ claims: JSONValue, _ change: (inout ClaimSettings) -> Void) throws -> JSONValue {
        var settings = ClaimSettings()
        settings.traits = []
        change(&settings)
        return try ClaimsMapping(settings).identity("user-1", UserClaims([claims])).traits
    }

    @Test(
        "Groups may be objects and nested lists",
        arguments: [
            ([["name": "staff"], ["name": "admin"]], "groups.name"),
            ([["name": "staff"], ["name": "admin"]], "groups[].name"),
            ([[["name": "staff"]], ["id": 7], ["name": .null], ["name": "admin"]], "groups.name"),
            ([["staff"], ["admin"]], "groups"), (["staff", ["admin", []]], "groups[]"),
            ([["team": ["name": "staff"]], ["team": [["name": "admin"]]]], "groups[].team[].name"),
            (["name": ["staff", "admin"]], "groups.name"),
            (["list": [["name": "staff"], ["name": "admin"]]], "groups.list.name"),
        ] as [(JSONValue, String)]
    )
    func nested(groups: JSONValue, path: String) throws {
        let steps = try #require(ClaimSettings.path(path))
        let traits = try self.traits(["groups": groups]) { $0.traits = [.init(name: "groups", path: steps)] }
        #expect(traits == ["groups": ["staff", "admin"]])
        var mapping = ClaimSettings()
        mapping.traits = [.init(name: "groups", path: steps)]
        var allow = AdmissionSettings()
        allow.groups = ["admin"]
        #expect(Admission(allow, mapping).refusal(UserClaims([["groups": groups]])) == nil)
        allow.groups = ["other"]
        #expect(Admission(allow, mapping).refusal(UserClaims([["groups": groups]])) != nil)
    }

    @Test("A claim whose name is a URL may be a list of objects, too")
    func urlNamed() throws {
        let name = "https://example.com/claims/groups"
        let steps = try #require(ClaimSettings.path("\(name)[].name"))
        let traits = try self.traits([name: [["name": "a"], ["name": "b"]]]) {
            $0.traits = [.init(name: "groups", path: steps)]
        }
        #expect(traits == ["groups": ["a", "b"]])
    }

    @Test(
        "A path with {} at its end is for the names of an object's members",
        arguments: [
            (["admin": ["1": "x"], "user": ["2": "y"]], "roles{}", ["admin", "user"]),
            (
                ["b": true, "a": "", "c": .null, "d": false, "e": 0, "f": [:], "g": []], "roles{}",
                ["a", "b", "e", "f", "g"]
            ),
            ([:], "roles{}", []), ([["a": 1], ["b": 1, "a": 2], "text", 7, .null], "roles{}", ["a", "b"]),
            ([["a": 1]], "roles[]{}", ["a"]), (["app": ["admin": 1]], "roles.app{}", ["admin"]),
            ([["of": ["a": 1]], ["of": [["b": 1]]]], "roles[].of{}", ["a", "b"]), ("admin", "roles{}", nil),
            (7, "roles{}", nil), (.null, "roles{}", nil), (["a, b": 1], "roles{}", ["a, b"]),
        ] as [(JSONValue, String, JSONValue?)]
    )
    func names(roles: JSONValue, path: String, groups: JSONValue?) throws {
        let trait = try #require(ClaimSettings.Trait(name: "groups", at: path))
        #expect(try self.traits(["roles": roles]) { $0.traits = [trait] }["groups"] == groups)
        var mapping = ClaimSettings()
        mapping.traits = [trait]
        var allow = AdmissionSettings()
        allow.groups = ["admin"]
        let isAdmitted = Admission(allow, mapping).refusal(UserClaims([["roles": roles]])) == nil
        #expect(
            isAdmitted
                == (groups.map { if case .array(let names) = $0 { names.contains("admin") } else { false } } ?? false)
        )
    }

    @Test("The roles of a project in Zitadel are groups, and only those that matter are kept")
    func zitadel() throws {
        let claim = "urn:zitadel:iam:org:project:roles"
        let trait = try #require(ClaimSettings.Trait(name: "groups", at: "\(claim){}"))
        let traits = try self.traits([claim: ["admin": ["1": "x.example"], "user": ["1": "x.example"]]]) {
            $0.traits = [trait]
            $0.groupsOnly = ["a*"]
        }
        #expect(traits == ["groups": ["admin"]])
    }

    @Test("A subject from which something is lost is nobody's")
    func damagedSubject() {
        #expect(throws: ClaimsError.self) { try ClaimsMapping.subject("a\u{FFFD}") }
        #expect(throws: Never.self) { try ClaimsMapping.subject("a\u{1F600}") }
    }

    @Test("Where the first document has no element with the member, the second one counts")
    func secondDocument() {
        let claims = UserClaims([["groups": [["id": 1]]], ["groups": [["name": "a"]]]])
        #expect(claims.value(at: ["groups", "name"]) == ["a"])
        #expect(claims.texts(at: ["groups", "name"]) == ["a"])
    }

    @Test(
        "A text that stands for a list is one where the settings say so",
        arguments: [
            ("[a, b]", .comma, ["a", "b"]), ("a,b", .comma, ["a", "b"]), (" a , b ", .comma, ["a", "b"]),
            ("[a]", .comma, ["a"]), ("[]", .comma, []), ("[1, 2]", .comma, ["1", "2"]), ("", .comma, []),
            ("[", .comma, ["["]), ("a", .comma, ["a"]),
            ("[a,,b, ]", .comma, ["a", "b"]), ("[\"a, b\", \"c\"]", .comma, ["a, b", "c"]),
            ("[app admin, b]", .comma, ["app admin", "b"]),
            ("[\"a\", 1, null, \"\"]", .comma, ["a"]), ("a b", .space, ["a", "b"]), ("  a\t b\n", .space, ["a", "b"]),
            ("", .space, []), ("a,b c", .space, ["a,b", "c"]), ("[a, b]", nil, nil),
        ] as [(String, ClaimSettings.TextListForm?, [String]?)]
    )
    func textLists(text: String, form: ClaimSettings.TextListForm?, elements: [String]?) throws {
        let trait = ClaimSettings.Trait(name: "groups", path: ["custom:groups"], textList: form)
        let traits = try self.traits(["custom:groups": .string(text)]) { $0.traits = [trait] }
        #expect(traits["groups"] == elements.map { .array($0.map { .string($0) }) } ?? .string(text))
        var mapping = ClaimSettings()
        mapping.traits = [trait]
        var allow = AdmissionSettings()
        allow.groups = ["b"]
        let isAdmitted = Admission(allow, mapping).refusal(UserClaims([["custom:groups": .string(text)]])) == nil
        #expect(isAdmitted == (elements?.contains("b") ?? false))
    }

    @Test("A claim that is a list already stays as it is, whatever form a text would have")
    func lists() throws {
        let trait = ClaimSettings.Trait(name: "groups", path: ["groups"], textList: .comma)
        #expect(try self.traits(["groups": ["a, b", "c"]]) { $0.traits = [trait] } == ["groups": ["a, b", "c"]])
        #expect(try self.traits(["groups": 7]) { $0.traits = [trait] } == ["groups": 7])
    }

    @Test("groups_only keeps the groups that matter before limits apply, and no trait but groups")
    func groupsOnly() throws {
        let many = (0..<2000).map { JSONValue.string("everyone-\($0)") }
        let groups = JSONValue.array(
            many + ["app-staff", "App-staff", ["app-admin"], ["name": "app-x"], .null, 7, "owners"]
        )
        let trait = ClaimSettings.Trait(name: "groups", path: ["groups"])
        let kept = try self.traits(["groups": groups, "team": "everyone"]) {
            $0.traits = [trait, .init(name: "team", path: ["team"])]
            $0.groupsOnly = ["app-*", "owners"]
        }
        #expect(kept == ["groups": ["app-staff", "app-admin", "owners"], "team": "everyone"])
        #expect {
            try self.traits(["groups": groups]) { $0.traits = [trait] }
        } throws: { error in
            (error as? ClaimsError)?.detail.contains("claims.groups_only") == true
        }
        let text = try self.traits(["groups": "[x, app-a]"]) {
            $0.traits = [.init(name: "groups", path: ["groups"], textList: .comma)]
            $0.groupsOnly = ["app-*"]
        }
        #expect(text == ["groups": ["app-a"]])
        for (group, trait) in [("app-a", "app-a"), ("x", nil)] as [(JSONValue, JSONValue?)] {
            let one = try self.traits(["groups": group]) {
                $0.traits = [ClaimSettings.Trait(name: "groups", path: ["groups"])]
                $0.groupsOnly = ["app-*"]
            }
            #expect(one["groups"] == trait)
        }
        #expect(
            try self.traits(["groups": ["x"]]) {
                $0.traits = [trait]
                $0.groupsOnly = ["a"]
            } == ["groups": []]
        )
    }
}
