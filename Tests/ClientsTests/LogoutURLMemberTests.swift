import Settings
import SignOn
import Testing
import Vocabulary

@Suite("Auth0's name of a client's URL for logout tokens") struct LogoutURLMemberTests {
    private static let url = "https://shop.example.com/backchannel-logout"
    private static let auth0: JSONValue = ["oidc_logout": ["backchannel_logout_urls": [.string(url)]]]

    private func url(_ bench: EditorBench, of client: String = "web") -> String? {
        bench.registry.snapshot.client(client)?.backchannelLogoutURI
    }

    @Test("A list of one URL sets backchannel_logout_uri; both are shown, and what is shown can be sent again")
    func update() async throws {
        let bench = try EditorBench()
        let initiators: JSONValue = ["mode": "all"]
        let patch = Self.auth0.merged(with: ["oidc_logout": ["backchannel_logout_initiators": initiators]])
        let outcome = try await bench.editor.update("web", patch, by: "ops")
        #expect(self.url(bench) == Self.url)
        #expect(outcome.changed.contains("backchannel_logout_uri"))
        let shown = outcome.client.members
        #expect(shown["backchannel_logout_uri"] == .string(Self.url) && shown["oidc_logout"] == patch["oidc_logout"])
        let both: JSONValue = [
            "backchannel_logout_uri": .string(Self.url), "oidc_logout": shown["oidc_logout"] ?? .null,
        ]
        _ = try await bench.editor.update("web", both, by: "ops")
        #expect(self.url(bench) == Self.url)
        let other: JSONValue = ["oidc_logout": ["backchannel_logout_urls": ["https://shop.example.com/2"]]]
        _ = try await bench.editor.update("web", other, by: "ops")
        #expect(self.url(bench) == "https://shop.example.com/2")
    }

    @Test(
        "An empty list, null and the removal of either member remove the URL",
        arguments: [
            ["oidc_logout": ["backchannel_logout_urls": []]], ["oidc_logout": ["backchannel_logout_urls": .null]],
            ["oidc_logout": .null], ["backchannel_logout_uri": .null],
        ] as [JSONValue]
    )
    func removal(patch: JSONValue) async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("web", Self.auth0, by: "ops")
        let outcome = try await bench.editor.update("web", patch, by: "ops")
        #expect(self.url(bench) == nil)
        #expect(outcome.client.members["oidc_logout"]?["backchannel_logout_urls"] == nil)
    }

    @Test("A client is made with the list, and other members of oidc_logout alone mean nothing")
    func create() async throws {
        let bench = try EditorBench()
        let members: JSONValue = ["client_id": "shop", "app_type": "regular_web"]
        _ = try await bench.editor.create(members.merged(with: Self.auth0), by: "ops")
        #expect(self.url(bench, of: "shop") == Self.url)
        let initiators: JSONValue = ["oidc_logout": ["backchannel_logout_initiators": ["mode": "all"]]]
        _ = try await bench.editor.update("shop", initiators, by: "ops")
        #expect(self.url(bench, of: "shop") == Self.url)
    }

    @Test(
        "Several URLs, a differing pair and a URL that the file could not have are refused",
        arguments: [
            (["oidc_logout": ["backchannel_logout_urls": ["https://a.example/", "https://b.example/"]]], "oidc_"),
            (["oidc_logout": ["backchannel_logout_urls": "https://a.example/"]], "oidc_logout"),
            (
                [
                    "backchannel_logout_uri": "https://b.example/",
                    "oidc_logout": ["backchannel_logout_urls": ["https://a.example/"]],
                ], "oidc_logout"
            ), (["oidc_logout": ["backchannel_logout_urls": ["http://a.example/"]]], "backchannel_logout_uri"),
            (["backchannel_logout_uri": "https://a.example/#x"], "backchannel_logout_uri"),
        ] as [(JSONValue, String)]
    )
    func refusal(_ example: (patch: JSONValue, key: String)) async throws {
        let bench = try EditorBench()
        do throws(NotDone) {
            _ = try await bench.editor.update("web", example.patch, by: "ops")
            Issue.record("it is accepted")
        } catch {
            #expect(error.reason == .clientInvalid && error.text?.hasPrefix(example.key) == true, "\(error)")
        }
        #expect(self.url(bench) == nil)
    }
}
