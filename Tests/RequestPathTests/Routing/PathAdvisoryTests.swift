import RequestPath
import Settings
import Testing
import Vocabulary

/// Advisories of other gateways about paths, hosts and methods.
struct PathAdvisoryTests {
    @Test(
        "CVE-2026-33494, CVE-2026-34908: no spelling of a parent segment makes a protected path public",
        arguments: [
            "/public/../admin", "/public/..%2fadmin", "/public/..%2Fadmin", "/public/%2e%2e/admin",
            "/public/%2E%2e/admin",
            "/public/.%2e/admin", "/public/%2e./admin", "/public/..;/admin", "/public/..;x=1/admin",
            "/public\\..\\admin",
            "/public/%5c..%5cadmin", "/public/%5C..%5Cadmin", "/public/%252e%252e/admin",
            "/public/%252e%252e%252fadmin",
            "/public;/../admin", "/public/%2e%2e;/admin", "/public/..%3b/admin", "/public/%c0%ae%c0%ae/admin",
            "/public%2f..%2fadmin", "/public/..%00/admin", "/public/..%20/admin", "/public/%25%32%65%25%32%65/admin",
        ]
    )
    func wayUp(path: String) {
        for gate in [Gate.openPublic, Gate.protectedAdmin] {
            guard case .refused = gate.ask(path) else {
                Issue.record("\(path): \(gate.ask(path))")
                continue
            }
        }
    }

    @Test(
        "CVE-2026-33494: another spelling of a protected path is refused if other paths are public",
        arguments: [
            "/%61dmin", "/%61dmin/x", "//admin", "///admin/x", "/admin;x=1", "/;x/admin", "/;/admin/x",
            "/a%64min;v=1/x",
            "/%2561dmin", "/%2561%2564min/x", "/admin%3Bx", "/admin%253Bx", "/admin%20", "/admin%20/x", "/admin.",
            "/admin./x",
            "/admin.;x", "/admin%2E", "/%61dmin%20;x", "/admin%2Fx", "/%2Fadmin", "/admin%23x", "/admin%3Fx",
            "/admin%2523/x",
        ]
    )
    func otherSpelling(path: String) {
        guard case .refused = Gate.protectedAdmin.ask(path) else {
            Issue.record("\(path): \(Gate.protectedAdmin.ask(path))")
            return
        }
    }

    @Test(
        "A stream of a protected file or directory is refused if other paths are public",
        arguments: [
            "/admin::$DATA/x", "/admin::$DATA", "/admin::$data", "/ADMIN::$Data/x", "/admin:$I30:$INDEX_ALLOCATION/x",
            "/admin:$i30:$Index_Allocation", "/admin::$INDEX_ALLOCATION/x", "/admin:stream/x", "/admin:stream:$DATA",
            "/admin:/x", "/admin:", "/admin%3A%3A$DATA/x", "/admin%3a%24I30%3A%24INDEX_ALLOCATION/x", "/admin:%3A$DATA",
            "/%61dmin::$DATA/x", "/admin%253A:$DATA/x", "/admin.::$DATA", "/admin%20::$DATA/x", "/admin;x::$DATA/x",
            "/admin::$DATA;x/y", "/admin::$DATA.", "//admin::$DATA", "/:$I30:$INDEX_ALLOCATION/admin/x",
            "/Admin:$BITMAP", "/admin:a:b:c:d/x",
        ]
    )
    func stream(path: String) {
        guard case .refused = Gate.protectedAdmin.ask(path) else {
            Issue.record("\(path): \(Gate.protectedAdmin.ask(path))")
            return
        }
    }

    @Test(
        "Colons pass where no reading demands more, on hosts whose apps tell cases apart, and where a route names them"
    )
    func colons() {
        for path in ["/x:y", "/wiki/Special:Search", "/urn:isbn:1", "/x/admin::$DATA", "/:x", "/a%3Ab"] {
            #expect(Gate.protectedAdmin.ask(path) == .route("/**"), "\(path)")
        }
        #expect(Gate.protectedAdmin.ask("/admin/x:y") == .route("/admin/**"))
        let routes = [route("/**", .public), route("/admin/**", .required), route("/orders", .required)]
        let unix = Gate([
            HostSettings(publicURL: Gate.app, endpoints: false, caseSensitive: true, routes: routes)
        ])
        #expect(unix.ask("/admin::$DATA/x") == .route("/**") && unix.ask("/orders:export") == .route("/**"))
        let verbs = Gate(routes + [route("/orders:export", .public), route("/orders:all/**", .public)])
        #expect(verbs.ask("/orders:export") == .route("/orders:export"))
        #expect(verbs.ask("/orders%3Aexport") == .route("/orders:export"))
        #expect(verbs.ask("/orders:all/x") == .route("/orders:all/**"))
        for path in ["/orders:other", "/orders:export::$DATA", "/orders:all:x/y", "/orders::$DATA"] {
            guard case .refused = verbs.ask(path) else {
                Issue.record("\(path): \(verbs.ask(path))")
                continue
            }
        }
    }

    @Test("A path with parameters is refused if the path without them is public but the decoded path is protected")
    func readingsInBetween() {
        let gate = Gate([route("/admin/**", .required), route("/admin/x", .public)])
        #expect(gate.ask("/admin/x") == .route("/admin/x"))
        #expect(gate.ask("/%61dmin/x;y") == .refused(.pathAmbiguous))
        #expect(gate.ask("/admin/x;y") == .refused(.pathAmbiguous))
    }

    @Test(
        "oathkeeper#1269, #1134: an accepted path is forwarded byte for byte",
        arguments: [
            "/foo/", "/a%2Fb", "/a%3Ab", "/a//b", "/a/;x=1", "/%7Euser", "/a%20b", "/C%23", "/100%25", "//a",
        ]
    )
    func byteIdentical(path: String) {
        let gate = Gate([route("/**", .required) { $0.allowEncodedSlashes = true }])
        #expect(gate.ask(path) == .route("/**"))
        withReading(Array(path.utf8)) { outcome in
            guard case .read(let reading) = outcome else {
                Issue.record("refused")
                return
            }
            #expect(Array(reading.raw) == Array(path.utf8))
        }
    }

    @Test("CVE-2026-26205: //admin/x is a path, not an authority")
    func doubleSlash() {
        #expect(Gate([route("/admin/**", .required)]).ask("//admin/x") == .route("/admin/**"))
        #expect(Gate.protectedAdmin.ask("//admin/x") == .refused(.pathAmbiguous))
        #expect(Gate.openPublic.ask("//public/x") == .refused(.pathAmbiguous))
    }

    @Test("CVE-2025-54576: the query is not part of the path that is matched")
    func query() {
        let gate = Gate([route("/api/*/status", .public), route("/**", .required)])
        #expect(gate.ask("/api/private/x") == .route("/**"))
        #expect(gate.ask("/api/private/x?path=/status") == .refused(.requestTarget))
        #expect(gate.ask("/api/x%3Fpath=/status") == .refused(.pathAmbiguous))
    }

    @Test(
        "An encoded ? or # may end the path, so the segment before it is also read as the last one",
        arguments: [
            "/admin.%3F", "/admin%20%3Fx", "/admin.%23/x", "/ADMIN.%3F", "/%61dmin%2E%3Fx=y", "/x/%3F/../admin",
            "/public/..%3F", "/public/.%23x", "/public/%2E%2E%3Fx/y", "/public/..%20%3F", "/admin.%253F",
            "/public/..%253F",
        ]
    )
    func endOfName(path: String) {
        guard case .refused = Gate.protectedAdmin.ask(path) else {
            Issue.record("\(path) passes")
            return
        }
        #expect(Gate.protectedAdmin.ask("/public/x%3Fy.z") == .route("/**"))
        #expect(Gate.protectedAdmin.ask("/public/x.%3Fy") == .route("/**"))
    }

    @Test("CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment does not open a protected path")
    func fragment() {
        #expect(Gate.protectedAdmin.ask("/admin#/public") == .refused(.requestTarget))
        #expect(Gate.protectedAdmin.ask("/admin%23/public") == .refused(.pathAmbiguous))
        #expect(Gate.openPublic.ask("/admin%23/public") == .route("/**"))
        #expect(Gate.openPublic.ask("/public/C%23") == .route("/public/**"))
    }

    @Test(
        "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: all spellings of a host are one host",
        arguments: [
            "app.example.com", "APP.Example.COM", "app.example.com.", "App.Example.com.", "app.example.com:443",
            "app.example.com.:443", "app.example.com:8443",
        ]
    )
    func hostSpelling(host: String) {
        #expect(Gate.openPublic.ask("/public/x", host: host) == .route("/public/**"))
        #expect(Gate.openPublic.ask("/x", host: host) == .route("/**"))
    }

    @Test(
        "CVE-2026-48794: a name that only resembles a host is refused",
        arguments: [
            "", "example.com", "xapp.example.com", "app.example.com..", ".app.example.com", "appxexample.com", ":443",
            ".",
            "app.example.com.evil", String(repeating: "a", count: 300),
        ]
    )
    func otherHost(host: String) {
        #expect(Gate.openPublic.ask("/x", host: host) == .noHost)
    }

    @Test("A host is looked up by name and port first, then by name alone")
    func ports() {
        func host(_ name: String, _ port: Int?, _ routeName: String) -> HostSettings {
            HostSettings(
                publicURL: PublicURL(isHTTPS: true, host: name, port: port),
                endpoints: false,
                routes: [route("/**", .required) { $0.name = routeName }]
            )
        }
        let gate = Gate([
            host("a.example", nil, "plain"), host("a.example", 8443, "8443"), host("[2001:db8::1]", 8443, "six"),
            host("b.example", 1, "one"), host("b.example", 2, "two"), host("xn--bcher-kva.example", nil, "puny"),
        ])
        #expect(gate.table.findings.isEmpty)
        #expect(gate.ask("/", host: "a.example") == .route("plain"))
        #expect(gate.ask("/", host: "a.example:443") == .route("plain"))
        #expect(gate.ask("/", host: "a.example:8443") == .route("8443"))
        #expect(gate.ask("/", host: "a.example:9") == .route("plain"))
        #expect(gate.ask("/", host: "[2001:DB8::1]:8443") == .route("six"))
        #expect(gate.ask("/", host: "[2001:db8::1]") == .route("six"))
        #expect(gate.ask("/", host: "b.example:2") == .route("two"))
        #expect(gate.ask("/", host: "b.example") == .noHost)
        #expect(gate.ask("/", host: "XN--BCHER-KVA.example") == .route("puny"))
    }

    @Test("CVE-2026-27587: upper and lower case differ in paths, encoded or not")
    func pathCase() {
        let gate = Gate([route("/admin/**", .required)])
        #expect(gate.ask("/Admin") == .notFound)
        #expect(gate.ask("/%41dmin") == .notFound)
        #expect(gate.ask("/%61dmin") == .route("/admin/**"))
    }

    @Test("Patterns match the whole path, a dot matches only a dot, and no path takes long to match")
    func patterns() {
        let gate = Gate([route("/public", .public), route("/*/*/*/*/a", .public), route("/*/*/*/*/*", .required)])
        #expect(gate.ask("/xpublic") == .notFound)
        #expect(gate.ask("/publicx") == .notFound)
        #expect(gate.ask(String(repeating: "/a", count: 4000)) == .notFound)
        #expect(gate.ask("/a/a/a/a/b") == .route("/*/*/*/*/*"))
        #expect(gate.ask("/x", host: "appXexample.com") == .noHost)
    }

    @Test("Methods that no route accepts get 405")
    func methods() {
        let gate = Gate([route("/**", .required, methods: ["GET"])])
        #expect(gate.ask("/x", method: "FROBNICATE") == .methodNotAllowed("GET, HEAD"))
        #expect(Gate.openPublic.ask("/x", method: "REPORT") == .route("/**"))
    }
}
