import AddressIntelligence
import Settings
import Testing

/// Set-ups that would start and silently protect less than their settings say.
@Suite("Set-ups that are refused or cause a warning")
struct SetUpTests {
    private static let web = "clients: [{client_id: web, session_transfer: {"
    private static let methods = "allowed_authentication_methods: [query]"

    /// A client that consumes tokens on the one route, with what else stands in its `session_transfer`.
    private static func client(_ more: String = "") -> String {
        "\(self.web)\(self.methods)\(more)}}]\nroutes: [{path: /**, client: web}]\n"
    }

    private func warnings(adding text: String, flags: InsecureFlags = InsecureFlags()) throws -> [String] {
        try SettingsBench(flags: flags).load(SettingsBench.base + text).get().warnings
    }

    // MARK: auth and what it demands

    @Test(
        "a demand on a route without required sign-in is refused where it is written, and the advice keeps the demand",
        arguments: ["optional", "public"],
        ["require: {groups_any: [admins]}", "binding: ip"]
    )
    func demandsNeedRequired(auth: String, demand: String) {
        let problems = SettingsBench().problems(
            adding: "routes:\n  - path: /admin/**\n    auth: \(auth)\n    \(demand)\n"
        )
        let problem = problems.first
        #expect(problems.count == 1 && problem?.line == 11 && problem?.column == 14, "\(problems)")
        #expect(problem?.found.contains("auth: \(auth)") == true, "\(problems)")
        #expect(problem?.allowed.hasSuffix("where auth is required") == true, "\(problems)")
        #expect(problem?.fix.hasPrefix("write auth: required, ") == true, "\(problems)")
        #expect(problem?.description.contains("optional or") == false && problem?.fix.contains("remove it") == false)
    }

    @Test("an optional route may set the answer without a session, and no binding")
    func optionalRoutes() {
        let text = "routes: [{path: /**, auth: optional, unauthenticated: login, binding: none}]\n"
        #expect(SettingsBench().problems(adding: text).isEmpty)
    }

    @Test(
        "the advice for an unknown rule is never to remove it",
        arguments: [
            ("groups", "write groups_any: [...]"), ("group", "write groups_any: [...]"),
            ("scope", "did you mean scopes?"),
            ("roles", "write groups_any: [...]"), ("users", "write groups_any: [...]"),
            ("path", "write one of these keys"),
        ]
    )
    func unknownRules(name: String, fix: String) {
        let problems = SettingsBench().problems(adding: "routes: [{require: {\(name): [admins]}}]\n")
        #expect(problems.count == 1 && problems.first?.key == "routes[0].require.\(name)")
        #expect(problems.first?.fix.hasPrefix(fix) == true, "\(problems)")
        #expect(problems.first?.allowed.contains("groups_any") == true)
    }

    @Test("two routes that take the same request are reported with both places")
    func twinRoutes() {
        for (one, other) in [("", ""), (", methods: [GET, POST]", ", methods: [POST]")] {
            let text = "routes:\n  - {path: /a/**\(one)}\n  - {auth: public, path: /a/**\(other)}\n"
            let problems = SettingsBench().problems(adding: text)
            #expect(problems.map(\.key) == ["routes[1].path"] && problems.first?.line == 10, "\(problems)")
            #expect(problems.first?.fix.hasSuffix("\(SettingsBench.path):9:12") == true, "\(problems)")
        }
        let apart = "routes: [{path: /a}, {path: /a, methods: [GET]}, {path: /a, methods: [PUT]}, {path: /b}]\n"
        #expect(SettingsBench().problems(adding: apart).isEmpty)
    }

    // MARK: A proxy that trusted_proxies does not name

    @Test("https without trusted_proxies causes a warning")
    func unnamedProxyIsWarnedOf() throws {
        let warnings = try self.warnings(adding: "")
        #expect(warnings.count == 1 && warnings.first?.contains("trusted_proxies is empty") == true, "\(warnings)")
        #expect(try self.warnings(adding: "trusted_proxies: [127.0.0.1]\n").isEmpty)
        #expect(try self.warnings(adding: "trusted_proxies: []\n").count == 1)
        let plain = SettingsBench.base.replacing("https://app.example.com", with: "http://localhost:8080")
        #expect(
            try SettingsBench().load(plain + Self.client()).get().warnings.isEmpty,
            "no proxy is needed for plain http"
        )
    }

    @Test(
        "a binding that an unnamed proxy would make useless is refused where it is written, unless its flag accepts it",
        arguments: [
            "", "listen: \"10.1.2.3:8080\"\n", "listen: \"[fd00::1]:8080\"\n", "listen: \":8080\"\n",
            "listen: 0.0.0.0:8080\n",
        ]
    )
    func voidBindingIsRefused(listen: String) throws {
        let users = InsecureFlags(staticUsers: true)
        let source = "asn: {csv: /etc/sallyport/ca.pem}\n"
        for mode in ["ip", "asn", "ip_dual_stack", "ip_or_asn"] {
            let text = listen + source + Self.client(", enforce_device_binding: \(mode)")
            let problems = SettingsBench(flags: users).problems(adding: text)
            #expect(problems.map(\.key) == ["clients[0].session_transfer.enforce_device_binding"], "\(problems)")
            #expect(problems.first?.line == (listen.isEmpty ? 9 : 10), "\(problems)")
            #expect(problems.first?.fix.contains("--insecure-unnamed-proxy") == true)
            #expect(SettingsBench(flags: users).problems(adding: text + "trusted_proxies: [127.0.0.1]\n").isEmpty)
            let accepted = try self.warnings(
                adding: text,
                flags: InsecureFlags(staticUsers: true, unnamedProxy: true)
            )
            #expect(accepted.contains { $0.hasPrefix("--insecure-unnamed-proxy:") }, "\(accepted)")
        }
        // The default is a binding as well.
        let byDefault = SettingsBench(flags: users).problems(adding: listen + Self.client())
        #expect(byDefault.map(\.key) == ["clients[0].session_transfer.enforce_device_binding"])
        let live = listen + "routes: [{path: /a, auth: public}, {path: /**, binding: ip}]\n"
        #expect(SettingsBench(flags: users).problems(adding: live).map(\.key) == ["routes[1].binding"])
    }

    @Test("a client without a binding, and one that only counts, are accepted")
    func harmlessBindings() throws {
        for more in [", enforce_device_binding: none", ", binding_dry_run: true"] {
            #expect(try self.warnings(adding: Self.client(more)).count == 1)
        }
        // A client that mints and does not consume, and one whose tokens no route takes.
        #expect(try self.warnings(adding: Self.web + "can_create_session_transfer_token: true}}]\n").count == 1)
        #expect(try self.warnings(adding: "\(Self.web)\(Self.methods)}}]\n").count == 1)
        // A public address is usually not reached through a proxy: a warning is enough.
        let open = "listen: 203.0.113.5:8080\n" + Self.client()
        let warnings = try self.warnings(adding: open, flags: InsecureFlags(staticUsers: true))
        #expect(warnings.contains { $0.contains("trusted_proxies is empty") }, "\(warnings)")
    }

    // MARK: Listeners

    @Test(
        "two listeners that the system would not bind together are refused",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8080"), (":8080", "127.0.0.1:8080"), ("127.0.0.1:8080", ":8080"),
            ("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:8080", "127.0.0.1:8080"), ("[::]:8080", "0.0.0.0:8080"),
            ("[::1]:8080", "[0:0::1]:8080"), ("[::ffff:127.0.0.1]:8080", "127.0.0.1:8080"), (":8080", "[::1]:8080"),
        ]
    )
    func overlappingListeners(one: String, other: String) {
        let bench = SettingsBench(flags: InsecureFlags(staticUsers: true))
        let both = "listen: \"\(one)\"\nadmin: {listen: \"\(other)\"}\n"
        let problems = bench.problems(adding: both)
        #expect(problems.map(\.key) == ["admin.listen"] && problems.first?.line == 9, "\(problems)")
        #expect(problems.first?.fix.contains("another port") == true)
        let list = bench.problems(adding: "listen: [\"\(one)\", \"\(other)\"]\n")
        #expect(list.map(\.key) == ["listen[1]"], "\(list)")
    }

    @Test(
        "listeners that can be bound together are accepted",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:9090"), ("0.0.0.0:8080", "[::1]:8080"), ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:8080", "127.0.0.2:8080"), ("127.0.0.1:8080", "[::1]:8080"), (":0", "127.0.0.1:0"),
        ]
    )
    func separateListeners(one: String, other: String) {
        let bench = SettingsBench(flags: InsecureFlags(staticUsers: true))
        #expect(bench.problems(adding: "listen: \"\(one)\"\nadmin: {listen: \"\(other)\"}\n").isEmpty)
    }

    @Test("the admin listener's default counts as well")
    func defaultAdminListener() {
        let problems = SettingsBench(flags: InsecureFlags(staticUsers: true)).problems(adding: "listen: \":9090\"\n")
        #expect(problems.map(\.key) == ["admin.listen"] && problems.first?.line == 8, "\(problems)")
        #expect(problems.first?.found.contains("127.0.0.1:9090 (the default)") == true)
    }

    // MARK: The address of the admin listener

    @Test("the admin address is known without the rest of the settings")
    func adminAddress() throws {
        func address(_ text: String?, _ environment: [String: String] = [:]) throws -> String? {
            var files: [String: [UInt8]] = [:]
            files[SettingsBench.path] = text.map { Array($0.utf8) }
            let known = files
            let source = SettingsFiles(
                read: { path, _ throws(SettingsFiles.Fault) in
                    guard let bytes = known[path] else { throw SettingsFiles.Fault("no such file") }
                    return bytes
                },
                isReadable: { known[$0] != nil }
            )
            let file = text == nil ? nil : SettingsBench.path
            return try SettingsLoader.adminListener(file: file, environment: environment, files: source)
                .map {
                    ($0.listener.isSecure ? "TLS " : "")
                        + ([$0.listener.address.description] + $0.certificateFiles).joined(separator: " ")
                }
        }
        #expect(try address(nil) == "127.0.0.1:9090")
        #expect(try address("nonsense: [1]\nlisten: nowhere\n") == "127.0.0.1:9090")
        #expect(try address("admin: {listen: \"127.0.0.1:7000\"}\nsecret_file: /missing\n") == "127.0.0.1:7000")
        let secure =
            "admin: {listen: {address: \":7000\", tls: true}}\ntls: {certificate_file: a.pem, min_version: odd}\n"
        #expect(try address(secure) == "TLS :7000 /etc/sallyport/a.pem")
        #expect(throws: SettingsFailure.self) { try address("admin: {listen: {tls: true}}\n") }
        #expect(try address("admin: {listen: \":7000\"}\n", ["SALLYPORT_ADMIN_LISTEN": "[::1]:1"]) == "[::1]:1")
        // The variable is enough, even if the file cannot be read.
        let variables = ["SALLYPORT_ADMIN_LISTEN": ":9091", "SALLYPORT_CONFIG": "/missing", "SALLYPORT_ODD": "x"]
        #expect(try address(nil, variables) == ":9091")
        #expect(throws: SettingsFailure.self) { try address(nil, ["SALLYPORT_CONFIG": "/missing"]) }
        #expect(throws: SettingsFailure.self) { try address("admin: {listen: nowhere}\n") }
        #expect(throws: SettingsFailure.self) { try address(nil, ["SALLYPORT_ADMIN_LISTEN": "nowhere"]) }
    }

    @Test(
        "a long variable name is refused with the shorter name of its key",
        arguments: [
            ("SALLYPORT_STORE_REDIS_URL", "SALLYPORT_REDIS_URL"),
            ("SALLYPORT_STORE_REDIS_URL_FILE", "SALLYPORT_REDIS_URL_FILE"),
            ("SALLYPORT_PROVIDER_STATIC_USERS_FILE", "SALLYPORT_USERS_FILE"),
        ]
    )
    func shorterVariables(name: String, known: String) {
        let problems = SettingsBench(environment: [name: "x"]).problems(adding: "")
        #expect(problems.count == 1 && problems.first?.fix.hasSuffix(" is \(known)") == true, "\(problems)")
    }
}
