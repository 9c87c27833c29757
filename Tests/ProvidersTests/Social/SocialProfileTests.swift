import Providers
import Testing
import Vocabulary

@Suite("What an app says about a user")
struct SocialProfileTests {
    private static let profiles: [(value: JSONValue, given: String?, family: String?, name: String?, email: String?)] =
        [
            (["name": ["firstName": "Ada", "lastName": "King"]], "Ada", "King", "Ada King", nil),
            (["name": ["firstName": "Ada", "lastName": .null]], "Ada", nil, "Ada", nil),
            (["name": ["lastName": "King"], "email": "a@b.c"], nil, "King", "King", "a@b.c"),
            (["name": ["firstName": ""]], nil, nil, nil, nil), (["name": [:]], nil, nil, nil, nil),
            (["given_name": "Ada", "family_name": "King", "name": "A. King"], "Ada", "King", "A. King", nil),
            (["given_name": "Augusta", "name": ["firstName": "Ada"]], "Augusta", nil, "Ada", nil),
            (
                ["name": "Ada", "email": "ada@example.com", "id": 7, "picture": ["x": []]], nil, nil, "Ada",
                "ada@example.com"
            ),
            ([:], nil, nil, nil, nil), (.null, nil, nil, nil, nil), ("", nil, nil, nil, nil),
            (["email": .null, "name": .null, "given_name": ""], nil, nil, nil, nil),
        ]

    @Test("An object and a text that holds one mean the same", arguments: Self.profiles)
    func shapes(
        _ profile: (value: JSONValue, given: String?, family: String?, name: String?, email: String?)
    ) throws {
        let text = String(decoding: JSONText.encode(profile.value), as: UTF8.self)
        for value in [profile.value, profile.value == "" ? "" : .string(text)] as [JSONValue] {
            let read = try SocialProfile(value)
            #expect(read.givenName == profile.given && read.familyName == profile.family)
            #expect(read.name == profile.name && read.email == profile.email)
        }
    }

    private static let faults: [(value: JSONValue, words: String)] = [
        (1, "no object"), ([], "no object"), (true, "no object"), ("x", "not one in JSON"), ("[]", "no object"),
        ("{\"email\":1,\"email\":2}", "not one in JSON"), ("\"{}\"", "no object"), (["name": 1], "name"),
        (["name": ["Ada"]], "name"), (["name": ["firstName": ["Ada"]]], "name.firstName"),
        (["given_name": 1], "given_name"),
        (["email": ["a@b"]], "email"), (["given_name": "A\nda"], "given_name"),
        (["family_name": "K\u{7F}"], "family_name"),
        (["name": "A\u{85}"], "name"), (["name": ["lastName": "\u{0}"]], "name.lastName"),
        (["email": "a@b\r\n"], "email"),
        (["given_name": .string(String(repeating: "a", count: 257))], "given_name"),
        (["email": .string(String(repeating: "a", count: 320) + "@b")], "email"), (["email": "ada"], "email"),
        (["email": "a@b@c"], "email"), (["email": "@b"], "email"), (["email": "a@"], "email"),
        (["email": "a b@c"], "email"),
        (["x": .string(String(repeating: "a", count: 9000))], "too large"),
        (.string("{\"x\":\"" + String(repeating: "a", count: 9000) + "\"}"), "too large"),
        (.string(String(repeating: "[", count: 100)), "not one in JSON"),
    ]

    @Test("What cannot be meant is refused, and named without its value", arguments: Self.faults)
    func refused(_ fault: (value: JSONValue, words: String)) {
        do {
            _ = try SocialProfile(fault.value)
            Issue.record("accepted: \(fault.value)")
        } catch {
            #expect(error.description.contains(fault.words), "\(error)")
            #expect(!error.description.contains("ada") && error.description.utf8.count < 80)
        }
    }
}
