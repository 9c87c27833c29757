import Settings
import Testing

@Suite("What a route changes for its app")
struct RouteChangesTests {
    private static func route(_ text: String) -> RouteSettings? {
        SettingsBench().settings(adding: "routes: [{\(text)}]\n")?.hosts[0].routes[0]
    }

    @Test("prefixes and fields are kept as they are written")
    func read() throws {
        let route = try #require(
            Self.route(
                "path: /app/**, strip_prefix: /app, add_prefix: /v2/x, request_headers: {set: {X-A: b c}, remove: [X-D]}, response_headers: {remove: Server}"
            )
        )
        #expect(route.stripPrefix == "/app" && route.addPrefix == "/v2/x")
        #expect(route.requestHeaders == FieldChanges(set: [.init(name: "X-A", value: "b c")], remove: ["X-D"]))
        #expect(route.responseHeaders == FieldChanges(remove: ["Server"]))
        let plain = try #require(Self.route("path: /app/**"))
        #expect(plain.stripPrefix == nil && plain.addPrefix == nil && plain.requestHeaders.isEmpty)
    }

    @Test("a route has an encoding of identity fields of its own only where it differs from that of all")
    func encodings() throws {
        func encodings(_ more: String) throws -> [IdentitySettings.Encoding?] {
            let routes =
                "routes: [{path: /a}, {path: /b, identity_encoding: utf8}, {path: /c, identity_encoding: percent}]\n"
            let settings = SettingsBench().settings(adding: routes + more)
            return try #require(settings).hosts[0].routes.map(\.identityEncoding)
        }
        #expect(try encodings("") == [nil, .utf8, nil])
        #expect(try encodings("identity: {encoding: utf8}\n") == [nil, nil, .percent])
        #expect(SettingsBench().problems(adding: "routes: [{path: /a, identity_encoding: latin1}]\n").count == 1)
    }

    @Test(
        "a route's path begins with its prefix, which has one spelling only",
        arguments: [
            ("path: /app, strip_prefix: /app", nil), ("path: /app/*/x, strip_prefix: /app", nil),
            ("path: /a/b/**, strip_prefix: /a/b", nil), ("path: /**, add_prefix: /v2", nil),
            ("path: /**, strip_prefix: /app", "strip_prefix"), ("path: /apple/**, strip_prefix: /app", "strip_prefix"),
            ("path: /*/app/**, strip_prefix: /x", "strip_prefix"),
            ("strip_prefix: /app, path: /App/**", "strip_prefix"),
            ("path: /app/**, strip_prefix: /app/", "strip_prefix"), ("path: /**, strip_prefix: /", "strip_prefix"),
            ("path: /a/**, strip_prefix: a", "strip_prefix"), ("path: /a//b/**, strip_prefix: /a", "path"),
            ("path: /a/**, add_prefix: /b//c", "add_prefix"), ("path: /a/**, add_prefix: /b/../c", "add_prefix"),
            ("path: /a/**, add_prefix: '/b%2F'", "add_prefix"), ("path: /a/**, add_prefix: '/b?c'", "add_prefix"),
            ("path: /a/**, add_prefix: '/b c'", "add_prefix"), ("path: /a/**, add_prefix: '/\u{E4}'", "add_prefix"),
            ("path: /a/**, add_prefix: http://b/", "add_prefix"), ("path: /a/**, add_prefix: ''", "add_prefix"),
        ] as [(String, String?)]
    )
    func prefixes(text: String, key: String?) {
        let problems = SettingsBench().problems(adding: "routes: [{\(text)}]\n")
        #expect(problems.map(\.key) == [key].compactMap { $0.map { "routes[0].\($0)" } }, "\(problems)")
    }

    @Test(
        "a field's value is one line of visible characters, and each field is named once",
        arguments: [
            ("set: {X-A: ''}", "set.X-A"), ("set: {X-A: \"a\\r\\nX-B: c\"}", "set.X-A"),
            ("set: {X-A: ' b'}", "set.X-A"),
            ("set: {X-A: '\u{E4}'}", "set.X-A"), ("set: {'X A': b}", "set"), ("set: [X-A]", "set"),
            ("remove: ['X-A: b']", "remove[0]"), ("set: {X-A: b}, remove: [x-a]", nil),
            ("remove: [X-A, x-A]", nil), ("set: {X-A: b, x_a: c}", nil), ("set: {X-A: b}, remove: [X.a]", nil),
            ("remove: [x_a, x-a]", nil),
            ("set: {':path': b}", "set"), ("remove: [':authority']", "remove[0]"),
        ] as [(String, String?)]
    )
    func fields(text: String, key: String?) {
        for section in ["request_headers", "response_headers"] {
            let problems = SettingsBench().problems(adding: "routes: [{path: /**, \(section): {\(text)}}]\n")
            let place = "routes[0].\(section)" + (key.map { ".\($0)" } ?? "")
            #expect(problems.count == 1 && problems[0].key.hasPrefix(place), "\(problems)")
        }
    }

    @Test("the client's address is the whole value of a field of requests")
    func address() throws {
        let text = "path: /**, request_headers: {set: {X-Real-IP: '{client_address}', X-A: '{client}'}}"
        let fields = try #require(Self.route(text)).requestHeaders.set
        #expect(fields.map(\.isClientAddress) == [true, false])
        for changes in [
            "request_headers: {set: {X-Real-IP: '{client_address}:80'}}",
            "request_headers: {set: {X-Real-IP: 'for={client_address}'}}",
            "response_headers: {set: {X-Real-IP: '{client_address}'}}",
        ] {
            let problems = SettingsBench().problems(adding: "routes: [{path: /**, \(changes)}]\n")
            #expect(problems.map(\.found) == ["{client_address} in the value of X-Real-IP"], "\(problems)")
        }
    }

    @Test("a field's value may be in a file, without its line end, and a reload reads it again")
    func secretFields() throws {
        var bench = SettingsBench()
        func values(_ content: String) throws -> [FieldChanges.Field] {
            bench.files["/etc/sallyport/app.secret"] = Array(content.utf8)
            let text = "routes: [{path: /**, request_headers: {set: {X-A: b}, set_file: {X-Secret: app.secret}}}]\n"
            return try bench.load(SettingsBench.base + text).get().settings.hosts[0].routes[0].requestHeaders.set
        }
        #expect(try values("\(canary)\n") == [.init(name: "X-A", value: "b"), .init(name: "X-Secret", value: canary)])
        #expect(try values("two words\r\n").last == .init(name: "X-Secret", value: "two words"))
        bench.openToAll = ["/etc/sallyport/app.secret"]
        bench.files["/etc/sallyport/app.secret"] = Array(canary.utf8)
        let loaded = try bench.load(
            SettingsBench.base + "routes: [{path: /**, request_headers: {set_file: {X-Secret: app.secret}}}]\n"
        ).get()
        #expect(loaded.warnings.contains { $0.hasPrefix("routes[0].request_headers.set_file.X-Secret: every user") })
    }

    @Test(
        "a file that is missing, or whose content no field can have, is reported where it is written, and never shown",
        arguments: [
            "\(canary)\nX-B: c", "\(canary)\u{0}", "\(canary)\n\n", " \(canary)", "\(canary)\u{E4}", "", "\n", nil,
        ]
            as [String?]
    )
    func faultySecretFiles(content: String?) {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/app.secret"] = content.map { Array($0.utf8) }
        let problems = bench.problems(
            adding: "routes: [{path: /**, request_headers: {set_file: {X-Secret: app.secret}}}]\n"
        )
        #expect(problems.map(\.key) == ["routes[0].request_headers.set_file.X-Secret"], "\(problems)")
        #expect(!SettingsFailure(problems).description.contains(canary), "\(problems)")
    }

    @Test(
        "what a route sets for its app is never shown, whether it is written in the settings or in a file, and right or wrong",
        arguments: [
            "set: {X-Secret: \(canary)}", "set_file: {X-Secret: app.secret}", "set_file: {X-Secret: \(canary)}",
            "set: {X-Secret: \"\(canary)\\n\"}", "set: {X-Secret: [\(canary)]}", "set: {X-Secret: {a: \(canary)}}",
            "set: {X-Secret: \(canary), x_secret: \(canary)}", "set: {X-Secret: '\(canary)\u{E4}'}", "set: \(canary)",
            "set: {Host: \(canary)}", "set: {X-Secret: \(canary), X-Secret: \(canary)}", "set: {'X Y': \(canary)}",
        ]
    )
    func neverShown(text: String) {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/app.secret"] = Array(canary.utf8)
        bench.judges.routeField = { change, _ in change.name == "Host" ? "which the key host sets" : nil }
        let changes = "routes: [{path: /**, request_headers: {\(text)}}]\n"
        switch bench.load(SettingsBench.base + changes) {
        case .success(let loaded):
            for changedOnly in [true, false] {
                let told = loaded.describe(changedOnly: changedOnly)
                #expect(told.contains("request_headers") && !told.contains(canary), "\(told)")
            }
            #expect(!loaded.warnings.joined().contains(canary))
        case .failure(let failure): #expect(!failure.description.contains(canary), "\(failure)")
        }
    }

    @Test("fields of the gateway's own are refused by whoever knows them, where they are written")
    func own() {
        var judges = SettingsJudges()
        judges.routeField = { change, _ in
            change.name.hasPrefix("X-Own") ? "which is \(change.isSet) \(change.isOfRequest)" : nil
        }
        let text =
            "routes: [{path: /**, request_headers: {set: {X-Own: a, X-Free: b}}, response_headers: {remove: [X-Free, X-Own-2]}}]\n"
        var bench = SettingsBench()
        bench.judges = judges
        let problems = bench.problems(adding: text)
        #expect(
            problems.map { "\($0.key): \($0.found)" } == [
                "routes[0].request_headers.set.X-Own: X-Own, which is true true",
                "routes[0].response_headers.remove: X-Own-2, which is false false",
            ]
        )
    }

    @Test("without an app there is nobody whose requests could be changed")
    func withoutApp() {
        let text = """
            public_url: https://app.example.com
            authorization: {listen: "127.0.0.1:9000", peers: [127.0.0.1/32]}
            provider: {static: {users: []}}
            routes: [{path: /app/**, strip_prefix: /app, response_headers: {remove: [Server]}}]
            """
        let keys = SettingsBench().problems(text).map(\.key)
        #expect(keys.contains("routes[0].strip_prefix") && keys.contains("routes[0].response_headers"), "\(keys)")
    }
}
