import Settings
import Testing

@Suite("Which endpoints outside of /.sallyport/ the hosts have") struct EndpointJobTests {
    private static let provider =
        "provider: {static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}}\n"
    private static let only = "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\n"

    private func settings(_ text: String, tokens: String = "ops read") throws -> Settings {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/operator-tokens"] = Array("\(tokens) \(String(repeating: "0a", count: 32))\n".utf8)
        return try bench.load(Self.provider + text).get().settings
    }

    @Test(
        "The app of the only host has the paths for which no key gives the gateway a job",
        arguments: [
            ("", [], []),
            ("clients: [{client_id: web}]\n", .all, ["clients"]),
            ("exchange: {return_to: [\"com.example.app:/back\"]}\n", .nativeApps, ["exchange"]),
            ("session: {native: {absolute: 90d}}\n", [], []),
            ("session: {idle: 1h}\n", [], []),
            ("identity: {assertion: {enabled: true}}\n", .verifiers, ["identity.assertion"]),
            ("admin: {tokens_file: operator-tokens}\n", [], []),
        ] as [(String, EndpointGroups, [String])]
    )
    func onlyHost(more: String, jobs: EndpointGroups, keys: [String]) throws {
        let settings = try self.settings(Self.only + more)
        #expect(settings.hosts.map(\.jobs) == [jobs] && settings.endpointKeys == keys)
        #expect(settings.hosts[0].endpoints, "users sign in all the same")
        let written = "hosts: [{public_url: https://app.example.com, upstream: \"http://127.0.0.1:3000\"}]\n"
        #expect(try self.settings(written + more).hosts.map(\.jobs) == [jobs])
    }

    @Test("Clients that an operator may add at run time give endpoints a job")
    func clientsAtRunTime() throws {
        let text = Self.only + "admin: {tokens_file: operator-tokens}\n"
        #expect(try self.settings(text, tokens: "ops read,clients").hosts[0].jobs == .all)
        #expect(try self.settings(text, tokens: "ops read,sessions").hosts[0].jobs == [])
    }

    @Test("A host with endpoints: true has all of them, and so has one without an app")
    func asked() throws {
        let asked =
            "hosts: [{public_url: https://app.example.com, endpoints: true, upstream: \"http://127.0.0.1:3000\"}]"
        #expect(try self.settings(asked).hosts[0].jobs == .all)
        let bare = "hosts: [{public_url: https://id.example.com, routes: []}]"
        #expect(try self.settings(bare).hosts[0].jobs == .all)
    }
}
