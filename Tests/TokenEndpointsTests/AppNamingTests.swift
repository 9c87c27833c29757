import EndpointBench
import Endpoints
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("The documents that name native apps")
struct AppNamingTests {
    private static func client(_ id: String, _ callbacks: String..., change: (inout ClientSettings) -> Void = { _ in })
        -> ClientSettings
    {
        var client = ClientSettings(clientID: id)
        client.callbacks = callbacks.compactMap { RedirectURI($0) }
        change(&client)
        return client
    }

    private static let clients = [
        client("b", "https://one.example.com/b?x=1", "https://two.example.com/", "com.example.b:/x") {
            $0.iosAppIDs = ["ABCDE12345.com.example.b"]
            $0.androidApps = [AndroidApp(packageName: "com.example.b", fingerprints: ["00:11"])]
        },
        client("a", "https://one.example.com/a", "https://one.example.com/a?y=2", "https://ONE.example.com:443") {
            $0.iosAppIDs = ["ABCDE12345.com.example.a", "ABCDE12345.com.example.b"]
        },
        client("web", "https://one.example.com/web"),
    ]

    private func document(_ path: String, on host: String) async throws -> JSONValue? {
        let endpoints = AppLinkEndpoints(ClientRegistry(Self.clients)).endpoints
        let endpoint = try #require(endpoints.first { $0.path == path })
        return JSONText.decode(await WireRequest("GET", path, on: host).answer(of: endpoint).body)
    }

    @Test("Apple learns of each host the apps of clients with callbacks there, and the paths of these alone")
    func apple() async throws {
        let one = try await self.document(AppLinkEndpoints.applePath, on: "one.example.com")
        let (a, b): (JSONValue, JSONValue) = ("ABCDE12345.com.example.a", "ABCDE12345.com.example.b")
        let details: JSONValue = [
            ["appIDs": [a, b], "components": [["/": "/a"], ["/": "/"]]],
            ["appIDs": [b], "components": [["/": "/b"]]],
        ]
        #expect(one == ["applinks": ["details": details], "webcredentials": ["apps": [a, b]]])
        let two = try await self.document(AppLinkEndpoints.applePath, on: "two.example.com")
        let only: JSONValue = [["appIDs": [b], "components": [["/": "/"]]]]
        #expect(two == ["applinks": ["details": only], "webcredentials": ["apps": [b]]])
        let other = try await self.document(AppLinkEndpoints.applePath, on: "other.example.com")
        #expect(other == ["applinks": ["details": []], "webcredentials": ["apps": []]])
    }

    @Test("Google learns package and fingerprints of the same apps")
    func android() async throws {
        let statement: JSONValue = [
            "relation": ["delegate_permission/common.handle_all_urls"],
            "target": [
                "namespace": "android_app", "package_name": "com.example.b", "sha256_cert_fingerprints": ["00:11"],
            ],
        ]
        for host in ["one.example.com", "two.example.com"] {
            #expect(try await self.document(AppLinkEndpoints.androidPath, on: host) == [statement])
        }
        #expect(try await self.document(AppLinkEndpoints.androidPath, on: "other.example.com") == [])
    }

    @Test("They are read by GET and HEAD alone, as JSON that caches may keep, on hosts that name apps")
    func shape() async {
        let endpoints = AppLinkEndpoints(ClientRegistry(Self.clients)).endpoints
        #expect(endpoints.map(\.path) == [AppLinkEndpoints.applePath, AppLinkEndpoints.androidPath])
        for endpoint in endpoints {
            #expect(endpoint.methods == ["GET", "HEAD"])
            if case .appLinkHosts = endpoint.scope {} else { Issue.record("\(endpoint.path) on other hosts") }
            let answer = await WireRequest("GET", endpoint.path).answer(of: endpoint)
            let fields = Dictionary(uniqueKeysWithValues: answer.fields.map { ($0.name, $0.value) })
            #expect(answer.status == 200)
            #expect(fields["content-type"] == "application/json")
            #expect(fields["cache-control"] == "public, max-age=3600")
            #expect(fields["location"] == nil)
        }
    }
}
