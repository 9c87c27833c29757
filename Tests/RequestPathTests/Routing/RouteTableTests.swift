import RequestPath
import Settings
import Testing
import Vocabulary

struct RouteTableTests {
    @Test("The most specific pattern wins, in whatever order the routes are configured")
    func specificity() {
        let routes = [
            route("/**", .required), route("/a/**", .required), route("/a/*", .required), route("/a/b", .required),
            route("/a/*/c", .required), route("/a/b/**", .required), route("/", .required),
            route("/a/b/c/d", .required),
            route("/caf\u{E9}", .required),
        ]
        for gate in [Gate(routes), Gate(routes.reversed())] {
            #expect(gate.ask("/") == .route("/"))
            #expect(gate.ask("/x") == .route("/**"))
            #expect(gate.ask("/a") == .route("/a/**"))
            #expect(gate.ask("/a/") == .route("/a/**"))
            #expect(gate.ask("/a/b") == .route("/a/b"))
            #expect(gate.ask("/a/b/") == .route("/a/b/**"))
            #expect(gate.ask("/a/x") == .route("/a/*"))
            #expect(gate.ask("/a/x/c") == .route("/a/*/c"))
            #expect(gate.ask("/a/b/c") == .route("/a/b/**"))
            #expect(gate.ask("/a/b/c/d") == .route("/a/b/c/d"))
            #expect(gate.ask("/a/x/y") == .route("/a/**"))
            #expect(gate.ask("/ab") == .route("/**"))
            #expect(gate.ask("/caf%C3%A9") == .route("/caf\u{E9}"))
        }
    }

    @Test("A table for any name has its one host for every name and for none, and no routes")
    func anyName() {
        let host = HostSettings(publicURL: Gate.app, endpoints: true, routes: [])
        let table = RouteTable(forAnyName: host)
        for name in ["app.example.com", "other.example", "192.0.2.1:9090", "[2001:db8::1]", ""] {
            #expect(table.host(named: name) === table.hosts[0], "\(name)")
        }
        #expect(table.entries.isEmpty && table.findings.isEmpty)
        #expect(RouteTable([host], upstreams: []).host(named: "other.example") == nil)
    }

    @Test("What is served at another address only is no host here, and known, in any spelling and with its port")
    func elsewhere() {
        let host = HostSettings(publicURL: Gate.app, endpoints: true, routes: [])
        let others = [PublicURL(isHTTPS: true, host: "manage.example.com", port: nil)]
        let table = RouteTable([host], upstreams: [], others: others)
        for (name, isElsewhere) in [
            ("manage.example.com", true), ("Manage.Example.com.:443", true), ("app.example.com", false),
            ("other.example", false), ("", false),
        ] {
            let found = Array(name.utf8).withUnsafeBufferPointer { table.isElsewhere($0) }
            #expect(found == isElsewhere, "\(name)")
        }
        #expect(table.host(named: "manage.example.com") == nil)
    }

    @Test("/prefix/** also matches /prefix; in all other cases a trailing slash makes another path")
    func slashAtEnd() {
        let gate = Gate([route("/admin/**", .required), route("/exact", .required), route("/slash/", .required)])
        #expect(gate.ask("/admin") == .route("/admin/**"))
        #expect(gate.ask("/admin/") == .route("/admin/**"))
        #expect(gate.ask("/administrator") == .notFound)
        #expect(gate.ask("/exact/") == .notFound)
        #expect(gate.ask("/slash") == .notFound)
        #expect(gate.ask("/slash/") == .route("/slash/"))
    }

    @Test("A trailing slash does not open a file that an exact route protects")
    func slashBehindFile() {
        let gate = Gate([route("/**", .public), route("/admin/secret.html", .required), route("/open/", .public)])
        #expect(gate.ask("/admin/secret.html/") == .refused(.pathAmbiguous))
        #expect(gate.ask("/admin/secret.html") == .route("/admin/secret.html"))
        #expect(gate.ask("/admin/other.html/") == .route("/**"))
        #expect(gate.ask("/open/") == .route("/open/"))
        // In this case the slash leads to the stricter route, which is safe.
        let closed = Gate([route("/docs", .public), route("/docs/**", .required)])
        #expect(closed.ask("/docs/") == .route("/docs/**"))
    }

    @Test(
        "A route whose path a URL can have in escapes only is reached, whatever the route above it demands",
        arguments: [
            ("/\u{FC}/**", ["/%C3%BC/x", "/%c3%bc/x", "/%C3%bc"]), ("/sp ace/**", ["/sp%20ace/x", "/sp%20ace"]),
            ("/{id}/**", ["/%7Bid%7D/x", "/%7bid%7d/x", "/{id}/x"]), ("/a|b", ["/a%7Cb", "/a|b"]),
            ("/\u{1F600}/*", ["/%F0%9F%98%80/x"]), ("/a/[x]", ["/a/%5Bx%5D", "/a/[x]"]), ("/\"q\"", ["/%22q%22"]),
            ("/caf\u{E9} bar/**", ["/caf%C3%A9%20bar/y"]), ("/<a>^`", ["/%3Ca%3E%5E%60"]),
        ]
    )
    func escapes(pattern: String, paths: [String]) {
        for (own, above) in [(AuthRequirement.required, AuthRequirement.public), (.public, .required)] {
            let gate = Gate([route(pattern, own), route("/**", above)])
            for path in paths { #expect(gate.ask(path) == .route(pattern), "\(path)") }
            #expect(gate.table.findings.isEmpty)
        }
    }

    @Test("An escape that a URL does not need is as ambiguous as before, beside one that it needs, too")
    func needlessEscapes() {
        let gate = Gate([route("/\u{FC}/admin/**", .required), route("/a@b/**", .required), route("/**", .public)])
        #expect(gate.ask("/%C3%BC/admin/x") == .route("/\u{FC}/admin/**"))
        for path in [
            "/%C3%BC/%61dmin/x", "/a%40b/x", "/%C3%BC/admi%6E", "/%C3%BC%2Fadmin", "/%C3%BC/admin;x/y",
            "/%25C3%25BC/admin/x",
        ] {
            #expect(gate.ask(path) != .route("/**") && gate.ask(path) != .route("/\u{FC}/admin/**"), "\(path)")
        }
        #expect(gate.ask("/a@b/x") == .route("/a@b/**"))
        // Nothing of it is protected.
        #expect(gate.ask("/%C3%B6/%61") == .route("/**") && gate.ask("/%FC/x") == .route("/**"))
    }

    @Test("A route of which every request would be refused is found before the first one")
    func refusedRoutes() {
        for pattern in ["/a /**", "/v1./x", "/x/y "] {
            let findings = Gate([route(pattern, .public), route("/**", .required)]).table.findings
            #expect(
                findings.contains { !$0.isError && $0.message.contains("refused with 400 path.ambiguous") },
                "\(pattern): \(findings)"
            )
        }
    }

    @Test("* matches one segment that is not empty")
    func oneSegment() {
        let gate = Gate([route("/users/*/posts", .required), route("/files/*", .required)])
        #expect(gate.ask("/users/7/posts") == .route("/users/*/posts"))
        #expect(gate.ask("/users//posts") == .notFound)
        #expect(gate.ask("/users/7/8/posts") == .notFound)
        #expect(gate.ask("/files/") == .notFound)
        #expect(gate.ask("/files/a/b") == .notFound)
        #expect(gate.ask("/files/a%20b") == .route("/files/*"))
    }

    @Test("Of routes with the same pattern the one with the method wins; GET includes HEAD")
    func methods() {
        let gate = Gate([
            route("/a", .required) { $0.name = "any" },
            route("/a", .required, methods: ["GET"]) { $0.name = "get" },
            route("/a", .required, methods: ["PROPFIND"]) { $0.name = "dav" },
            route("/b", .required, methods: ["PUT", "POST"]),
        ])
        #expect(gate.ask("/a") == .route("get"))
        #expect(gate.ask("/a", method: "HEAD") == .route("get"))
        #expect(gate.ask("/a", method: "PROPFIND") == .route("dav"))
        #expect(gate.ask("/a", method: "POST") == .route("any"))
        #expect(gate.ask("/b") == .methodNotAllowed("POST, PUT"))
        #expect(gate.ask("/b", method: "post") == .methodNotAllowed("POST, PUT"))
    }

    @Test("A route without methods takes every one but those that a route of the same path names in other letters")
    func anyMethod() {
        let gate = Gate([
            route("/a", .public), route("/a", .required, methods: ["DELETE", "M-SEARCH"]) { $0.name = "named" },
            route("/**", .public),
        ])
        for method in ["PURGE", "get", "M-SEARC", "DELETED", "x"] {
            #expect(gate.ask("/a", method: method) == .route("/a"))
            #expect(gate.ask("/b", method: method) == .route("/**"))
        }
        #expect(gate.ask("/a", method: "M-SEARCH") == .route("named"))
        for method in ["delete", "DELETe", "m-search"] {
            #expect(
                gate.ask("/a", method: method)
                    == .methodNotAllowed(
                        "DELETE, GET, HEAD, M-SEARCH, OPTIONS, PATCH, POST, PUT"
                    )
            )
            #expect(gate.ask("/b", method: method) == .route("/**"))
        }
    }

    @Test("A method without a route at the most specific path gets 405, even if less specific paths accept it")
    func methodOfNoRoute() {
        let gate = Gate([
            route("/login", .public, methods: ["POST"]), route("/**", .required),
            route("/pub/**", .public), route("/pub/admin/**", .required, methods: ["GET", "POST"]),
            route("/pub/*/x", .public, methods: ["PUT"]),
        ])
        #expect(gate.ask("/login", method: "POST") == .route("/login"))
        #expect(gate.ask("/login", method: "PUT") == .methodNotAllowed("POST"))
        #expect(gate.ask("/login") == .methodNotAllowed("POST"))
        #expect(gate.ask("/pub/admin/x", method: "DELETE") == .methodNotAllowed("GET, HEAD, POST"))
        #expect(gate.ask("/pub/admin/x", method: "PUT") == .methodNotAllowed("GET, HEAD, POST"))
        #expect(gate.ask("/pub/other", method: "DELETE") == .route("/pub/**"))
        #expect(gate.ask("/pub/other/x", method: "DELETE") == .methodNotAllowed("PUT"))
        #expect(gate.ask("/other", method: "PUT") == .route("/**"))
    }

    @Test("A method-override field is dropped where the methods of a path have different routes")
    func methodOverride() {
        let entries = Gate([
            route("/**", .public), route("/any", .required), route("/any", .public, methods: ["GET"]),
            route("/post", .required, methods: ["POST"]), route("/one/**", .required),
        ]).table.entries
        #expect(entries.map(\.dropsMethodOverride) == [false, true, true, true, false])
    }

    @Test("An encoded slash must be allowed by its route and is part of its segment")
    func encodedSlashes() {
        let gate = Gate([
            route("/projects/*", .required) { $0.allowEncodedSlashes = true }, route("/strict/**", .public),
        ])
        #expect(gate.ask("/projects/a%2Fb") == .route("/projects/*"))
        #expect(gate.ask("/projects/a%2fb") == .route("/projects/*"))
        #expect(gate.ask("/strict/a%2Fb") == .refused(.pathEncodedSlash))
        #expect(gate.ask("/projects/a%2F..%2Fb") == .refused(.pathDotSegment))
    }

    @Test(
        "Encoded slashes and backslashes and what is encoded twice pass where every reading meets the same demands",
        arguments: [
            "/job/repo/job/feature%252Fx/", "/a%252fb", "/a%255Cb", "/back%5cslash.txt", "/a%5Cb%252Fc",
            "/%5C%5Chost/x",
            "/a%25252Fb", "/%252561", "/a%5C", "/a%252F", "/%5Cb", "/api/queues/%2F/name", "/@scope%2Fname",
        ]
    )
    func sameDemandsInEveryReading(path: String) {
        #expect(Gate([route("/**", .required)]).ask(path) == .route("/**"))
        // Two apps, and the same of the user.
        let apps = Gate([route("/**", .required), route("/a/**", .required), route("/a", .required)])
        #expect(apps.ask(path) == .route("/**"))
        for hidden in [
            "/x/%252e%252e/admin", "/x/%255C..%255Cadmin", "/x%5C..%5Cadmin", "/x%25252f..%25252fadmin",
            "/x%2F..%2Fadmin",
        ] {
            guard case .refused = apps.ask(hidden) else {
                Issue.record("\(hidden): \(apps.ask(hidden))")
                continue
            }
        }
    }

    @Test(
        "Where routes differ, encoded backslashes and what is encoded twice pass if no reading leads to other demands",
        arguments: [
            ("/job/repo/job/feature%252Fx/", nil), ("/back%5Cslash.txt", nil), ("/x%255Cy", nil), ("/x%252Fadmin", nil),
            ("/x%5Cadmin", nil), ("/admin%5Cx", .pathBackslash), ("/admin%5C", .pathBackslash),
            ("/%5Cadmin", .pathBackslash), ("/%5C%5Cadmin%5Cx", .pathBackslash), ("/ADMIN%5cx", .pathBackslash),
            ("/admin%255Cx", .pathBackslash), ("/%61dmin%5Cx", .pathBackslash), ("/admin%252Fx", .pathDoubleEncoding),
            ("/admin%252f", .pathDoubleEncoding), ("/%252Fadmin", .pathDoubleEncoding),
            ("/%2561dmin%252Fx", .pathDoubleEncoding), ("/Admin%252Fx", .pathDoubleEncoding),
            ("/admin.%252Fx", .pathDoubleEncoding), ("/admin%20%5Cx", .pathBackslash),
            ("/admin%253Bx%252Fy", .pathDoubleEncoding), ("/x%25252Fy", .pathDoubleEncoding),
            ("/%252561dmin", .pathDoubleEncoding), ("/x/%252e%252e/admin", .pathDoubleEncoding),
            ("/x%252f%252e%252e%252fadmin", .pathDoubleEncoding), ("/x%5C..%5Cadmin", .pathDotSegment),
        ] as [(String, Reason?)]
    )
    func otherDemandsInSomeReading(path: String, reason: Reason?) {
        #expect(Gate.protectedAdmin.ask(path) == reason.map { .refused($0) } ?? .route("/**"))
    }

    @Test("An encoded slash that an app may take for a separator must not lead past a protected route")
    func encodedSlashAmbiguity() {
        let gate = Gate([
            route("/**", .public) { $0.allowEncodedSlashes = true },
            route("/admin/**", .required) { $0.allowEncodedSlashes = true },
        ])
        #expect(gate.ask("/admin%2Fx") == .refused(.pathAmbiguous))
        #expect(gate.ask("/x/%2Fadmin") == .route("/**"))
        #expect(gate.ask("/%2Fadmin") == .refused(.pathAmbiguous))
        // If the path is decoded first and then cut at the semicolon, it is //admin.
        #expect(gate.ask("/;%2Fadmin") == .refused(.pathAmbiguous))
    }

    @Test("Routes are ambiguous only if their requirements differ, not if their apps differ")
    func sameDemands() {
        let hosts = [
            HostSettings(
                publicURL: Gate.app,
                endpoints: false,
                routes: [route("/**", .required), route("/api/**", .required) { $0.upstream = "other" }]
            )
        ]
        let table = RouteTable(hosts, upstreams: ["app", "other"])
        #expect(table.findings.isEmpty)
        #expect(table.entries.map(\.upstreamIndex) == [0, 1])
        #expect(table.entries[0].demands == table.entries[1].demands)
        #expect(Gate([route("/**", .required), route("/api/**", .required)]).ask("//api/x") == .route("/api/**"))
    }

    @Test("A servlet session id in the path does no harm")
    func servletSession() {
        let gate = Gate([route("/app/page", .required), route("/static/**", .public)])
        #expect(gate.ask("/app/page;jsessionid=0A1B") == .route("/app/page"))
        #expect(gate.ask("/static/a.css;jsessionid=0A1B") == .route("/static/**"))
    }

    @Test("If routes differ, a path with more oddities than ordinary paths have is refused")
    func tooManyOddities() {
        let path = "/a%20;x//b%3By%23/%2541/c."
        #expect(Gate.protectedAdmin.ask(path) == .refused(.pathAmbiguous))
        #expect(Gate([route("/**", .public)]).ask(path) == .route("/**"))
    }

    @Test("A long path that consists of oddities is answered")
    func longPath() {
        let path = "/" + String(repeating: "%61;//.x%20/", count: 600)
        #expect(Gate.protectedAdmin.ask(path) == .route("/**"))
    }

    @Test("The data that a route needs for each request is prepared")
    func readyMade() {
        let table = RouteTable(
            [
                HostSettings(
                    publicURL: PublicURL(isHTTPS: true, host: "a.example", port: 8443),
                    endpoints: true,
                    routes: [
                        route("/**", .required) {
                            $0.hostHeader = "inner"
                            $0.require.aal = .aal2
                            $0.maxBody = 5
                        },
                        route("/client/**", .required),
                    ]
                )
            ],
            upstreams: ["app"],
            replacesAuthorization: true
        )
        let entry = table.entries[0]
        #expect(entry.lines == Array("Host: inner\r\n".utf8))
        #expect(table.entries[1].lines == Array("Host: a.example:8443\r\n".utf8))
        #expect(entry.hasRequirements)
        #expect(entry.replacesAuthorization)
        #expect(entry.maxBody == 5)
        #expect(
            String(decoding: table.hosts[0].forwardedLines, as: UTF8.self)
                == "X-Forwarded-Host: a.example:8443\r\nX-Forwarded-Proto: https\r\n"
        )
        #expect(table.hosts[0].servesSignIn)
    }
}

struct RouteFindingTests {
    private func errors(_ routes: [RouteSettings]) -> [String] {
        Gate(routes).table.findings.filter(\.isError).map(\.message)
    }

    @Test("Two routes for the same requests are an error, in either order")
    func duplicates() {
        #expect(self.errors([route("/a/**", .required), route("/a/**", .public)]).count == 1)
        #expect(
            self.errors([route("/a", .public, methods: ["GET"]), route("/a", .public, methods: ["HEAD"])]).count == 1
        )
        #expect(self.errors([route("/a", .public, methods: ["GET"]), route("/a", .public, methods: ["PUT"])]).isEmpty)
        #expect(self.errors([route("/a", .public, methods: ["GET"]), route("/a", .required)]).isEmpty)
        #expect(self.errors([route("/a", .public), route("/a/**", .required), route("/a/*", .public)]).isEmpty)
    }

    @Test(
        "Patterns that can never match are errors",
        arguments: [
            "a", "", "/a/../b", "/./a", "/a//b", "/**/a", "/a*", "/*.html", "/a;x", "/a%20b", "/a?b", "/a#b", "/a\\b",
            "/.sallyport", "/.sallyport/login", "/.sallyport/**", "/a\u{0}",
        ]
    )
    func impossiblePatterns(path: String) {
        #expect(self.errors([route(path, .required)]).count == 1)
    }

    @Test("Unknown upstreams, duplicate hosts and invalid methods are errors")
    func otherErrors() {
        #expect(self.errors([route("/a", .required) { $0.upstream = "nowhere" }]).count == 1)
        for method in ["CONNECT", "TRACE", "Trace", "get", "", "GE T"] {
            #expect(self.errors([route("/a", .required, methods: [method])]).count == 1, "\(method)")
        }
        let host = HostSettings(publicURL: Gate.app, endpoints: false, routes: [route("/**", .required)])
        #expect(Gate([host, host]).table.findings.filter(\.isError).count == 1)
    }

    private func warnings(_ routes: [RouteSettings], caseSensitive: Bool = false) -> [RouteFinding] {
        let host = HostSettings(publicURL: Gate.app, endpoints: false, caseSensitive: caseSensitive, routes: routes)
        return Gate([host]).table.findings.filter { !$0.isError }
    }

    @Test("A warning is given for a spelling of a protected path that really passes, and for no other")
    func spellings() {
        #expect(self.warnings([route("/admin", .required), route("/**", .public)]).isEmpty)
        #expect(Gate.protectedAdmin.table.findings.isEmpty)
        #expect(self.warnings([route("/admin", .required), route("/**", .required)]).isEmpty)
        let slash = self.warnings([route("/admin", .required), route("/admin/", .public), route("/**", .required)])
        #expect(slash.map(\.route) == ["/admin"])
        #expect(slash.first?.message == "an app may take /admin/ for this path, but route /admin/ demands less")
        let below = self.warnings([route("/a.php", .required), route("/a.php/**", .public)])
        #expect(below.first?.message == "an app may take /a.php/x for this path, but route /a.php/** demands less")
        #expect(
            self.warnings([route("/dir/", .required), route("/**", .public)]).first?.message.contains("/dir ") == true
        )
        // Patterns with `*`, spaces and letters beyond ASCII are tried as paths.
        #expect(self.warnings([route("/users/*", .required), route("/**", .public)]).isEmpty)
        #expect(self.warnings([route("/caf\u{E9} bar", .required), route("/**", .public)]).isEmpty)
    }

    @Test("With case_sensitive: true one warning says what depends on the apps")
    func caseSensitive() {
        let findings = self.warnings(
            [route("/admin/**", .required), route("/secret", .required), route("/**", .public)],
            caseSensitive: true
        )
        #expect(findings.count == 1)
        #expect(findings.first?.message.contains("/ADMIN/EXAMPLE comes to route /**") == true)
        #expect(self.warnings([route("/**", .required)], caseSensitive: true).isEmpty)
    }

    @Test(
        "Two routes that differ only in letter case and in their requirements are an error, unless case_sensitive is set"
    )
    func lettersAlone() {
        #expect(self.errors([route("/Admin/**", .required), route("/admin/**", .public)]).count == 1)
        #expect(self.errors([route("/Caf\u{C9}", .required), route("/caf\u{E9}", .public)]).count == 1)
        #expect(self.errors([route("/A", .required), route("/a", .public, methods: ["GET"])]).count == 1)
        #expect(
            self.errors([route("/A", .required, methods: ["PUT"]), route("/a", .public, methods: ["GET"])]).isEmpty
        )
        #expect(self.errors([route("/Img/**", .public), route("/img/**", .public), route("/**", .required)]).isEmpty)
        let host = HostSettings(
            publicURL: Gate.app,
            endpoints: false,
            caseSensitive: true,
            routes: [route("/Admin", .required), route("/admin", .public)]
        )
        let gate = Gate([host])
        #expect(gate.table.findings.allSatisfy { !$0.isError })
        #expect(gate.ask("/Admin") == .route("/Admin"))
        #expect(gate.ask("/admin") == .route("/admin"))
    }
}
