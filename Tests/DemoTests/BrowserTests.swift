import Foundation
import GatewayBench
import Testing

/// The browser's part of the walk in a real browser, which `deploy/test.sh --soak` installs.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK"), .serialized)
struct BrowserTests {
    private static let signInPage = "document.title.startsWith('Sign in - ') && document.readyState === 'complete'"

    private static func with(_ body: (Demo, Browser) throws -> Void) throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let browser = try Browser()
        defer { browser.close() }
        try body(demo, browser)
    }

    /// A new transfer token, made with the commands of the walk.
    private static func transferToken(_ demo: Demo) throws -> String {
        let commands = demo.steps.map(\.command).filter {
            $0.hasPrefix("FLOW=") || $0.hasPrefix("SESSION_TOKEN=") || $0.hasPrefix("mint()")
        }
        let output = try Shell.run(commands).last?.output ?? ""
        return try #require(output.firstMatch(of: /spt_[A-Za-z0-9_-]+/).map { String($0.0) }, "\(output)")
    }

    private static func signIn(_ browser: Browser) throws {
        try browser.perform(
            """
            document.querySelector('#identifier').value = 'ada@example.com';
            document.querySelector('#password').value = 'analytical-engine';
            document.querySelector('form').requestSubmit()
            """
        )
    }

    /// A field that the app received, which the page shows folded.
    private static func row(_ name: String) -> String {
        "[...document.querySelectorAll('tr')].find(row => row.cells[0].textContent === '\(name)')?.cells[1].textContent"
    }

    @Test func signsInAndOut() throws {
        try Self.with { demo, browser in
            try browser.visit("\(demo.origin)/hello?a=1")
            #expect(try browser.value(Self.signInPage) == "true")
            #expect(try browser.value("getComputedStyle(document.querySelector('strong')).whiteSpace") == "nowrap")
            // The content security policy allows the page's own style.
            #expect(try browser.value("getComputedStyle(document.querySelector('h1')).marginTop") == "0px")
            try Self.signIn(browser)
            try browser.wait(
                until: "location.pathname + location.search === '/hello?a=1' && !!document.querySelector('td')"
            )
            #expect(try browser.value("document.querySelector('h1').innerText") == "Hello, Ada Lovelace")
            #expect(try browser.value("getComputedStyle(document.querySelector('h1')).marginTop") == "0px")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "browser")
            #expect(try browser.value(Self.row("Cookie")) == "undefined")
            #expect(try browser.value("document.cookie.length") == "0", "scripts see no session")
            try browser.perform("document.querySelector('a[href^=\"/.sallyport/logout\"]').click()")
            try browser.wait(until: "document.title.startsWith('Sign out - ') && document.readyState === 'complete'")
            try browser.perform("document.querySelector('form').requestSubmit()")
            try browser.wait(until: "location.pathname === '/public/' && !!document.querySelector('h1')")
            #expect(try browser.value("document.querySelector('h1').innerText") == "A public page")
            try browser.visit("\(demo.origin)/hello")
            #expect(try browser.value(Self.signInPage) == "true")
        }
    }

    @Test func saysWhileCapsLockIsOn() throws {
        try Self.with { demo, browser in
            try browser.visit("\(demo.origin)/hello")
            #expect(try browser.value(Self.signInPage) == "true")
            let hint = "document.querySelector('#caps').textContent"
            func press(_ event: String) throws -> String {
                try browser.perform("document.querySelector('#password').dispatchEvent(new \(event))")
                return try browser.value(hint)
            }
            let key = "KeyboardEvent('keydown', {key: 'A', modifierCapsLock: "
            #expect(try press(key + "true})") == "Caps Lock is on.")
            #expect(try press("KeyboardEvent('keyup', {key: 'CapsLock'})").isEmpty)
            #expect(try press("MouseEvent('mousedown', {modifierCapsLock: true})") == "Caps Lock is on.")
            // Else the button would move away under the pointer that presses it.
            #expect(try press("FocusEvent('blur')") == "Caps Lock is on.")
            // A password manager presses keys without a state.
            #expect(try press("Event('keydown')").isEmpty)
            // And nothing of it keeps the user from signing in.
            try Self.signIn(browser)
            try browser.wait(until: "location.pathname === '/hello' && !!document.querySelector('td')")
        }
    }

    @Test func asksBeforeALinkOnAnotherSiteSignsIn() throws {
        try Self.with { demo, browser in
            let url = "\(demo.origin)/hello?a=%2520&session_transfer_token=\(try Self.transferToken(demo))&b=2"
            let page = "data:text/html,<a href='\(url.replacing("&", with: "%26"))'>link</a>"
            try browser.visit(page)
            try browser.perform("document.querySelector('a').click()")
            let asks =
                "document.title.startsWith('Sign in with this account? - ') && document.readyState === 'complete'"
            try browser.wait(until: asks)
            #expect(try browser.value("location.pathname + location.search") == "/.sallyport/handoff")
            #expect(try browser.value("document.body.innerText.includes('ada@example.com')") == "true")
            #expect(try browser.value("document.cookie.length") == "0")
            // A reload asks again.
            try browser.perform("window.isFormer = true; location.reload()")
            try browser.wait(until: "!window.isFormer && \(asks)")
            try browser.perform("document.querySelector('form').requestSubmit()")
            try browser.wait(until: "location.pathname === '/hello' && !!document.querySelector('td')")
            #expect(try browser.value("location.search") == "?a=%20&b=2")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
            #expect(try !browser.value(Self.row("Referer")).contains("session_transfer_token"))
            // Back leads to no second sign-in, and not out of the session.
            try browser.perform("history.back()")
            try browser.wait(until: "document.readyState === 'complete'")
            try browser.visit("\(demo.origin)/hello")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
        }
    }

    @Test func takesOverANativeSessionByQuery() throws {
        try Self.with { demo, browser in
            let url = "\(demo.origin)/hello?a=%20&session_transfer_token=\(try Self.transferToken(demo))&b=2"
            try browser.visit(url)
            #expect(try browser.value("location.search") == "?a=%20&b=2")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
            // The same browser may repeat its navigation.
            try browser.visit(url)
            #expect(try browser.value("location.search") == "?a=%20&b=2")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
            // Another browser may not.
            try browser.call("Network.clearBrowserCookies")
            try browser.visit(url)
            #expect(try browser.value(Self.signInPage) == "true")
        }
    }

    @Test func aButtonPlaysTheNativeApp() throws {
        try Self.with { demo, browser in
            try browser.visit("\(demo.origin)/public/")
            try browser.perform("document.querySelector('form').requestSubmit()")
            try browser.wait(until: "location.pathname === '/hello' && !!document.querySelector('td')")
            #expect(try browser.value("location.search") == "?opened-by=the-native-app")
            #expect(try browser.value("document.querySelector('h1').innerText") == "Hello, Ada Lovelace")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
        }
    }

    @Test func aLinkSignsTheNativeAppInWithTheBrowser() throws {
        try Self.with { demo, browser in
            try browser.visit("\(demo.origin)/hello")
            try Self.signIn(browser)
            try browser.wait(until: "location.pathname === '/hello' && !!document.querySelector('td')")
            try browser.perform("document.querySelector('a[href=\"/public/native-app/sign-in\"]').click()")
            try browser.wait(
                until: "location.pathname === '/public/native-app/signed-in' && !!document.querySelector('td')"
            )
            #expect(try browser.value("document.querySelector('h1').innerText") == "The native app is signed in")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "native")
            #expect(try browser.value(Self.row("X-Auth-Email")) == "ada@example.com")
            let back = try browser.value("location.href")
            #expect(back.hasPrefix("\(demo.origin)/public/native-app/signed-in?code=spc_"))
            // The browser's session is what it was, and the list has both.
            try browser.perform("document.querySelector('a[href=\"/hello\"]').click()")
            try browser.wait(until: "location.pathname === '/hello' && !!document.querySelector('td')")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "browser")
            try browser.visit("\(demo.origin)/.sallyport/sessions")
            #expect(try browser.value("document.querySelectorAll('.list li').length") == "2")
            // The same code twice gives nothing.
            try browser.visit(back)
            #expect(try browser.value("document.body.innerText").contains("is waiting in this browser"))
        }
    }

    @Test func takesOverANativeSessionByCookie() throws {
        try Self.with { demo, browser in
            try browser.call(
                "Network.setCookie",
                [
                    "name": "auth0_session_transfer_token", "value": try Self.transferToken(demo), "url": demo.origin,
                    "httpOnly": true,
                ]
            )
            try browser.visit("\(demo.origin)/hello")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
            let cookies = try browser.call("Network.getCookies", ["urls": [demo.origin]])["cookies"] as? [[String: Any]]
            // The token is cleared, and marked so that it is ignored if it comes back.
            let names = Set(cookies?.compactMap { $0["name"] as? String } ?? [])
            #expect(names == ["sallyport", "sallyport-account", "sallyport-handled"])
        }
    }

    @Test func asksTheAppOfAWebViewAndGoesOnWithItsToken() throws {
        try Self.with { demo, browser in
            // The browser is a WebView: the app has set its cookie, and listens.
            try browser.call("Network.setCookie", ["name": "sallyport-native", "value": "1", "url": demo.origin])
            try browser.call("Page.enable")
            try browser.call(
                "Page.addScriptToEvaluateOnNewDocument",
                ["source": "window.sallyport = {postMessage: text => { window.said = text }}"]
            )
            try browser.visit("\(demo.origin)/hello?a=%20")
            #expect(try browser.value("document.title").hasPrefix("Please sign in - "))
            let said = try browser.value("window.said")
            let message = try JSONSerialization.jsonObject(with: Data(said.utf8)) as? [String: String]
            #expect(
                message == ["type": "session_transfer", "realm": demo.origin, "return_to": "/hello?a=%20"],
                "\(said)"
            )
            let token = try Self.transferToken(demo)
            try browser.visit("\(demo.origin)/hello?a=%20&session_transfer_token=\(token)")
            #expect(try browser.value("location.search") == "?a=%20")
            #expect(try browser.value(Self.row("X-Auth-Origin")) == "transfer")
            #expect(try browser.value(Self.row("Cookie")) == "undefined")
            // Without an app the page has the way to the sign-in page.
            try browser.call("Network.clearBrowserCookies")
            try browser.call("Network.setCookie", ["name": "sallyport-native", "value": "1", "url": demo.origin])
            try browser.visit("\(demo.origin)/hello")
            try browser.perform("document.querySelector('a.way').click()")
            try browser.wait(until: Self.signInPage)
        }
    }

    @Test func saysThatAFormWithoutASessionWasNotSent() throws {
        try Self.with { demo, browser in
            try browser.visit("\(demo.origin)/public/form?a=1")
            try browser.perform(
                """
                form = document.createElement('form'); form.method = 'post'; form.action = '/hello';
                document.body.append(form); form.submit()
                """
            )
            try browser.wait(
                until: "document.title.startsWith('Please sign in - ') && document.readyState === 'complete'"
            )
            #expect(
                try browser.value("document.body.innerText").contains(
                    "What you entered was not sent on and is not kept."
                )
            )
            // The content security policy allows the page's own style, and nothing is wider than a phone.
            #expect(try browser.value("getComputedStyle(document.querySelector('h1')).marginTop") == "0px")
            try browser.call(
                "Emulation.setDeviceMetricsOverride",
                ["width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true]
            )
            try browser.wait(until: "innerWidth === 390")
            #expect(try browser.value("document.documentElement.scrollWidth") == "390")
            try browser.perform("document.querySelector('a.way').click()")
            try browser.wait(until: Self.signInPage)
            try Self.signIn(browser)
            try browser.wait(until: "location.pathname + location.search === '/public/form?a=1'")
        }
    }

    @Test func anotherSiteCannotSignTheUserIn() throws {
        try Self.with { demo, browser in
            let token = try Self.transferToken(demo)
            try browser.visit("data:text/html,<a href='\(demo.origin)/hello?session_transfer_token=\(token)'>go</a>")
            try browser.perform("document.querySelector('a').click()")
            // The user is asked, and says no.
            try browser.wait(
                until:
                    "document.title.startsWith('Sign in with this account? - ') && document.readyState === 'complete'"
            )
            try browser.perform("document.querySelector('main a').click()")
            try browser.wait(until: Self.signInPage)
            let form = """
                <form method=post action='\(demo.origin)/.sallyport/login'><input name=identifier value=grace@example.com>\
                <input name=password value=compiler-a0></form>
                """
            try browser.visit("data:text/html,\(form)")
            try browser.perform("document.querySelector('form').submit()")
            try browser.wait(until: "\(Self.signInPage) && !!document.querySelector('.notice')")
            try browser.visit("\(demo.origin)/hello")
            #expect(try browser.value(Self.signInPage) == "true")
        }
    }

    /// Labels, contrast, focus and width of each page, in each language.
    @Test(arguments: ["en", "de", "fr", "es"]) func everybodyCanUseThePages(_ language: String) throws {
        #expect(try Self.pictures(["--language", language]) == 132)
    }

    @Test func everybodyCanUseTheDemo() throws {
        #expect(try Self.pictures(["--demo"]) == 54)
    }

    /// Looks at all pages, and returns how many pictures that made.
    private static func pictures(_ options: [String]) throws -> Int {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = Gateway.root.appending(path: "deploy/screenshots.py").path
        let all = [script, "--binary", Gateway.binary.path] + options + [folder.path]
        let run = try Servers.run("/usr/bin/python3", all)
        #expect(run.status == 0 && run.output.isEmpty, "\(run.output)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).count
    }
}
