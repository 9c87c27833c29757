import Settings
import Testing

@Suite("Native apps that take https callbacks")
struct NativeAppTests {
    private static let fingerprint =
        "14:6d:e9:83:c5:73:06:50:d8:ee:b9:95:2f:34:fc:64"
        + ":16:a0:83:42:e6:1d:be:a8:8a:04:96:b2:3f:cf:44:e5"

    private static func client(_ lines: String...) -> String {
        "clients:\n  - client_id: app\n" + lines.map { "    \($0)\n" }.joined()
    }

    private static let callback = "callbacks: [\"https://app.example.com/signed-in?x=1\", \"com.example.app:/b\"]"
    private static let ios = "ios_app_ids: ABCDE12345.com.example.app"
    private static let android =
        "android_apps: [{package: com.example.app, sha256_cert_fingerprints: [\"\(fingerprint)\"]}]"

    private func warnings(_ text: String, flags: InsecureFlags = InsecureFlags()) throws -> [String] {
        var bench = SettingsBench()
        bench.flags = flags
        // Other warnings are of the small file.
        return try bench.load(text).get().warnings.filter { $0.contains("well_known") }
    }

    @Test("the apps are read, and fingerprints are in capitals, as Google compares them")
    func read() throws {
        let text = "well_known: true\n" + Self.client(Self.callback, Self.ios, Self.android)
        let settings = try #require(SettingsBench().settings(adding: text))
        let client = settings.clients[0]
        #expect(client.iosAppIDs == ["ABCDE12345.com.example.app"])
        #expect(client.androidApps.map(\.packageName) == ["com.example.app"])
        #expect(client.androidApps.map(\.fingerprints) == [[Self.fingerprint.uppercased()]])
        #expect(client.callbacks.map(\.securePath) == ["/signed-in", nil])
        #expect(settings.hosts[0].namesApps && client.hasCallback(on: settings.hosts[0], among: settings.hosts))
        #expect(try self.warnings(SettingsBench.base + text) == [])
    }

    @Test(
        "what Apple and Google would not understand is refused",
        arguments: [
            "ios_app_ids: com.example.app", "ios_app_ids: abcde12345.com.example.app", "ios_app_ids: ABCDE12345.",
            "ios_app_ids: ABCDE12345.com..app", "ios_app_ids: \"ABCDE12345.com.example.*\"",
            "android_apps: [{package: app, sha256_cert_fingerprints: [\"\(fingerprint)\"]}]",
            "android_apps: [{package: com.1app, sha256_cert_fingerprints: [\"\(fingerprint)\"]}]",
            "android_apps: [{package: com.example.app, sha256_cert_fingerprints: []}]",
            "android_apps: [{package: com.example.app, sha256_cert_fingerprints: [\"14:6D\"]}]",
            "android_apps: [{package: com.example.app, sha256_cert_fingerprints: [\"\(fingerprint):00\"]}]",
            "android_apps: [{package: com.example.app}]",
            "android_apps: [{sha256_cert_fingerprints: [\"\(fingerprint)\"]}]",
            "android_apps: [{package: com.example.app, sha256_cert_fingerprints: [\"\(fingerprint)\"]}, "
                + "{package: com.example.app, sha256_cert_fingerprints: [\"\(fingerprint)\"]}]",
        ]
    )
    func refused(line: String) {
        let problems = SettingsBench().problems(adding: Self.client(Self.callback, line))
        #expect(problems.count == 1, "\(problems)")
        let name = String(line.prefix { $0 != ":" })
        #expect(problems.allSatisfy { $0.key.hasPrefix("clients[0].\(name)") && !$0.fix.isEmpty }, "\(problems)")
    }

    @Test("apps that no host names, and hosts that name none, are warned of")
    func idle() throws {
        func only(_ text: String) throws -> String {
            let warnings = try self.warnings(SettingsBench.base + text)
            try #require(warnings.count == 1, "\(warnings)")
            return warnings[0]
        }
        #expect(try only(Self.client(Self.callback, Self.ios)).hasPrefix("clients[0].ios_app_ids does nothing"))
        let elsewhere = "callbacks: [\"https://other.example.com/x\"]"
        #expect(try only(Self.client(elsewhere, Self.android)).hasPrefix("clients[0].android_apps does nothing"))
        #expect(try only("well_known: true\n" + Self.client(Self.callback)).hasPrefix("well_known is true, but no"))
    }

    @Test("a host that Apple and Google cannot ask is warned of")
    func unreachable() throws {
        let base = SettingsBench.base.replacing("https://app.example.com", with: "https://app.example.com:8443")
        let client = Self.client("callbacks: [\"https://app.example.com:8443/x\"]", Self.ios)
        let warnings = try self.warnings(base + "well_known: true\n" + client)
        #expect(warnings.map { $0.contains("only by https at port 443") } == [true], "\(warnings)")
    }

    @Test("beside hosts the key belongs to an element of hosts")
    func shorthand() {
        let text = """
            hosts: [{public_url: "https://app.example.com", endpoints: true, routes: []}]
            provider: {static: {users: [{identifier: ada, password_hash: "\(passwordHash)"}]}}
            upstream: http://127.0.0.1:3000
            well_known: true
            """
        let problems = SettingsBench().problems(text)
        #expect(problems.map(\.key) == ["well_known"], "\(problems)")
    }

    @Test(
        "a client is a native app if it says so, or if what it has is for apps alone",
        arguments: [
            ("app_type: native", true), ("app_type: spa", false), (ios, true),
            ("session_transfer: {can_create_session_transfer_token: true}", true),
            ("callbacks: [com.example.app:/x]", true), ("callbacks: [\"https://app.example.com/x\"]", false),
        ]
    )
    func native(line: String, isNative: Bool) throws {
        let settings = try #require(SettingsBench().settings(adding: Self.client(line)))
        #expect(settings.clients[0].isNativeApp == isNative)
    }
}
