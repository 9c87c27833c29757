import RequestPath
import Settings
import Testing
import Vocabulary

/// Servers with path information (RFC 3875 4.1.5) run `/secret.php` for `/secret.php/x`.
struct PathInfoTests {
    private static let secret = Gate([route("/**", .public), route("/secret.php", .required)])

    @Test(
        "A path that continues a protected path is refused on a weaker route, however it is spelled",
        arguments: [
            "/secret.php/x", "/secret.php/", "/secret.php/x/y", "/secret.php/x.css", "/secret.php//x",
            "/secret.php;a/x",
            "/secret.php/;a", "/secret.php;/x", "/secret.php%3Bx/y", "/%73ecret.php/x", "//secret.php/x",
            "/secret.php%20/x", "/secret.php./x", "/secret%2Ephp/x", "/%2573ecret.php/x", "/SECRET.php/x",
            "/Secret.PHP/X/", "/secret.php%3Fx/y", "/secret.php%2Fx", "/secret.php%2F",
        ]
    )
    func refused(path: String) {
        let lenient = Gate([
            route("/**", .public) { $0.allowEncodedSlashes = true },
            route("/secret.php", .required) { $0.allowEncodedSlashes = true },
        ])
        #expect(lenient.ask(path) == .refused(.pathAmbiguous))
        guard case .refused = Self.secret.ask(path) else {
            Issue.record("\(path): \(Self.secret.ask(path))")
            return
        }
    }

    @Test(
        "A path that only begins with the same letters as a protected one passes",
        arguments: ["/secret.phpx/y", "/secret/x", "/x/secret.php/y", "/secret.php-/x", "/", "/secre/t.php/x"]
    )
    func others(path: String) {
        #expect(Self.secret.ask(path) == .route("/**"))
    }

    @Test("A reading without a route also counts if it continues a protected path")
    func unroutedReadings() {
        for sensitive in [false, true] {
            let routes = [
                route("/*", .public) { $0.allowEncodedSlashes = true },
                route("/secret.php", .required) { $0.allowEncodedSlashes = true },
            ]
            let gate = Gate([
                HostSettings(publicURL: Gate.app, endpoints: false, caseSensitive: sensitive, routes: routes)
            ])
            for path in ["/secret.php%2Fx", "/secret.php%2fx/y", "/%73ecret.php%2Fx"] {
                guard case .route = gate.ask(path) else { continue }
                Issue.record("\(path) passes")
            }
            #expect(gate.ask("/other%2Fx") == .route("/*"))
        }
    }

    @Test("A path with thousands of segments and oddities is judged")
    func longPaths() {
        let deep = Gate([route("/**", .public), route("/a/*/c.php", .required), route("/*/*", .required)])
        let odd = deep.ask("/x" + String(repeating: "//;y%20/%61.", count: 650))
        #expect(odd == .refused(.pathAmbiguous))
        #expect(Self.secret.ask("/a" + String(repeating: "/a", count: 4000)) == .route("/**"))
        #expect(deep.ask("/a/b/c.php/x") == .refused(.pathAmbiguous))
    }

    @Test("The protected path itself is served, and so is its continuation on a route that is as strict")
    func served() {
        #expect(Self.secret.ask("/secret.php") == .route("/secret.php"))
        let gate = Gate([route("/**", .required), route("/open.php", .public), route("/secret.php", .required)])
        #expect(gate.ask("/secret.php/x") == .route("/**"))
        #expect(gate.ask("/open.php/x") == .route("/**"))
    }

    @Test("Every requirement on the session counts, not only whether one is needed")
    func demands() {
        let groups = Gate([
            route("/**", .required), route("/pay.php", .required) { $0.require.groupsAny = ["staff"] },
            route("/bound.php", .required) { $0.liveBinding = .ip }, route("/who.php", .optional),
        ])
        #expect(groups.ask("/pay.php/x") == .refused(.pathAmbiguous))
        #expect(groups.ask("/bound.php/x") == .refused(.pathAmbiguous))
        #expect(groups.ask("/who.php/x") == .route("/**"))
        let optional = Gate([route("/**", .public), route("/who.php", .optional)])
        #expect(optional.ask("/who.php/x") == .refused(.pathAmbiguous))
    }

    @Test("Other paths do not count as continuations of the home page")
    func homePage() {
        let gate = Gate([route("/", .required), route("/**", .public)])
        for path in ["/x", "/x/y", "//x", "/x//y"] { #expect(gate.ask(path) == .route("/**"), "\(path)") }
    }

    @Test("A route for a continuation of a protected path is followed, except for a single trailing slash")
    func ownRoutes() {
        let gate = Gate([
            route("/**", .required), route("/admin", .required) { $0.require.aal = .aal2 },
            route("/admin/login", .public), route("/admin/help/**", .public),
            route("/users/*", .required) { $0.require.aal = .aal2 },
            route("/users/*/photo", .public), route("/app", .required) { $0.require.aal = .aal2 },
            route("/app/**", .public),
        ])
        #expect(gate.ask("/admin/login") == .route("/admin/login"))
        #expect(gate.ask("/admin/help/x") == .route("/admin/help/**"))
        #expect(gate.ask("/admin/x") == .refused(.pathAmbiguous))
        #expect(gate.ask("/admin/login/x") == .refused(.pathAmbiguous))
        #expect(gate.ask("/users/7/photo") == .route("/users/*/photo"))
        #expect(gate.ask("/users/7/other") == .refused(.pathAmbiguous))
        #expect(gate.ask("/app/x") == .route("/app/**"))
        #expect(gate.ask("/app/") == .refused(.pathAmbiguous))
        // A wildcard does not count as a route for a continuation of a named path.
        let wild = Gate([route("/secret.php", .required), route("/*/x", .public), route("/*/**", .public)])
        #expect(wild.ask("/secret.php/x") == .refused(.pathAmbiguous))
        #expect(wild.ask("/secret.php/y") == .refused(.pathAmbiguous))
        #expect(wild.ask("/other.php/x") == .route("/*/x"))
    }

    @Test("If several patterns match a prefix, the most specific one decides")
    func maxSpecificPrefix() {
        let gate = Gate([route("/**", .public), route("/users/*", .required), route("/users/me", .public)])
        #expect(gate.ask("/users/me/x") == .route("/**"))
        #expect(gate.ask("/users/7/x") == .refused(.pathAmbiguous))
    }

    @Test("A method that the protected path does not accept is refused for its continuations as well")
    func methods() {
        let gate = Gate([
            route("/**", .public), route("/secret.php", .required, methods: ["GET"]),
            route("/hook.php", .public, methods: ["POST"]),
        ])
        #expect(gate.ask("/secret.php/x", method: "POST") == .refused(.pathAmbiguous))
        #expect(gate.ask("/hook.php/x") == .route("/**"))
    }

    @Test("path_info: follow judges a continuation like the protected path")
    func follow() {
        let gate = Gate([
            route("/**", .public), route("/index.php", .required) { $0.pathInfo = .follow },
            route("/get.php", .required, methods: ["GET"]) { $0.pathInfo = .follow },
        ])
        #expect(gate.ask("/index.php/a/b") == .route("/index.php"))
        #expect(gate.ask("/index.php/") == .route("/index.php"))
        #expect(gate.ask("/index.php;x/a") == .refused(.pathAmbiguous))
        #expect(gate.ask("/Index.php/a") == .refused(.pathAmbiguous))
        #expect(gate.ask("/index.phpx/a") == .route("/**"))
        #expect(gate.ask("/get.php/a") == .route("/get.php"))
        #expect(gate.ask("/get.php/a", method: "PUT") == .methodNotAllowed("GET, HEAD"))
        // Neither route is as strict as the other.
        let crossed = Gate([
            route("/**", .required) { $0.require.aal = .aal2 },
            route("/index.php", .required) {
                $0.pathInfo = .follow
                $0.require.groupsAny = ["staff"]
            },
        ])
        #expect(crossed.ask("/index.php/a") == .refused(.pathAmbiguous))
    }
}
