import Foundation
import GatewayBench
import Testing

/// Apps that know nothing of the gateway take their users from it, and from nobody else.
@Suite("Apps that take the user from a header", .blocking) struct RealAppTests {
    private typealias Bench = RealAppBench

    @Test(
        "Each user who signs in is the app's user, and a name beyond ASCII arrives whole",
        arguments: RealApp.readingHeader
    )
    func users(_ app: RealApp) throws {
        try Bench.with(app) { bench throws in
            var browsers: [(browser: WebUser, name: String)] = [
                (try bench.signIn(Bench.ada), "ada"), (try bench.signIn(Bench.grace), "grace"),
                (try bench.signIn(Bench.mary), "Máry ✓ 100%"),
            ]
            // In turn, because requests of all users share the connections to the app.
            for _ in 0..<2 {
                for index in browsers.indices {
                    #expect(try bench.user(&browsers[index].browser) == browsers[index].name)
                }
            }
        }
    }

    @Test("No field of a client names the app's user, in any spelling and number", arguments: RealApp.readingHeader)
    func spoofs(_ app: RealApp) throws {
        // Each of these means HTTP_X_REMOTE_USER to the app.
        let believed = ["X-Remote-User", "x_remote_user", "X-REMOTE_USER", "x_remote-USER"].map { "\($0): root" }
        let others = ["X.Remote.User", "X!Remote!User", "Remote-User", "Remote_User"].map { "\($0): root" }
        try Bench.with(app) { bench throws in
            var (ada, nameless) = (try bench.signIn(Bench.ada), try bench.signIn(Bench.nameless))
            var stranger = WebUser(bench.gateway)
            for field in believed { #expect(try bench.userWithoutGateway([field]) == "root", "\(field)") }
            let attempts =
                (believed + others).map { [$0] } + [
                    [believed[0], believed[0]], [believed[1], believed[1]], believed, believed + others,
                    ["X-Remote-User:"], ["X-Remote-User: ada", "x_remote_user: root"],
                ]
            for fields in attempts {
                #expect(try bench.user(&ada, fields) == "ada", "\(fields)")
                #expect(try bench.user(&nameless, fields) == nil, "\(fields)")
                #expect(try bench.ask(&stranger, fields).reason == "credential.missing", "\(fields)")
            }
        }
    }

    @Test(
        "After a sign-out nobody reaches the app, and the next user of the browser is not the one before",
        arguments: RealApp.readingHeader
    )
    func signOut(_ app: RealApp) throws {
        try Bench.with(app) { bench throws in
            var browser = try bench.signIn(Bench.ada)
            #expect(try bench.user(&browser) == "ada")
            var before = browser
            let answer = try browser.signOut(Request.origin)
            #expect(answer.status == 303)
            #expect(try bench.ask(&browser).reason == "credential.missing")
            // Whoever kept the cookies has no session with them.
            #expect(try bench.ask(&before, ["X-Remote-User: ada"]).status == 401)
            let page = try browser.send("GET", Request.origin + "/")
            let signInPage = "\(Request.origin)/.sallyport/login?return_to=/"
            #expect(page.status == 303 && page.value("location") == signInPage, "\(page.lines)")

            browser = try bench.signIn(Bench.grace, browser)
            #expect(try bench.user(&browser) == "grace")
        }
    }
}
