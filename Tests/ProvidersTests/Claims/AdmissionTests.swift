import Providers
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Who may sign in at all")
struct AdmissionTests {
    private func isAdmitted(
        _ claims: [String: JSONValue],
        emails: [String] = [],
        domains: [String] = [],
        groups: [String] = [],
        mapping: ClaimSettings = ClaimSettings()
    ) -> Bool {
        var settings = AdmissionSettings()
        settings.emails = emails
        settings.emailDomains = domains
        settings.groups = groups
        return Admission(settings, mapping).refusal(UserClaims([.object(claims)])) == nil
    }

    @Test("Without lists everybody may")
    func everybody() {
        #expect(self.isAdmitted([:]))
    }

    @Test(
        "An address of a listed domain is admitted, whatever the case of its letters",
        arguments: ["jane@good.com", "Jane@GOOD.com", "a.b+c@good.COM", "jane@example.org", "JANE@Example.ORG"]
    )
    func admitted(_ email: String) {
        let claims: [String: JSONValue] = ["email": .string(email), "email_verified": true]
        #expect(self.isAdmitted(claims, emails: ["jane@example.org"], domains: ["good.com"]))
    }

    @Test(
        "Every other address is refused, also one that only looks like a listed one",
        arguments: [
            "user@evil.com@good.com", "user@evil.com", "@good.com", "good.com", "user@", "", "user@sub.good.com",
            "user@xgood.com", "user@good.com.evil.com", "user@good.com ", " user@good.com", "user@good.com\u{0}",
            "us er@good.com", "user\n@good.com", "user@good.com\r\n", "\"a@b\"@good.com", "user@g\u{F6}od.com",
            "user@\u{FF47}ood.com", "john@example.org", "jane@example.org.", "jane@@example.org",
        ]
    )
    func refused(_ email: String) {
        let claims: [String: JSONValue] = ["email": .string(email), "email_verified": true]
        #expect(!self.isAdmitted(claims, emails: ["jane@example.org"], domains: ["good.com"]))
    }

    @Test(
        "An address counts only if the provider has verified it",
        arguments: [JSONValue.null, false, "false", "yes", 1, [true]]
    )
    func unverified(_ verified: JSONValue) {
        let claims: [String: JSONValue] = ["email": "jane@good.com", "email_verified": verified]
        #expect(!self.isAdmitted(claims, domains: ["good.com"]))
        #expect(!self.isAdmitted(["email": "jane@good.com"], emails: ["jane@good.com"]))
    }

    @Test("The text true counts as verified, as some providers write it")
    func verifiedText() {
        #expect(self.isAdmitted(["email": "jane@good.com", "email_verified": "true"], domains: ["good.com"]))
    }

    @Test("A group is compared byte for byte, and is one of a list or the only one")
    func groups() {
        let cases: [(JSONValue, Bool)] = [
            (["staff"], true), (["other", "staff"], true), ("staff", true), (["Staff"], false), (["staff "], false),
            (["staffs"], false), ([], false), ("staff,admin", false), ([["staff"]], true), ([["a": "staff"]], false),
            (["a": "staff"], false),
            (.null, false),
        ]
        for (value, isAdmitted) in cases {
            #expect(self.isAdmitted(["groups": value], groups: ["staff", "admin"]) == isAdmitted, "\(value)")
        }
        #expect(!self.isAdmitted(["groups": ["e\u{301}"]], groups: ["\u{E9}"]))
        for value in [[7], 7, ["a", 7], "7"] as [JSONValue] {
            #expect(self.isAdmitted(["groups": value], groups: ["7"]), "\(value)")
        }
    }

    @Test("With addresses and groups, both are demanded")
    func both() {
        let email: [String: JSONValue] = ["email": "jane@good.com", "email_verified": true]
        #expect(!self.isAdmitted(email, domains: ["good.com"], groups: ["staff"]))
        #expect(!self.isAdmitted(["groups": ["staff"]], domains: ["good.com"], groups: ["staff"]))
        let complete = email.merging(["groups": ["staff"]]) { $1 }
        #expect(self.isAdmitted(complete, domains: ["good.com"], groups: ["staff"]))
    }

    @Test("The claims are those of the traits email, email_verified and groups")
    func paths() {
        var mapping = ClaimSettings()
        mapping.traits = [
            ClaimSettings.Trait(name: "groups", path: ["realm_access", "roles"]),
            ClaimSettings.Trait(name: "email", path: ["mail"]),
            ClaimSettings.Trait(name: "email_verified", path: ["mail_checked"]),
        ]
        let claims: [String: JSONValue] = [
            "realm_access": ["roles": ["staff"]], "groups": ["none"], "mail": "jane@good.com", "email": "eve@evil.com",
            "email_verified": false, "mail_checked": true,
        ]
        #expect(self.isAdmitted(claims, domains: ["good.com"], groups: ["staff"], mapping: mapping))
        #expect(!self.isAdmitted(claims, groups: ["none"], mapping: mapping))
    }

    @Test(
        "email_verified is about the claim email beside it, and admits no address from elsewhere",
        arguments: [
            (["preferred_username"], ["email_verified"], false), (["email"], ["x"], true), (["mail"], ["x"], true),
            (["user", "email"], ["user", "email_verified"], true), (["user", "email"], ["email_verified"], false),
            (["email"], ["user", "email_verified"], false), (["user", "mail"], ["user", "email_verified"], false),
        ] as [([String], [String], Bool)]
    )
    func vouching(email: [String], verified: [String], counts: Bool) throws {
        var mapping = ClaimSettings()
        mapping.traits = [
            ClaimSettings.Trait(name: "email", path: email),
            ClaimSettings.Trait(name: "email_verified", path: verified),
        ]
        #expect(mapping.vouchesForEmail == counts)
        let own: [String: JSONValue] = ["email": "jane@good.com", "mail": "jane@good.com", "email_verified": true]
        var claims = own
        claims["user"] = .object(own)
        claims["preferred_username"] = "jane@good.com"
        claims["x"] = true
        #expect(self.isAdmitted(claims, domains: ["good.com"], mapping: mapping) == counts)
        // Nor does the session, or what is signed of it, say so.
        let identity = try ClaimsMapping(mapping).identity("7", UserClaims([.object(claims)]))
        #expect(identity.traits["email"] == "jane@good.com")
        #expect((identity.traits["email_verified"] == .bool(true)) == counts)
    }
}
