import GatewayBench
import Testing

/// What the guide SignOutLinks says of the links and redirects by which an app sends its users to `/.sallyport/logout`.
@Suite("An app's own sign-out link", .blocking) struct SignOutLinkTests {
    /// Runs `body` with an app below `/app`, which redirects every request to the path and query after `to=`.
    private func with(_ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let target = request.target.split(separator: "=", maxSplits: 1).dropFirst().first ?? "/"
                link.answer("302 Found", "Location: \(target)\r\n")
            }
        )
        defer { app.stop() }
        let routes = Config.routes + "\n  - {path: /app/**, strip_prefix: /app, client: web}\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { try body($0) }
    }

    @Test(
        "A redirect of an app below a prefix leads to the gateway's page of the host, in every way to write it",
        arguments: [
            "/.sallyport/logout", "/.sallyport/logout?return_to=/public/", "\(Request.origin)/.sallyport/logout",
            "/.sallyport",
        ]
    )
    func redirect(_ target: String) throws {
        try self.with { gateway throws in
            let cookie = "Cookie: sallyport=\(try gateway.browser())"
            let answer = try gateway.get("/app/logout?to=\(target)", [cookie])
            #expect(answer.status == 302 && answer.value("location") == target, "\(answer.lines)")
            // A path of the app that only begins alike gets its prefix.
            let others = ["/.sallyportal", "/x/.sallyport/logout"]
            for other in others {
                #expect(try gateway.get("/app/?to=\(other)", [cookie]).value("location") == "/app\(other)")
            }
        }
    }

    @Test("A link only asks; a form of the app's page signs out, and leads to a public page or to the sign-in page")
    func signOut() throws {
        try self.with { gateway throws in
            for (place, arrival) in [("/public/", "/public/"), ("/", "/")] {
                let cookie = try gateway.browser()
                let page = try gateway.get("/.sallyport/logout", ["Cookie: sallyport=\(cookie)"])
                #expect(page.status == 200 && page.text.contains(#"<form method="post" action="/.sallyport/logout">"#))
                #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 302)
                let form = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
                let answer = try gateway.request(
                    Request.post(
                        "/.sallyport/logout",
                        ["Cookie: sallyport=\(cookie)"] + form,
                        body: "return_to=\(place)"
                    )
                )
                #expect(answer.status == 303 && answer.value("location") == arrival, "\(answer.lines)")
                #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 401)
            }
        }
    }
}
