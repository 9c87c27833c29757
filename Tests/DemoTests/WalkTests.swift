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

    @Test func theShortWalkHasTwelveCommandsThatShowWhatItPromises() throws {
        let demo = try Demo(walk: "--walk")
        defer { _ = demo.stop() }
        #expect(demo.steps.count == 12)
        let results = try Shell.run(demo.steps.map(\.command))
        #expect(results.count == 12)
        for (step, result) in zip(demo.steps, results) {
            let told = "\(step.title)\n\(step.command)\n\(result.output)"
            #expect(result.status == 0, "\(told)")
            for text in step.shows { #expect(result.output.contains(text), "should show \(text): \(told)") }
            for text in step.lacks { #expect(!result.output.contains(text), "should lack \(text): \(told)") }
        }
    }

    @Test func stopsAtOnceAndCleanly() throws {
        let demo = try Demo()
        #expect(demo.stop() == 0)
    }

    @Test func answersToBothNamesOfTheMachine() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let origin = demo.origin.replacing("localhost", with: "127.0.0.1")
        let results = try Shell.run([
            "JAR=$(mktemp); curl -4 -sS -c \"$JAR\" -o /dev/null -w '%{http_code} %{redirect_url}' -H 'Origin: \(origin)' "
                + "-d identifier=ada@example.com -d password=analytical-engine -d return_to=/hello \(origin)/.sallyport/login",
            "curl -4 -sS -b \"$JAR\" \(origin)/hello",
        ])
        #expect(results[0].output.contains("303 \(origin)/hello"), "\(results[0].output)")
        #expect(results[1].output.contains("X-Auth-Subject: user-1815"), "\(results[1].output)")
    }

    @Test func signsTheBrowserOfAnAppOnAPhoneOut() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let query = "client_id=demo-native&post_logout_redirect_uri=com.example.demo%3A%2Fcallback"
        let results = try Shell.run([
            "curl -sS -i -H 'Accept: text/html' '\(demo.origin)/oidc/logout?\(query)'"
        ])
        let answer = results[0].output
        #expect(answer.lowercased().contains("\nlocation: com.example.demo:/callback"), "\(answer)")
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
        #expect(results[0].output.contains("<h1>A public page</h1>"))
        #expect(results[0].output.contains("&lt;b&gt;bold") && !results[0].output.contains("<b>bold"))
        #expect(results[1].output.contains(#"<form method="post" action="/.sallyport/login">"#))
        // Visitors on a phone do not see the terminal with the passwords.
        let hint = "<strong>ada@example.com</strong> and <strong>analytical-engine</strong>"
        #expect(results[1].output.contains(hint), "\(results[1].output)")
        #expect(results[1].output.contains("strong{white-space:nowrap}"), "the password may break at its hyphen")
        // Nothing stands between the heading and the sentence that goes on with it.
        #expect(results[1].output.contains("<h1>Sign in</h1>\n<p>to continue to "), "\(results[1].output)")
        #expect(!results[0].output.contains("analytical-engine"), "\(results[0].output)")
    }

    /// Without a native app and without curl, a visitor sees what a handoff does.
    @Test(arguments: ["127.0.0.1", "localhost"]) func aButtonPlaysTheNativeApp(_ name: String) throws {
        let demo = try Demo(["--logs"])
        defer { _ = demo.stop() }
        let origin = demo.origin.replacing("localhost", with: name)
        let results = try Shell.run([
            "curl -4 -sS -H 'Accept: text/html' \(origin)/public/",
            "JAR=$(mktemp); curl -4 -sS -L -c \"$JAR\" -w '%{num_redirects} %{url_effective}' -H 'Accept: text/html' "
                + "-H 'Origin: \(origin)' -d '' \(origin)/public/native-app",
            "curl -4 -sS -b \"$JAR\" -H 'Accept: text/html' \(origin)/hello",
        ])
        let form = #"<form method="post" action="/public/native-app">"#
        #expect(results[0].output.contains(form), "\(results[0].output)")
        #expect(results[1].output.hasSuffix("2 \(origin)/hello?opened-by=the-native-app"), "\(results[1].output)")
        for result in results[1...] {
            #expect(result.output.contains("<h1>Hello, Ada Lovelace</h1>"), "\(result.output)")
            #expect(result.output.contains(#"<th scope="row">X-Auth-Origin</th><td>transfer</td>"#), "\(result.output)")
            #expect(result.output.contains("gave your browser a session: no sign-in page"), "\(result.output)")
            #expect(!result.output.contains("spt_"), "\(result.output)")
        }
        let written = try demo.written(until: #""path":"/public/native-app""#)
        #expect(written.contains(#""path":"/public/native-app""#) && !written.contains("spt_"), "\(written)")
    }

    /// Somebody is signed in already: the button signs out first, so that something is seen, and the page says why without.
    @Test func theNativeAppOfTheSameUserLeavesTheSessionAndThePageSaysSo() throws {
        let demo = try Demo(walk: nil)
        defer { _ = demo.stop() }
        let origin = demo.origin
        let results = try Shell.run([
            "JAR=$(mktemp); page() { curl -4 -sS -b \"$JAR\" -c \"$JAR\" -H 'Accept: text/html' \"$@\"; }; "
                + "page -L -H 'Origin: \(origin)' -d identifier=ada@example.com -d password=analytical-engine "
                + "-d return_to=/hello \(origin)/.sallyport/login",
            "page -L -H 'Origin: \(origin)' -d '' \(origin)/public/native-app",
            "page -L -H 'Origin: \(origin)' -d 'return_to=/public/native-app?user=user-1815' \(origin)/.sallyport/logout",
            "page -w ' %{http_code}' \(origin)/board/",
            "page -w ' %{http_code}' \(origin)/down/",
        ])
        let button = #"name="return_to" value="/public/native-app?user=user-1815""#
        #expect(results[0].output.contains(button), "\(results[0].output)")
        #expect(results[1].output.contains("you were signed in as the same user here"), "\(results[1].output)")
        let shown = "gave your browser a session: no sign-in page"
        #expect(results[2].output.contains(shown), "\(results[2].output)")
        #expect(results[3].output.hasSuffix(" 403"), "\(results[3].output)")
        #expect(results[3].output.contains("ada@example.com"), "\(results[3].output)")
        #expect(results[4].output.hasSuffix(" 502"), "\(results[4].output)")
    }

    /// As in a container: all addresses, and the URL of the browsers.
    @Test func listensWhereItIsToldAndSaysThatOthersReachIt() throws {
        let port = 18_080
        let url = "http://demo.example:\(port)"
        let options = ["demo", "--print-settings", "--listen", "0.0.0.0:\(port)", "--public-url", url]
        let printed = try Servers.run(Gateway.binary.path, options).output
        for text in [
            "listen: \"0.0.0.0:\(port)\"", "public_url: \"\(url)\"", "public_url: \"http://localhost:\(port)\"",
            "enforce_device_binding: none",
        ] { #expect(printed.contains(text), "\(text): \(printed)") }
        for wrong in [["--listen", "0.0.0.0"], ["--public-url", "demo.example"], ["--listen", ":1", "--port", "2"]] {
            let refused = try Servers.run(Gateway.binary.path, ["demo"] + wrong)
            #expect(refused.status == 64 && refused.output.contains(wrong[0]), "\(refused.output)")
        }
    }

    /// As in a container whose port is published: browsers and phones use another name, and all that happens stays on it.
    @Test func servesOtherMachinesByTheNameThatTheyUse() throws {
        let port = try ServerPorts.take()
        let name = "demo.example:\(port)"
        let demo = try Demo(["--listen", "0.0.0.0:\(port)", "--public-url", "http://\(name)"], walk: "--walk")
        defer { _ = demo.stop() }
        #expect(demo.origin == "http://\(name)")
        #expect(demo.introduction.contains("reachable at 0.0.0.0:\(port): anybody who can reach it can sign in"))
        // Another address than that of a demo for this machine alone, as another machine would use it.
        let curl =
            "JAR=$(mktemp); page() { curl -sS --resolve \(name):127.0.0.2 -b \"$JAR\" -c \"$JAR\" -H 'Accept: text/html' \"$@\"; }"
        let landing = "-o /dev/null -w '%{http_code} %{redirect_url}'"
        let results = try Shell.run([
            curl, "page \(landing) \(demo.origin)/hello",
            "page \(landing) -H 'Origin: \(demo.origin)' -d identifier=ada@example.com -d password=analytical-engine "
                + "-d return_to=/hello \(demo.origin)/.sallyport/login",
            "page \(demo.origin)/hello", "JAR=$(mktemp)",
            "page -L -w ' %{url_effective}' -H 'Origin: \(demo.origin)' -d '' \(demo.origin)/public/native-app",
            "page \(demo.origin)/public/native-app/sign-in",
            "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:\(port)/public/",
        ])
        let outputs = results.map(\.output)
        #expect(outputs[1].hasSuffix("303 \(demo.origin)/.sallyport/login?return_to=/hello"), "\(outputs[1])")
        #expect(outputs[2].hasSuffix("303 \(demo.origin)/hello"), "\(outputs[2])")
        #expect(outputs[3].contains("<h1>Hello, Ada Lovelace</h1>"), "\(outputs[3])")
        #expect(outputs[3].contains("<td>browser</td>"), "\(outputs[3])")
        // The button acts as a native app that is at another address than the browser.
        #expect(outputs[5].hasSuffix(" \(demo.origin)/hello?opened-by=the-native-app"), "\(outputs[5])")
        #expect(outputs[5].contains("<td>transfer</td>"), "\(outputs[5])")
        #expect(outputs[6].contains("and not with http to \(name)"), "\(outputs[6])")
        #expect(outputs[7] == "200", "\(outputs[7])")
        // The commands are for the same name, and need no address of this machine.
        #expect(demo.steps.count >= 10 && demo.steps.allSatisfy { !$0.command.contains("localhost") })
    }

    /// As behind a tunnel that ends TLS: links and redirects lead to the name by https, also those of the native app.
    @Test func servesATunnelByItsHTTPSName() throws {
        let port = try ServerPorts.take()
        let demo = try Demo(["--listen", "127.0.0.1:\(port)", "--public-url", "https://demo.example/"], walk: nil)
        defer { _ = demo.stop() }
        #expect(demo.origin == "https://demo.example" && demo.introduction.contains("nothing leaves this machine"))
        let tunnel =
            "page() { curl -sS -H 'Host: demo.example' -H 'X-Forwarded-Proto: https' -H 'Accept: text/html' \"$@\"; }"
        let landing = "-o /dev/null -D - -w '%{http_code}'"
        let results = try Shell.run([
            tunnel, "page \(landing) http://127.0.0.1:\(port)/hello",
            "page \(landing) -H 'Origin: https://demo.example' -d identifier=ada@example.com -d password=analytical-engine "
                + "-d return_to=/hello http://127.0.0.1:\(port)/.sallyport/login",
            "page \(landing) http://127.0.0.1:\(port)/public/native-app/sign-in",
        ])
        let outputs = results.map { $0.output.lowercased() }
        #expect(
            outputs[1].contains("location: https://demo.example/.sallyport/login?return_to=/hello"),
            "\(outputs[1])"
        )
        // A cookie that browsers send by https alone.
        let cookie = outputs[2].split(separator: "\r\n").first { $0.hasPrefix("set-cookie: __host-sallyport=") }
        #expect(cookie?.contains("; secure") == true, "\(outputs[2])")
        let callback = "redirect_uri=https%3a%2f%2fdemo.example%2fpublic%2fnative-app%2fsigned-in"
        #expect(outputs[3].contains("location: /authorize?") && outputs[3].contains(callback), "\(outputs[3])")
    }

    /// What the page's link does, as a browser follows it.
    @Test("The native app is signed in with the browser's session, and whoever has none signs in first")
    func aLinkSignsTheNativeAppInWithTheBrowser() throws {
        let demo = try Demo(["--logs"], walk: nil)
        defer { _ = demo.stop() }
        // Each of the demo's names.
        for origin in [demo.origin, demo.origin.replacing("localhost", with: "127.0.0.1")] {
            let results = try Shell.run([
                "JAR=$(mktemp); page() { curl -4 -sS -b \"$JAR\" -c \"$JAR\" -H 'Accept: text/html' \"$@\"; }",
                "page -L -w ' %{url_effective}' \(origin)/public/native-app/sign-in",
                "TARGET=$(page -L -o /dev/null -w '%{url_effective}' \(origin)/public/native-app/sign-in "
                    + "| sed -n 's/.*[?&]return_to=\\([^&]*\\).*/\\1/p')",
                "page -L -w ' %{url_effective}' -H 'Origin: \(origin)' -d identifier=ada@example.com "
                    + "-d password=analytical-engine -d return_to=\"$TARGET\" \(origin)/.sallyport/login",
                "page '\(origin)/public/native-app/signed-in?code=spc_1&state=1'",
                "page -L -w ' %{num_redirects} %{url_effective}' \(origin)/public/native-app/sign-in",
                "page -o /dev/null -w '%{http_code}' \(origin)/hello",
            ])
            let outputs = results.map(\.output)
            #expect(
                outputs[1].contains(#"name="password""#) && outputs[1].contains("/.sallyport/login?"),
                "\(outputs[1])"
            )
            // The second time nobody is asked.
            for output in [outputs[3], outputs[5]] {
                #expect(output.contains("<h1>The native app is signed in</h1>"), "\(output)")
                #expect(output.contains(#"<th scope="row">X-Auth-Origin</th><td>native</td>"#), "\(output)")
                #expect(output.contains(#"<th scope="row">X-Auth-Subject</th><td>user-1815</td>"#), "\(output)")
                for secret in ["spa_", "spr_"] { #expect(!output.contains(secret)) }
            }
            #expect(outputs[5].contains(" 2 \(origin)/public/native-app/signed-in?code=spc_"), "\(outputs[5])")
            #expect(outputs[4].contains("is waiting in this browser"), "\(outputs[4])")
            #expect(outputs[6] == "200", "\(outputs[6])")
        }
        let written = try demo.written(until: #""path":"/oauth/token""#)
        for secret in ["spc_", "spa_", "spr_"] { #expect(!written.contains(secret)) }
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
