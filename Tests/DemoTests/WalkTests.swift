import Foundation
import GatewayBench
import Testing

/// The printed walk does what it says.
@Suite(.serialized) struct WalkTests {
    @Test func everyCommandShowsWhatThePrintedWalkPromises() throws {
        let demo = try Demo(["--logs"])
        defer { _ = demo.stop() }
        let results = try Shell.run(demo.steps.map(\.command))
        #expect(results.count == demo.steps.count && results.count >= 20)
        for (step, result) in zip(demo.steps, results) {
            let told = "\(step.title)\n\(step.command)\n\(result.output)"
            #expect(result.status == 0, "\(told)")
            #expect(!step.shows.isEmpty, "\(told)")
            for text in step.shows { #expect(result.output.contains(text), "should show \(text): \(told)") }
            for text in step.lacks { #expect(!result.output.contains(text), "should lack \(text): \(told)") }
        }

        // The walk is complete.
        let outputs = results.map(\.output)
        for origin in ["browser", "native", "transfer"] {
            #expect(outputs.contains { $0.contains("X-Auth-Origin: \(origin)") }, "no session of origin \(origin)")
        }
        let parts = [
            "127.0.0.2", "/oauth/token", "/self-service/login/api", "?session_transfer_token=",
            "auth0_session_transfer_token", "X-Auth-Subject: root", "/.sallyport/logout", "/self-service/logout/api",
            "/authorize?", "/oauth/introspect", "/oauth/revoke", "dpop-proof", "grant_type=refresh_token",
            "/sessions/token-exchange",
        ]
        for part in parts { #expect(demo.steps.contains { $0.command.contains(part) }, "no command with \(part)") }

        // The gateway's output has no token and no password of the walk.
        let tokens = Set(outputs.joined().matches(of: /sp[starcxi]_[A-Za-z0-9_-]{20,}/).map { String($0.0) })
        let written = try demo.written(until: #""path":"/self-service/logout/api""#)
        #expect(tokens.count >= 2 && written.contains(#""path":"/hello""#), "\(written.prefix(400))")
        for token in tokens { #expect(!written.contains(token)) }
        #expect(!written.contains("analytical-engine") && !written.contains("session_transfer_token="))
    }

    @Test func stopsAtOnceAndCleanly() throws {
        let demo = try Demo()
        #expect(demo.stop() == 0)
    }

    @Test func answersToBothNamesOfTheMachine() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let origin = demo.origin.replacing("127.0.0.1", with: "localhost")
        let results = try Shell.run([
            "JAR=$(mktemp); curl -4 -sS -c \"$JAR\" -o /dev/null -w '%{http_code} %{redirect_url}' -H 'Origin: \(origin)' "
                + "-d identifier=ada@example.com -d password=analytical-engine -d return_to=/hello \(origin)/.sallyport/login",
            "curl -4 -sS -b \"$JAR\" \(origin)/hello",
        ])
        #expect(results[0].output.contains("303 \(origin)/hello"), "\(results[0].output)")
        #expect(results[1].output.contains("X-Auth-Subject: user-1815"), "\(results[1].output)")
    }

    @Test func showsAPageToBrowsers() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let page = try Servers.run(
            "/usr/bin/curl",
            ["-sS", "-H", "Accept: text/html", "\(demo.origin)/public/<script>"]
        )
        #expect(page.status != 0 || !page.output.contains("<script>"))
        let results = try Shell.run([
            "curl -sS -i -H 'Accept: text/html' -H 'X-Note: <b>bold</b>' \(demo.origin)/public/page",
            "curl -sS -i -H 'Accept: text/html' \(demo.origin)/.sallyport/login",
        ])
        #expect(results[0].output.contains("<h1>Hello, stranger</h1>"))
        #expect(results[0].output.contains("&lt;b&gt;bold") && !results[0].output.contains("<b>bold"))
        #expect(results[1].output.contains(#"<form method="post" action="/.sallyport/login">"#))
    }

    /// Without a native app and without curl, a visitor sees what a handoff does.
    @Test(arguments: ["127.0.0.1", "localhost"]) func aButtonPlaysTheNativeApp(_ name: String) throws {
        let demo = try Demo(["--logs"])
        defer { _ = demo.stop() }
        let origin = demo.origin.replacing("127.0.0.1", with: name)
        let results = try Shell.run([
            "curl -4 -sS -H 'Accept: text/html' \(origin)/public/",
            "JAR=$(mktemp); curl -4 -sS -L -c \"$JAR\" -w '%{num_redirects} %{url_effective}' -H 'Accept: text/html' "
                + "-H 'Origin: \(origin)' -d '' \(origin)/public/native-app",
            "curl -4 -sS -b \"$JAR\" -H 'Accept: text/html' \(origin)/hello",
        ])
        let form = #"<form method="post" action="/public/native-app">"#
        #expect(results[0].output.contains(form), "\(results[0].output)")
        #expect(results[1].output.hasSuffix("2 \(origin)/hello"), "\(results[1].output)")
        for result in results[1...] {
            #expect(result.output.contains("<h1>Hello, Ada Lovelace</h1>"), "\(result.output)")
            #expect(result.output.contains(#"<th scope="row">X-Auth-Origin</th><td>transfer</td>"#), "\(result.output)")
            #expect(!result.output.contains(form) && !result.output.contains("spt_"), "\(result.output)")
        }
        let written = try demo.written(until: #""path":"/public/native-app""#)
        #expect(written.contains(#""path":"/public/native-app""#) && !written.contains("spt_"), "\(written)")
    }

    @Test func printsItsSettingsWithoutServing() throws {
        let result = try Servers.run(Gateway.binary.path, ["demo", "--print-settings"])
        #expect(result.status == 0 && result.output.contains("can_create_session_transfer_token: true"))
    }

    @Test func saysWhenThePortIsTaken() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let port = try #require(demo.origin.split(separator: ":").last)
        let second = try Servers.run(Gateway.binary.path, ["demo", "--port", String(port)])
        #expect(second.status == 1 && second.output.contains("--port 0"), "\(second.output)")
    }
}
