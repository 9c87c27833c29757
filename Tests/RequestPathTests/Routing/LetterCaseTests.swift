import RequestPath
import Settings
import Testing
import Vocabulary

/// Some servers (IIS, ASP.NET, Express, file systems of Windows and macOS) serve `/admin` for `/Admin`.
struct LetterCaseTests {
    private static func gate(caseSensitive: Bool = false, _ routes: RouteSettings...) -> Gate {
        Gate([HostSettings(publicURL: Gate.app, endpoints: false, caseSensitive: caseSensitive, routes: routes)])
    }

    @Test(
        "A path that differs only in case from a stricter route's path is refused, encoded or not",
        arguments: [
            "/Admin", "/ADMIN/x", "/aDmin/", "/%41dmin/x", "/adm%49n/x", "//Admin/x", "/Admin;x/y", "/;/ADMIN",
            "/Admin%20/x",
            "/%2541dmin/x", "/Admin./x", "/adm%C4%B1n/x", "/ADM%C4%B0N/x",
        ]
    )
    func refused(path: String) {
        guard case .refused = Gate.protectedAdmin.ask(path) else {
            Issue.record("\(path): \(Gate.protectedAdmin.ask(path))")
            return
        }
    }

    @Test("Other paths with capitals, and the path itself, pass")
    func others() {
        #expect(Gate.protectedAdmin.ask("/admin/X") == .route("/admin/**"))
        #expect(Gate.protectedAdmin.ask("/Administrator/X") == .route("/**"))
        #expect(Gate.protectedAdmin.ask("/README.md") == .route("/**"))
        #expect(Gate.protectedAdmin.ask("/%E6%97%A5/X") == .route("/**"))
        #expect(Gate.protectedAdmin.ask("/%FF/X") == .route("/**"))
    }

    @Test("A route that is stricter than the route of the folded path serves the request")
    func stricter() {
        // /Public does not match /public/**, so it needs a session, and nothing is opened.
        #expect(Gate.openPublic.ask("/Public/x") == .route("/**"))
    }

    @Test("Capitals in the pattern make no difference")
    func patternWithCapitals() {
        let gate = Self.gate(route("/**", .public), route("/Reports/Secret", .required))
        #expect(gate.ask("/Reports/Secret") == .route("/Reports/Secret"))
        #expect(gate.ask("/reports/secret") == .refused(.pathAmbiguous))
        #expect(gate.ask("/REPORTS/SECRET") == .refused(.pathAmbiguous))
        #expect(gate.ask("/reports/secret/x") == .refused(.pathAmbiguous))
        #expect(gate.ask("/reports/other") == .route("/**"))
    }

    @Test("Letters beyond ASCII are folded in each way that an app may use: simply, fully, or to an ASCII letter")
    func beyondASCII() {
        let gate = Self.gate(
            route("/**", .public),
            route("/caf\u{E9}/**", .required),
            route("/stra\u{DF}e", .required),
            route("/\u{3C3}", .required),
            route("/kiosk", .required)
        )
        for path in [
            "/CAF%C3%89/x", "/caf%C3%89", "/STRASSE", "/strasse", "/%CE%A3", "/%CF%82", "/%E2%84%AAiosk", "/kio%C5%BFk",
            "/KIOSK",
        ] {
            #expect(gate.ask(path) == .refused(.pathAmbiguous), "\(path)")
        }
        #expect(gate.ask("/cafe") == .route("/**"))
        #expect(gate.ask("/CAF%C9/x") == .route("/**"))
    }

    @Test("A method that the folded path's route does not accept is refused as well")
    func methods() {
        let gate = Self.gate(route("/**", .public), route("/admin/**", .required, methods: ["GET"]))
        #expect(gate.ask("/Admin/x", method: "POST") == .refused(.pathAmbiguous))
        #expect(gate.ask("/admin/x", method: "POST") == .methodNotAllowed("GET, HEAD"))
    }

    @Test("case_sensitive: true leaves letter case to the app")
    func caseSensitive() {
        let gate = Self.gate(
            caseSensitive: true,
            route("/**", .public),
            route("/admin/**", .required),
            route("/Secret.php", .required)
        )
        #expect(gate.ask("/Admin/x") == .route("/**"))
        #expect(gate.ask("/%41dmin/x") == .route("/**"))
        #expect(gate.ask("/secret.php/x") == .route("/**"))
        #expect(gate.ask("/Secret.php/x") == .refused(.pathAmbiguous))
        #expect(gate.ask("/%61dmin/x") == .refused(.pathAmbiguous))
    }
}
