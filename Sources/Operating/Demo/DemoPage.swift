import Cryptography
import Endpoints
import Pages
import Vocabulary

/// The pages of the demo's app. They show the user as the gateway reports it, and suggest experiments.
enum DemoPage {
    /// The path of the native app's button. It is public: the button works without a session.
    static let nativePath = "/public/native-app"
    /// The path that starts the native app's sign-in in the browser.
    static let signInPath = "/public/native-app/sign-in"
    /// The query parameter of `nativePath` for the native app's user.
    static let user = "user"
    /// The query of pages that the native app opened.
    static let isFromNative = "opened-by=the-native-app"

    static func answer(_ request: EndpointRequest) -> EndpointResponse {
        let lines = (request.head ?? "").split(separator: "\n")
        let identity = lines.dropFirst().filter { $0.lowercased().hasPrefix("x-auth-") }
        let others = lines.dropFirst().filter { !$0.lowercased().hasPrefix("x-auth-") }
        let line = HTMLText.escaped(String(lines.first ?? ""))
        return self.page(
            """
            <section class="card">
            \(self.brand)
            \(identity.isEmpty ? self.publicCard : self.card(request))
            </section>
            \(identity.isEmpty ? "" : self.experiments)
            <details>
            <summary>What the app received: <code>\(line)</code></summary>
            <h2>Set by the gateway</h2>
            \(self.table(identity, orElse: "No identity headers: this page is public."))
            <h2>Other headers</h2>
            \(self.table(others, orElse: "Nothing."))
            </details>
            """
        )
    }

    /// Returns the page to show after the native app's sign-in.
    ///
    /// - Parameter received: The request with the access token, as the API received it.
    static func signedIn(_ received: String) -> EndpointResponse {
        let identity = received.split(separator: "\n").filter { $0.lowercased().hasPrefix("x-auth-") }
        return self.page(
            """
            <section class="card">
            \(self.brand)
            <h1>The native app is signed in</h1>
            <p>This page acts as a native app that has signed its user in with the browser.</p>
            \(self.flow([
                ("The native app", "opened the gateway in the browser, and kept a secret for itself."),
                ("Your browser", "is signed in, so it returned a code at once."),
                ("Sallyport", "exchanged the code and the secret for the app's own tokens. The code alone is useless."),
            ]))
            <div class="buttons">
            <a class="quiet" href="/.sallyport/sessions">My sessions, including the app's</a>
            <a class="quiet" href="/hello">Back to the app in the browser</a>
            </div>
            </section>
            <section class="card">
            <h2>What the API behind the gateway received from the native app</h2>
            \(self.table(identity, orElse: "No identity headers."))
            </section>
            """
        )
    }

    private static func page(_ content: String) -> EndpointResponse {
        .html(
            200,
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Demo app - Sallyport</title>
            <link rel="icon" href="\(PageDesign.included.iconURL)">
            <style>\(self.style)</style>
            </head>
            <body>
            <main>
            \(content)
            </main>
            </body>
            </html>

            """,
            styleDigest: self.styleDigest,
            hasImages: true
        )
    }

    // MARK: The card

    private static let brand =
        "<p class=\"kicker\"><img src=\"\(PageDesign.included.iconURL)\" alt=\"\"> Sallyport demo</p>"

    private static func card(_ request: EndpointRequest) -> String {
        func text(_ field: String) -> String { HTMLText.escaped(request.field(field) ?? "") }
        let groups = text("x-auth-groups").split(separator: ",").joined(separator: ", ")
        return """
            <h1>Hello, \(text("x-auth-name"))</h1>
            <p>This app has no sign-in. The gateway in front of it has signed you in.</p>
            \(self.way(request))
            <dl>
            <dt>Account</dt><dd>\(text("x-auth-email"))</dd>
            <dt>Groups</dt><dd>\(groups)</dd>
            </dl>
            \(self.note(request))
            <div class="buttons">
            <form method="post" action="/.sallyport/logout">
            <input type="hidden" name="return_to" value="\(self.nativePath)?\(self.user)=\(text("x-auth-subject"))">
            <button aria-describedby="native">Sign out, then open as the native app</button>
            </form>
            <a class="quiet" href="/.sallyport/sessions">My sessions</a>
            <a class="quiet" href="/.sallyport/logout?return_to=/public/">Sign out</a>
            </div>
            <p class="soft" id="native">Native apps open pages like this one for their user without a sign-in page. The first button
            acts as such an app.</p>
            """
    }

    /// Draws the way of this request from the browser to the app.
    private static func way(_ request: EndpointRequest) -> String {
        let email = HTMLText.escaped(request.field("x-auth-email") ?? "")
        let app = (
            "This app",
            "reads who you are in headers that only the gateway can send: <code>X-Auth-Email: \(email)</code>"
        )
        switch request.field("x-auth-origin") {
        case "transfer":
            return self.flow([
                ("The native app", "is signed in. It opened this page with a token that is valid once, for a minute."),
                ("Sallyport", "took the token out of the URL, and gave your browser a session: no sign-in page."), app,
            ])
        case "native":
            return self.flow([
                ("The native app", "is signed in, and sends its session token."),
                ("Sallyport", "checks the token, and does not pass it on."), app,
            ])
        default:
            return self.flow([
                ("Your browser", "sends only a session cookie."),
                ("Sallyport", "asked for your password once. It checks the cookie each time, and does not pass it on."),
                app,
            ])
        }
    }

    /// Draws the participants in order. Names and sentences are HTML.
    private static func flow(_ parts: [(name: String, sentence: String)]) -> String {
        let items = parts.map { "<li><strong>\($0.name)</strong> <span>\($0.sentence)</span></li>" }
        return "<ol class=\"flow\">\n\(items.joined(separator: "\n"))\n</ol>"
    }

    /// Returns a note for a page that the native app opened in a browser with its own session. Empty for other pages.
    private static func note(_ request: EndpointRequest) -> String {
        guard request.field("x-auth-origin") != "transfer",
            request.head?.split(separator: "\n").first?.utf8.contains(self.isFromNative.utf8) == true
        else { return "" }
        return """
            <p class="note">The native app opened this page, but you were signed in as the same user here: your session
            stays as it is. Sign out, then use the button on the public page.</p>
            """
    }

    private static let publicCard = """
        <h1>A public page</h1>
        <p>Everybody can read this page of the app. For its other pages, the gateway asks visitors to sign in.</p>
        \(flow([
            ("Your browser", "sends its request, signed in or not."),
            ("Sallyport", "lets everybody through to this path, and drops identity headers that visitors send."),
            ("This app", "has no sign-in, and does not know who its visitors are."),
        ]))
        <div class="buttons">
        <form method="post" action="\(nativePath)">
        <button aria-describedby="native">Open as the native app</button>
        </form>
        <a class="quiet" href="/hello">A page that needs a session</a>
        </div>
        <p class="soft" id="native">Native apps open pages for their user without a sign-in page. The first button acts as such an app
        on the phone of \(DemoUser.all[0].name): if nobody is signed in here, \(DemoUser.all[0].name) will be.</p>
        """

    // MARK: The rest

    private static let experiments = """
        <section class="card">
        <h2>Try</h2>
        <ul>
        <li><a href="/board/">A page for a group that you are not in</a>:
        the gateway answers 403, and the app never sees the request.</li>
        <li><a href="/down/">A page whose app is down</a>: the gateway answers 502, with a page that says what to do.</li>
        <li><a href="/hello" target="_blank">This page in another tab</a>: sign out here, then reload it there.</li>
        <li><a href="/.sallyport/login?return_to=/hello">Another account</a>:
        <span class="whole">\(DemoUser.all[1].identifier)</span> /
        <span class="whole">\(DemoUser.all[1].password)</span>.</li>
        <li><a href="\(signInPath)">The native app signs its user in with this browser</a> (web to native): nobody types a
        password, and the app gets its own tokens.</li>
        <li><a href="/public/">A public page</a>: everybody can read it.</li>
        <li><a href="/orders/1">An API for native apps</a>: a browser's session cannot open it, but access tokens can
        (<code>sallyport demo --long-walk</code>).</li>
        </ul>
        </section>
        """

    private static func table(_ fields: [Substring], orElse sentence: String) -> String {
        guard !fields.isEmpty else { return "<p>\(sentence)</p>" }
        let rows = fields.map { field in
            let name = field.prefix { $0 != ":" }
            let value = HTMLText.escaped(String(field.dropFirst(name.count + 2)))
            return "<tr><th scope=\"row\">\(HTMLText.escaped(String(name)))</th><td>\(value)</td></tr>"
        }
        return "<table>\(rows.joined(separator: "\n"))</table>"
    }

    private static let style = """
        :root{color-scheme:light dark;--ground:#f3f5f8;--sheet:#fff;--line:#d5dbe3;--ink:#1a2129;--soft:#566270;\
        --accent:#1f5fbf;--deep:#184a96;--link:#184a96;--tint:#fff6dd;font:100%/1.5 system-ui,sans-serif}
        @media (prefers-color-scheme:dark){:root{--ground:#12161b;--sheet:#1b2128;--line:#323b46;--ink:#e8ecf1;\
        --soft:#a3afbd;--accent:#2f6fd0;--deep:#255cb0;--link:#8ab4f8;--tint:#33301f}}
        body{margin:0;background:var(--ground);color:var(--ink)}
        main{box-sizing:border-box;max-width:48rem;margin:0 auto;padding:1.5rem 1rem}
        .card,details{margin-bottom:1rem;padding:1.5rem;background:var(--sheet);border:1px solid var(--line);\
        border-radius:.75rem}
        .kicker{display:flex;align-items:center;gap:.5rem;margin:0 0 1rem;color:var(--soft);font-size:.875rem}\
        .kicker img{width:1.5rem;height:1.5rem}
        h1{margin:0;font-size:1.75rem;line-height:1.2}
        h2{margin:0 0 .5rem;font-size:1.125rem}details h2{margin-top:1.5rem}
        p{margin:.75rem 0 0}
        dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1.5rem;margin:1rem 0 0}
        dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
        .flow{display:grid;grid-template-columns:1fr 1fr 1fr;gap:2.5rem;margin:1.5rem 0 0;padding:0;list-style:none}\
        .flow li{position:relative;margin:0;padding:.75rem;background:var(--ground);border:1px solid var(--line);\
        border-radius:.375rem;font-size:.875rem}.flow strong,.flow code{display:block}.flow code{margin-top:.25rem;\
        font-size:.8125rem}.flow strong{font-size:1rem}\
        .flow li+li:before{content:"";position:absolute;top:50%;inset-inline-start:-1.75rem;width:.625rem;height:.625rem;\
        border:solid var(--soft);border-width:2px 2px 0 0;transform:rotate(45deg)}\
        [dir=rtl] .flow li+li:before{transform:rotate(-135deg)}
        .soft{color:var(--soft);font-size:.875rem}.whole{white-space:nowrap}
        .note{padding:.75rem;background:var(--tint);border-inline-start:4px solid var(--accent)}
        .buttons{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}
        button,.quiet{box-sizing:border-box;padding:.5rem 1rem;border:1px solid transparent;border-radius:.375rem;\
        font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
        button{background:var(--accent);color:#fff}button:hover{background:var(--deep)}
        .quiet{display:block;border-color:var(--soft);color:inherit}.quiet:hover{background:var(--ground)}
        @media (forced-colors:active){button{border-width:3px}}
        :is(button,a,summary):focus-visible{outline:3px solid #5b9bff;outline-offset:2px}
        ul{margin:0;padding-inline-start:1.25rem}li{margin-top:.5rem}
        summary{cursor:pointer;overflow-wrap:anywhere}
        table{border-collapse:collapse;width:100%}
        th,td{padding:.375rem 0;border-bottom:1px solid var(--line);text-align:start;vertical-align:top}
        th{width:15rem;padding-inline-end:.75rem;font-weight:600}
        td,code{font-family:ui-monospace,monospace;font-size:.9375rem;overflow-wrap:anywhere}
        a{color:var(--link)}
        @media (max-width:36rem){.flow{display:block}.flow li+li{margin-top:1.75rem}\
        .flow li+li:before,[dir=rtl] .flow li+li:before{top:-1.375rem;inset-inline-start:50%;transform:rotate(135deg)}\
        dl{display:block}dt{margin-top:.5rem}tr,th,td{display:block;width:auto}\
        th{border:0;padding-bottom:0}.buttons,.buttons>*,.buttons button{display:block;width:100%}\
        .buttons>*+*{margin-top:.75rem;text-align:center}}
        """

    /// The digest of the style for the CSP, in padded base64 (CSP3 2.3.1).
    private static let styleDigest = Base64.encode(SHA256.digest(Array(style.utf8)).bytes)
}
