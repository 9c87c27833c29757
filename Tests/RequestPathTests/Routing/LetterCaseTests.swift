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
        #expect(gate.ask("/caf%C3%A8") == .route("/**"))
    }

    @Test(
        "A path that is not UTF-8 is refused where a code page may make the letters of a stricter route of it",
        arguments: [false, true]
    )
    func codePages(caseSensitive: Bool) {
        let gate = Self.gate(
            caseSensitive: caseSensitive,
            route("/**", .public),
            route("/\u{E9}/**", .required),
            route("/\u{FC}/x", .public),
            route("/caf\u{E9}/menu", .required),
            route("/\u{430}\u{434}\u{43C}\u{438}\u{43D}/**", .required)
        )
        // Latin-1, in both cases, twice encoded, and Cyrillic in Windows-1251; a path partly in UTF-8.
        for path in [
            "/%E9/x", "/%C9/x", "/%E9", "/%25E9/x", "/caf%E9/menu", "/caf%E9/menu/", "/caf%C9/menu/x",
            "/%E0%E4%EC%E8%ED/x", "/%E9/%C3%A9", "/%C3%A9%E9/x",
        ] {
            #expect(gate.ask(path) == .refused(.pathAmbiguous), "\(path)")
        }
        #expect(gate.ask("/%FC/x") == .refused(.pathAmbiguous), "an exact route that is open hides no stricter one")
        #expect(gate.ask("/%C3%A9/x") == .route("/\u{E9}/**"))
        #expect(gate.ask("/%C3%A8/x") == .route("/**"))
        #expect(gate.ask("/caf%E9/other") == .route("/**"))
        #expect(gate.ask("/x%E9/y") == .route("/**"))
        #expect(gate.ask("/e/x") == .route("/**"))
    }

    @Test("A letter and its decomposed form are equal, in the path and in the pattern", arguments: [false, true])
    func composition(caseSensitive: Bool) {
        let gate = Self.gate(
            caseSensitive: caseSensitive,
            route("/**", .public),
            route("/\u{FC}/**", .required),
            route("/a\u{30A}", .required),
            route("/\u{1E69}", .required)
        )
        // The last two have their marks in either order.
        for path in [
            "/u%CC%88/x", "/%75%CC%88/x", "/u%25CC%2588/x", "/%C3%A5", "/s%CC%A3%CC%87", "/s%CC%87%CC%A3",
        ] {
            #expect(gate.ask(path) == .refused(.pathAmbiguous), "\(path)")
        }
        #expect(gate.ask("/a%CC%8A") == .route("/a\u{30A}"))
        #expect(gate.ask("/u/x") == .route("/**"))
        #expect(gate.ask("/u%CC%81/x") == .route("/**"))
        let isRefused = gate.ask("/U%CC%88/x") == .refused(.pathAmbiguous)
        #expect(isRefused != caseSensitive)
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
