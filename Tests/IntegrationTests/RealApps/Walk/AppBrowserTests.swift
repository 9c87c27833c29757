import Foundation
import GatewayBench
import Testing

/// Every app with pages in a real browser, which `deploy/test.sh --soak` installs.
@Suite(
    "Real apps in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct AppBrowserTests {
    /// Opens what the page listens to, and keeps what it hears and how that ends.
    private static func open(_ stream: RealApp.Stream, at place: AppPlace) -> String {
        switch stream {
        case .events(let path):
            """
            heard = ended = '';
            source = new EventSource('\(place.prefix)\(path)');
            source.onmessage = message => heard = message.data;
            source.onerror = () => ended = 'ended'
            """
        case .socket(let path):
            """
            heard = ended = '';
            socket = new WebSocket('wss://' + location.host + '\(place.prefix)\(path)');
            socket.onopen = () => socket.send('hello');
            socket.onmessage = message => heard = message.data;
            socket.onclose = event => ended = String(event.code)
            """
        }
    }

    private static func signIn(_ browser: Browser) throws {
        try browser.wait(until: "document.querySelector('[name=password]') !== null")
        try browser.perform(
            """
            document.querySelector('[name=identifier]').value = '\(User.ada.identifier)';
            document.querySelector('[name=password]').value = '\(User.ada.password)';
            document.querySelector('[name=password]').form.requestSubmit()
            """
        )
    }

    /// Waits until the page is the app's, at this URL, and works.
    private static func waitForApp(_ walk: AppWalk, at url: String, _ browser: Browser) throws {
        try browser.wait(until: "location.href === '\(url)' && document.readyState === 'complete'")
        try browser.wait(until: walk.app.isLoaded ?? "true")
    }

    @Test(
        "A user signs in at an app's page, comes from a native app, and is signed out while the page listens",
        arguments: RealApp.all.filter { $0.isLoaded != nil }
    )
    func journey(_ app: RealApp) throws {
        try AppWalk.with(app) { walk throws in
            let browser = try Browser()
            defer { browser.close() }
            try browser.call("Security.setIgnoreCertificateErrors", ["ignore": true])
            for place in walk.places {
                let page = place.url(app.page)
                try browser.visit(page)
                try Self.signIn(browser)
                try Self.waitForApp(walk, at: page, browser)

                // Handed off to: another browser's worth of cookies, and a link with a fragment.
                try browser.call("Network.clearBrowserCookies")
                let token = "session_transfer_token=\(try walk.transferToken(walk.nativeSession(), for: place))"
                try browser.visit("\(page)\(page.contains("?") ? "&" : "?")\(token)#part")
                try Self.waitForApp(walk, at: "\(page)#part", browser)

                if let stream = app.stream {
                    try browser.perform(Self.open(stream, at: place))
                    try browser.wait(until: "heard !== ''")
                }
                try walk.signAdaOut()
                try browser.perform("said = ''; fetch(location.href).then(answer => said = answer.status)")
                try browser.wait(until: "said === 401")
                if app.stream != nil { try browser.wait(until: "ended !== ''") }
                try browser.call("Page.reload")
                try browser.wait(until: "location.origin === '\(walk.entrance)'")
                try browser.wait(until: "document.querySelector('[name=password]') !== null")
            }
        }
    }
}
