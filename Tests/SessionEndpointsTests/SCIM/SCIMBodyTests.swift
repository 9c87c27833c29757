import Endpoints
import SignOn
import Testing
import Vocabulary

/// What the gateway takes from the bodies that Okta, Entra ID and others send.
@Suite("Bodies of SCIM clients")
struct SCIMBodyTests {
    /// A body and the values that it sets.
    struct Body: Sendable, CustomStringConvertible {
        let name: String
        let body: String
        var isPatch = true
        var externalID: String?
        var userName: String?
        var isActive: Bool?

        var description: String { self.name }
    }

    private static let accepted = [
        Body(
            name: "Okta creates",
            body: SCIMBench.okta("00u1", "ada@example.com"),
            isPatch: false,
            externalID: "00u1",
            userName: "ada@example.com",
            isActive: true
        ),
        Body(
            name: "Entra ID creates",
            body: """
                {"schemas":["\(SCIMBench.user)","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
                "externalId":"0a21","userName":"Test_User@example.com","active":true,
                "emails":[{"primary":true,"type":"work","value":"a@example.com"}],"meta":{"resourceType":"User"},
                "name":{"formatted":"A B","familyName":"B","givenName":"A"},"roles":[]}
                """,
            isPatch: false,
            externalID: "0a21",
            userName: "Test_User@example.com",
            isActive: true
        ),
        Body(
            name: "Okta replaces to deactivate",
            body: #"{"id":"x","userName":"a","externalId":"00u1","active":false,"meta":{"resourceType":"User"}}"#,
            isPatch: false,
            externalID: "00u1",
            userName: "a",
            isActive: false
        ),
        Body(
            name: "Okta replaces to reactivate",
            body: #"{"id":"x","userName":"a","externalId":"00u1","active":true,"groups":[]}"#,
            isPatch: false,
            externalID: "00u1",
            userName: "a",
            isActive: true
        ),
        Body(
            name: "PUT with text",
            body: #"{"userName":"a","active":"FALSE"}"#,
            isPatch: false,
            userName: "a",
            isActive: false
        ),
        Body(
            name: "Okta deactivates",
            body: SCIMBench.patch(#"{"op":"replace","value":{"active":false}}"#),
            isActive: false
        ),
        Body(
            name: "Okta reactivates",
            body: SCIMBench.patch(#"{"op":"replace","value":{"active":true}}"#),
            isActive: true
        ),
        Body(
            name: "Okta changes the password",
            body: SCIMBench.patch(#"{"op":"replace","value":{"password":"secret"}}"#)
        ),
        Body(
            name: "Entra ID disables",
            body: SCIMBench.patch(#"{"op":"Replace","path":"active","value":"False"}"#),
            isActive: false
        ),
        Body(
            name: "Entra ID enables",
            body: SCIMBench.patch(#"{"op":"Replace","path":"active","value":"True"}"#),
            isActive: true
        ),
        Body(
            name: "Entra ID disables with aadOptscim062020",
            body: SCIMBench.patch(#"{"op":"replace","path":"active","value":false}"#),
            isActive: false
        ),
        Body(
            name: "Entra ID adds",
            body: SCIMBench.patch(#"{"op":"Add","path":"active","value":"false"}"#),
            isActive: false
        ),
        Body(
            name: "Entra ID's list of one",
            body: SCIMBench.patch(#"{"op":"Replace","path":"active","value":[{"$ref":null,"value":"False"}]}"#),
            isActive: false
        ),
        Body(
            name: "Entra ID renames",
            body: SCIMBench.patch(
                """
                {"op":"Replace","path":"userName","value":"b@example.com"},
                {"op":"Add","path":"emails[type eq \\"work\\"].value","value":"b@example.com"},
                {"op":"Replace","path":"name.familyName","value":"B"},
                {"op":"Add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department","value":"D"}
                """
            ),
            userName: "b@example.com"
        ),
        Body(
            name: "Entra ID without paths",
            body: SCIMBench.patch(#"{"op":"Add","value":{"externalId":"0a22","name.givenName":"A","active":"True"}}"#),
            externalID: "0a22",
            isActive: true
        ),
        Body(
            name: "the schema in the path",
            body: SCIMBench.patch(#"{"op":"replace","path":"\#(SCIMBench.user):active","value":false}"#),
            isActive: false
        ),
        Body(
            name: "the schema as the path",
            body: SCIMBench.patch(#"{"op":"replace","path":"\#(SCIMBench.user)","value":{"active":false}}"#),
            isActive: false
        ),
        Body(
            name: "the schema as a member",
            body: SCIMBench.patch(#"{"op":"replace","value":{"\#(SCIMBench.user)":{"active":false}}}"#),
            isActive: false
        ),
        Body(
            name: "the last one counts",
            body: SCIMBench.patch(
                #"{"op":"replace","path":"active","value":true},{"op":"REPLACE","path":"Active","value":false}"#
            ),
            isActive: false
        ),
        Body(
            name: "other letter case",
            body: #"{"operations":[{"OP":"replace","Path":"ACTIVE","Value":"fAlSe"}]}"#,
            isActive: false
        ),
        Body(
            name: "an empty path",
            body: SCIMBench.patch(#"{"op":"replace","path":"","value":{"active":false}}"#),
            isActive: false
        ),
        Body(name: "removes what is not kept", body: SCIMBench.patch(#"{"op":"Remove","path":"title"}"#)),
        Body(
            name: "inactive is another word",
            body: SCIMBench.patch(#"{"op":"add","path":"urn:example:2.0:User:inactiveSince","value":"2026"}"#)
        ),
        Body(name: "no operation", body: #"{"Operations":[]}"#),
        Body(
            name: "names without a value stay",
            body: #"{"userName":"","externalId":null,"active":false}"#,
            isPatch: false,
            isActive: false
        ),
        Body(
            name: "a removed name stays",
            body: SCIMBench.patch(
                #"{"op":"Remove","path":"externalId"},{"op":"Replace","path":"active","value":"False"}"#
            ),
            isActive: false
        ),
        Body(
            name: "an extension",
            body: #"{"userName":"a","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"division":"D"}}"#,
            isPatch: false,
            userName: "a"
        ),
    ]

    @Test("The values are understood", arguments: Self.accepted)
    func values(_ body: Body) throws {
        let bytes = Array(body.body.utf8)
        let change = try body.isPatch ? SCIMBody.patch(bytes) : SCIMBody.user(bytes)
        #expect(change.externalID == body.externalID && change.userName == body.userName)
        #expect(change.isActive == body.isActive)
    }

    @Test(
        "A change of active in a form that is not understood is refused",
        arguments: [
            #"{"op":"replace","path":"active","value":"no"}"#, #"{"op":"replace","path":"active","value":0}"#,
            #"{"op":"replace","path":"active","value":null}"#, #"{"op":"replace","path":"active"}"#,
            #"{"op":"replace","path":"active","value":[false,false]}"#, #"{"op":"replace","path":"active","value":{}}"#,
            #"{"op":"replace","path":"active","value":[]}"#, #"{"op":"remove","path":"active"}"#,
            #"{"op":"remove","path":"urn:ietf:params:scim:schemas:core:2.0:User:active"}"#,
            #"{"op":"replace","path":"/active","value":false}"#,
            #"{"op":"replace","path":"active.value","value":false}"#,
            #"{"op":"replace","path":"active[value eq true]","value":false}"#,
            #"{"op":"replace","value":{"user":{"active":false}}}"#, #"{"op":"replace","value":{"active":"off"}}"#,
            #"{"op":"replace","path":"user","value":[{"active":false}]}"#,
            #"{"op":"remove","path":"user","value":{"active":true}}"#,
        ]
    )
    func misunderstood(_ operation: String) {
        let error = #expect(throws: NotDone.self) { try SCIMBody.patch(Array(SCIMBench.patch(operation).utf8)) }
        #expect(error?.reason == .scimInvalid && error?.detail == "invalidValue" && error?.text?.isEmpty == false)
    }

    @Test(
        "Other faults have the type of RFC 7644",
        arguments: [
            ("", "invalidSyntax"), ("[]", "invalidSyntax"), (#"{"Operations":{}}"#, "invalidSyntax"),
            (#"{"Operations":[],"operations":[]}"#, "invalidSyntax"), (#"{"Operations":[1]}"#, "invalidSyntax"),
            (SCIMBench.patch(#"{"path":"active","value":false}"#), "invalidSyntax"),
            (SCIMBench.patch(#"{"op":"move","path":"active","value":false}"#), "invalidSyntax"),
            (SCIMBench.patch(#"{"op":"replace","value":false}"#), "invalidSyntax"),
            (SCIMBench.patch(#"{"op":"replace","value":{"active":false,"Active":true}}"#), "invalidSyntax"),
            (SCIMBench.patch(#"{"op":"replace","path":1,"value":false}"#), "invalidPath"),
            (SCIMBench.patch(#"{"op":"remove"}"#), "noTarget"),
            (SCIMBench.patch(#"{"op":"replace","path":"userName","value":1}"#), "invalidValue"),
            (SCIMBench.patch(#"{"op":"replace","path":"externalId","value":"a\u0000"}"#), "invalidValue"),
        ]
    )
    func faults(_ body: String, _ type: String) {
        let error = #expect(throws: NotDone.self) { try SCIMBody.patch(Array(body.utf8)) }
        #expect(error?.reason == .scimInvalid && error?.detail == type, "\(error?.detail ?? "")")
    }

    @Test("Names have a limit, and deep documents are refused")
    func limits() {
        let nested = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
        for body in [
            #"{"userName":"\#(String(repeating: "a", count: 257))"}"#, nested,
            #"{"externalId":"acc_\#(String(repeating: "a", count: 32))"}"#, #"{"user":{"active":false}}"#,
        ] {
            #expect(throws: NotDone.self) { try SCIMBody.user(Array(body.utf8)) }
        }
        #expect((try? SCIMBody.user(Array(#"{"userName":"\#(String(repeating: "a", count: 256))"}"#.utf8))) != nil)
    }

    @Test("Filters compare one of the two names")
    func filters() throws {
        for (text, attribute) in [
            (#"userName eq "a \"b\"""#, ProvisionedAttribute.userName), (#"USERNAME  EQ  "a \"b\"""#, .userName),
            (#"externalId eq "a \"b\"""#, .externalID), (#"\#(SCIMBench.user):userName eq "a \"b\"""#, .userName),
        ] {
            let filter = try SCIMBody.filter(text)
            #expect(filter.attribute == attribute && filter.value == #"a "b""#, "\(text)")
        }
        for text in [
            "", "userName", "userName eq", "userName eq a", "userName ne \"a\"", "userName eq 1", "id eq \"a\"",
            #"userName eq "a" and active eq true"#, #"(userName eq "a")"#, #"emails.value eq "a""#,
        ] {
            let error = #expect(throws: NotDone.self) { try SCIMBody.filter(text) }
            #expect(error?.detail == "invalidFilter", "\(text)")
        }
    }
}
