import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let tracPython = Self.python(with: "trac, gunicorn", in: "apps")

    /// Trac on gunicorn: a wiki and tickets, with forms that Trac protects itself.
    static let trac = RealApp(
        testDescription: "Trac",
        requireInstalled: {
            if Self.tracPython == nil { try Servers.missing("trac", isOptional: true) }
        },
        servers: { folder, port in
            let notes = folder.appending(path: "notes").path
            func administer(_ words: String...) throws {
                let arguments = ["-m", "trac.admin.console", notes] + words
                let made = try Servers.run(Self.tracPython ?? "", arguments)
                guard made.status == 0 else { throw BenchFailure("trac-admin: \(made.output)") }
            }
            try administer("initenv", "Notes", "sqlite:db/trac.db")
            try administer("config", "set", "metanav", "logout.redirect", "/.sallyport/logout")
            let programs = URL(filePath: Self.script("trac_app.py")).deletingLastPathComponent().path
            let own = ["--bind", "127.0.0.1:\(port)", "--workers", "2", "--pythonpath", programs, "trac_app"]
            return [Server(program: Self.tracPython ?? "", arguments: ["-m", "gunicorn"] + own, port: port)]
        },
        page: "/wiki/WikiStart?version=1",
        user: { text in text.firstMatch(of: /logged in as\s+(?:<[^>]+>)*(\w+)/).map { String($0.1) } },
        use: { visit in
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            let ticket =
                "__FORM_TOKEN=\(try visit.formToken("/newticket"))&field_summary=Engine&field_type=task&submit=Create"
            let sent = try visit.send("POST", "/newticket", form, body: ticket)
            let location = try #require(sent.value("location"), "\(sent.lines)")
            #expect(sent.status == 303 && location.firstRange(of: visit.place.url("/ticket/")) != nil, "\(sent.lines)")
            let shown = try visit.client.send("GET", location)
            #expect(shown.status == 200 && shown.text.contains("Engine"))
            // Its own sign-out leads to the gateway's.
            let left = try visit.send("POST", "/logout", form, body: "__FORM_TOKEN=\(try visit.formToken("/wiki"))")
            let arrival = left.value("location")?.replacing(visit.place.origin, with: "")
            #expect(left.status == 303 && arrival == "/.sallyport/logout", "\(left.lines)")
        },
        isLoaded: "document.body.innerText.includes('logged in as ada') && typeof jQuery === 'function'"
    )
}

extension AppVisit {
    /// The token without which Trac takes no form, from a page with a form.
    fileprivate func formToken(_ path: String) throws -> String {
        let page = try self.send("GET", path).text
        return String(try #require(page.firstMatch(of: /name="__FORM_TOKEN"[^>]* value="(\w+)"/), "\(page)").1)
    }
}
