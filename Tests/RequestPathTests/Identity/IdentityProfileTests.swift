import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

struct IdentityProfileTests {
    @Test("The default fields have the user, the time and the method of the sign-in")
    func defaultFields() {
        #expect(
            lines(profile(), session())
                == .success([
                    "X-Auth-Subject: user-1", "X-Auth-Session-Id: ses_1", "X-Auth-Email: ada@example.com",
                    "X-Auth-Name: Ada",
                    "X-Auth-Groups: staff,admin", "X-Auth-Aal: aal2", "X-Auth-Methods: password,totp",
                    "X-Auth-Authenticated-At: 2026-11-21T06:34:56Z", "X-Auth-Origin: transfer",
                ])
        )
    }

    @Test(
        "Every preset renders, names only fields that it manages, and ends each line",
        arguments: IdentitySettings.Preset.allCases
    )
    func presets(preset: IdentitySettings.Preset) throws {
        let profile = profile { $0.preset = preset }
        let rendered = try profile.render(session())
        #expect(rendered.suffix(2) == [0x0D, 0x0A])
        let names = try lines(profile, session()).get().map { String($0.prefix { $0 != ":" }) }
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(profile.managed.contains(name), "\(name)")
        }
        var settings = IdentitySettings()
        settings.fields = profile.fields
        #expect(IdentityProfile.problems(settings).isEmpty)
        // An app must be able to tell who acts for the user.
        var delegated = session()
        delegated.actor = "user-2"
        #expect(try lines(profile, delegated).get().contains("X-Auth-Actor: user-2"))
    }

    @Test("A field can show a token of the provider as it is, and none where there is none or where it is not safe")
    func tokens() throws {
        let profile = profile {
            $0.fields = [
                IdentitySettings.Field(name: "X-Access", path: "provider.access_token"),
                IdentitySettings.Field(name: "X-Id", path: "provider.id_token"),
                IdentitySettings.Field(name: "X-User", path: "subject"),
            ]
        }
        #expect(profile.namesTokens && !RequestPathTests.profile().namesTokens)
        func rendered(_ tokens: SessionTokens?) -> Result<String, IdentityRefusal> {
            Result { () throws(IdentityRefusal) in
                String(decoding: try profile.render(session(), tokens: tokens), as: UTF8.self)
            }
        }
        let both = SessionTokens(access: Secret("a%2F.~+/=,"), id: Secret("e.y.J"))
        #expect(rendered(both) == .success("X-Access: a%2F.~+/=,\r\nX-Id: e.y.J\r\nX-User: user-1\r\n"))
        let one = SessionTokens(access: Secret("a"), id: nil)
        #expect(rendered(one) == .success("X-Access: a\r\nX-User: user-1\r\n"))
        #expect(rendered(nil) == .success("X-User: user-1\r\n"))
        for odd in ["a b", "a\r\nX: y", "a\u{e4}", "a\u{0}"] {
            let refusal = IdentityRefusal(reason: .identityUnsafeValue, field: "X-Access")
            #expect(rendered(SessionTokens(access: Secret(odd), id: nil)) == .failure(refusal), "\(odd)")
        }
        for name in ["X-Access", "x_id"] {
            #expect(profile.managed.contains(name))
        }
        var basic = IdentitySettings()
        basic.basic = .init(usernamePath: "provider.access_token", password: Secret("p"))
        #expect(
            IdentityProfile.problems(basic) == [
                "identity.basic.username: provider.access_token is no name of the user"
            ]
        )
    }

    @Test(
        "A path can name every part of a session",
        arguments: [
            ("subject", "user-1"), ("identity.id", "user-1"), ("session.id", "ses_1"), ("aal", "aal2"),
            ("origin", "transfer"),
            ("scopes", "read,write"), ("client_id", "web"), ("methods", "password,totp"),
            ("identity.traits.email", "ada@example.com"),
            ("identity.traits.deep.er", "7"), ("identity.metadata_public.plan", "true"),
            ("identity.traits.name", "Ada Lovelace"),
        ]
    )
    func paths(path: String, value: String) {
        let session = session(
            traits: [
                "email": "ada@example.com", "deep": ["er": 7], "name": ["first": "Ada", "last": "Lovelace"],
            ],
            metadata: ["plan": true]
        )
        #expect(lines(profile(path: path), session) == .success(["X-Value: \(value)"]))
    }

    @Test(
        "A path steps into lists, and lists in lists are one list",
        arguments: [
            ("identity.traits.g.name", ["g": [["name": "a"], ["x": 1], ["name": "b"]]], "a,b"),
            ("identity.traits.g[].name", ["g": [["name": "a"], ["name": "b"]]], "a,b"),
            ("identity.traits.g[].name", ["g": ["name": "a"]], "a"),
            ("identity.traits.g[]", ["g": ["a", ["b"]]], "a,b"),
            ("identity.traits.g", ["g": [["a", ""], [["b"], .null]]], "a,b"),
            ("identity.traits.g.name", ["g": ["a"]], nil),
            ("identity.traits.g.name", ["g": []], nil),
            ("identity.traits.o.t.name", ["o": ["t": [["name": "a"]]]], "a"),
        ] as [(String, JSONValue, String?)]
    )
    func lists(path: String, traits: JSONValue, value: String?) {
        let expected = value.map { ["X-Value: \($0)"] } ?? []
        #expect(lines(profile(path: path), session(traits: traits)) == .success(expected))
        let metadata = path.replacing("traits", with: "metadata_public")
        #expect(lines(profile(path: metadata), session(metadata: traits)) == .success(expected))
    }

    @Test(
        "One group with the delimiter is no list of groups, wherever it is",
        arguments: ["groups.name", "groups[]", "g[].n"]
    )
    func oneGroup(path: String) {
        let traits: JSONValue = ["groups": ["name": "a,admin"], "g": ["n": "a,admin"]]
        let refusal = IdentityRefusal(reason: .identityUnsafeValue, field: "X-Value")
        let nested = profile(path: "identity.traits.\(path)")
        let own: JSONValue = path == "groups[]" ? ["groups": "a,admin"] : traits
        #expect(lines(nested, session(traits: own)) == .failure(refusal))
    }

    @Test("What cannot be in a field is named, with its path and why")
    func unfit() {
        func unfit(_ traits: JSONValue, _ change: (inout IdentitySettings) -> Void = { _ in }) -> [UnfitValue] {
            profile(change).unfit(session(traits: traits))
        }
        let groups = "identity.traits.groups"
        #expect(unfit(["groups": ["a"], "name": ["first": "Ada"], "email": .null]).isEmpty)
        #expect(
            unfit(["groups": ["a", ["name": "b"]]])
                == [UnfitValue(field: "X-Auth-Groups", path: groups, fault: .listOfObjects)]
        )
        #expect(
            unfit(["groups": [[["name": "b"]]], "name": ["x": 1]]) == [
                UnfitValue(field: "X-Auth-Name", path: "identity.traits.name", fault: .object),
                UnfitValue(field: "X-Auth-Groups", path: groups, fault: .listOfObjects),
            ]
        )
        for odd in ["a,b", "a\nb"] {
            #expect(
                unfit(["groups": [.string(odd)]])
                    == [UnfitValue(field: "X-Auth-Groups", path: groups, fault: .unsafe)]
            )
        }
        let long = JSONValue.array((0..<2000).map { .string("group-\($0)") })
        #expect(unfit(["groups": long]) == [UnfitValue(field: nil, path: "", fault: .size)])
        #expect(unfit(["groups": long]) { $0.maxSize = 65_536 }.isEmpty)
    }

    @Test(
        "CVE-2026-30851: a missing value gives no field, never an empty one",
        arguments: [
            .null, [:], ["v": .null], ["v": ""], ["v": []], ["v": [""]], ["v": ["a": "b"]], ["w": "x"],
        ] as [JSONValue]
    )
    func missing(traits: JSONValue) {
        #expect(lines(profile(path: "identity.traits.v"), session(traits: traits)) == .success([]))
    }

    @Test(
        "CVE-2023-27493, mod_auth_openidc 2026: a value with a line break or NUL is refused",
        arguments: [
            "a\r\nX-Auth-Groups: admin", "a\nb", "a\rb", "a\u{0}", "\r\n",
        ]
    )
    func lineBreaks(value: String) {
        for encoding in IdentitySettings.Encoding.allCases { self.expectRefusal(of: value, encoding) }
    }

    /// A value, also as an element of a list, is refused, whether it is read from a document as bytes or as a value.
    private func expectRefusal(of value: String, _ encoding: IdentitySettings.Encoding) {
        let refusal = IdentityRefusal(reason: .identityUnsafeValue, field: "X-Value")
        for name in ["v", "groups"] {
            for traits: JSONValue in [[name: .string(value)], [name: ["ok", .string(value)]]] {
                let profile = profile(path: "identity.traits.\(name)", encoding: encoding)
                #expect(lines(profile, session(traits: traits)) == .failure(refusal), "\(encoding): \(traits)")
            }
        }
    }

    @Test(
        "mod_auth_openidc 2026: a group `a,admin` does not become two groups",
        arguments: [
            ["groups": ["a,admin"]], ["groups": "a,admin"], ["groups": ["a", "b,"]], ["groups": [["a,b"]]],
            ["groups": [["n": "a"]]],
        ] as [JSONValue]
    )
    func delimiters(traits: JSONValue) {
        for encoding in IdentitySettings.Encoding.allCases {
            let refusal = IdentityRefusal(reason: .identityUnsafeValue, field: "X-Auth-Groups")
            #expect(lines(profile { $0.encoding = encoding }, session(traits: traits)) == .failure(refusal))
        }
    }

    @Test(
        "Elements without a text are left out of a list, and so is their delimiter",
        arguments: [
            (["staff", ""], "staff"), (["", "staff"], "staff"), (["", "", "a"], "a"), ([.null, "a"], "a"),
            (["a", .null], "a"), (["a", "", .null, "b", ""], "a,b"), (["a", "", "", "b"], "a,b"),
            (["", .null, ""], nil),
            ([], nil), ([false, "", 0], "false,0"),
        ] as [([JSONValue], String?)]
    )
    func elementsWithoutText(elements: [JSONValue], expected: String?) {
        for encoding in IdentitySettings.Encoding.allCases {
            for name in ["v", "groups"] {
                let profile = profile(path: "identity.traits.\(name)", encoding: encoding)
                let lines = lines(profile, session(traits: [name: .array(elements)]))
                #expect(lines == .success(expected.map { ["X-Value: \($0)"] } ?? []), "\(encoding): \(name)")
            }
        }
    }

    @Test("The delimiter can be configured, and has no meaning in a single value")
    func ownDelimiter() {
        let groups: JSONValue = ["groups": ["a,b", "c"], "name": "Lovelace, Ada"]
        #expect(
            lines(profile(path: "identity.traits.groups", delimiter: ";"), session(traits: groups))
                == .success(["X-Value: a,b;c"])
        )
        #expect(
            lines(profile(path: "identity.traits.name"), session(traits: groups))
                == .success(["X-Value: Lovelace, Ada"])
        )
    }

    @Test(
        "All but plain ASCII is percent-encoded, so that decoding gives the value back",
        arguments: [
            ("Zo\u{EB}", "Zo%C3%AB"), ("100%", "100%25"), ("%2C", "%252C"), (" admin", "%20admin"),
            ("admin ", "admin%20"),
            ("a b", "a b"), ("a\tb", "a%09b"), ("\u{7F}", "%7F"), ("\u{2028}", "%E2%80%A8"),
            ("\u{1F511}", "%F0%9F%94%91"),
        ]
    )
    func encoding(value: String, expected: String) {
        let path = "identity.traits.v"
        #expect(
            lines(profile(path: path), session(traits: ["v": .string(value)])) == .success(["X-Value: \(expected)"])
        )
        let list: JSONValue = ["v": [.string(value), "z"]]
        #expect(lines(profile(path: path), session(traits: list)) == .success(["X-Value: \(expected),z"]))
    }

    @Test(
        "With encoding: utf8 a value is sent as it is, without any encoding",
        arguments: [
            "Zo\u{EB}", "100%", "%2C", "a b", "\u{1F511}", "a\u{A0}b", "a\u{300}", "\u{445}\u{C5}\u{E0}",
            "\u{202E}a", "a;b", "\u{FF0C}",
        ]
    )
    func plainUTF8(value: String) throws {
        for name in ["v", "groups"] {
            let profile = profile(path: "identity.traits.\(name)", encoding: .utf8)
            let single = try profile.render(session(traits: [name: .string(value)]))
            #expect(Array(single) == Array("X-Value: \(value)\r\n".utf8))
            let list = try profile.render(session(traits: [name: [.string(value), "z"]]))
            #expect(Array(list) == Array("X-Value: \(value),z\r\n".utf8))
        }
    }

    @Test("With encoding: utf8 what a reader could take for the end of a line, or trim, is refused")
    func unsafeUTF8() {
        let numbers = Array(UInt32(0x01)...0x1F) + Array(UInt32(0x7F)...0x9F)
        let controls = numbers.compactMap { Unicode.Scalar($0) }
        let separators = ["\u{2028}", "\u{2029}"] as [Unicode.Scalar]
        for scalar in controls + separators { self.expectRefusal(of: "a\(scalar)b", .utf8) }
        for space in [" ", "\u{A0}", "\u{3000}", "\u{FEFF}"] {
            for value in ["\(space)admin", "admin\(space)", space] { self.expectRefusal(of: value, .utf8) }
        }
    }

    @Test("All fields together can have at most the maximum size")
    func size() {
        let profile = profile {
            $0.fields = [IdentitySettings.Field(name: "X-V", path: "identity.traits.v")]
            $0.maxSize = 300
        }
        // "X-V: " and the line's end are seven bytes.
        let fits: JSONValue = ["v": .string(String(repeating: "a", count: 293))]
        #expect(throws: Never.self) { try profile.render(session(traits: fits)) }
        #expect(throws: IdentityRefusal(reason: .identityTooLarge, field: nil)) {
            try profile.render(session(traits: ["v": .string(String(repeating: "a", count: 294))]))
        }
    }

    @Test("Basic authentication follows RFC 7617, and a name with a colon is refused")
    func basic() throws {
        let profile = profile {
            $0.fields = [IdentitySettings.Field(name: "X-Value", path: "subject")]
            $0.basic = IdentitySettings.BasicAuth(usernamePath: "identity.traits.u", password: Secret("open sesame"))
        }
        #expect(profile.replacesAuthorization)
        #expect(
            lines(profile, session(traits: ["u": "Aladdin"]))
                == .success(["X-Value: user-1", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        )
        #expect(lines(profile, session(traits: ["u": ""])) == .success(["X-Value: user-1"]))
        #expect(lines(profile, session(traits: [:])) == .success(["X-Value: user-1"]))
        for user in ["a:b", "a\nb", "a\u{0}"] {
            #expect(throws: IdentityRefusal(reason: .identityUnsafeValue, field: "Authorization")) {
                try profile.render(session(traits: ["u": .string(user)]))
            }
        }
    }

    @Test(
        "Settings that would let a client or a trait set the gateway's fields are problems",
        arguments: [
            ("Accept", "subject"), ("Host", "subject"), ("cookie", "subject"), ("X-Session-Token", "subject"),
            ("X-Forwarded-For", "subject"), ("X_FORWARDED_HOST", "subject"), ("Content-Type", "subject"),
            ("X User", "subject"),
            ("", "subject"), ("X-\u{E9}", "subject"), ("X-User", "nowhere"), ("X-User", "identity.traits."),
            ("Origin", "aal"),
        ]
    )
    func problems(name: String, path: String) {
        var settings = IdentitySettings()
        settings.fields = [IdentitySettings.Field(name: name, path: path)]
        #expect(!IdentityProfile.problems(settings).isEmpty)
    }

    @Test("Two spellings of one name, overlong names and odd delimiters are problems")
    func moreProblems() {
        var settings = IdentitySettings()
        #expect(IdentityProfile.problems(settings).isEmpty)
        settings.fields = ["X-User", "x_user"].map { IdentitySettings.Field(name: $0, path: "subject") }
        #expect(IdentityProfile.problems(settings).count == 1)
        settings.fields = [IdentitySettings.Field(name: "X-" + String(repeating: "a", count: 70), path: "subject")]
        #expect(IdentityProfile.problems(settings).count == 1)
        settings.fields = []
        for delimiter in ["a", "%", " ", "7"] {
            settings.delimiter = Array(delimiter.utf8)[0]
            #expect(IdentityProfile.problems(settings).count == 1, "\(delimiter)")
        }
        settings.delimiter = 0x7C
        settings.basic = IdentitySettings.BasicAuth(usernamePath: "nowhere", password: Secret("x"))
        #expect(IdentityProfile.problems(settings).count == 1)
    }
}
