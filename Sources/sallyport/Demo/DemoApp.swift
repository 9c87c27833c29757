import Cryptography
import Endpoints
import Pages
import Providers
import Settings
import Transport
import Vocabulary

/// The app behind the demo's gateway. It knows nothing of sign-in, and shows the request that it received. For visitors
/// without a native app, its public page has a button that plays one.
enum DemoApp {
    /// Where the button is posted: a public page, like the one that it is on.
    private static let nativePath = "/public/native-app"

    /// Starts the app on a free port of loopback.
    ///
    /// - Parameter gateway: The gateway's origin, for the native app.
    static func start(gateway: String) async throws -> EndpointServer {
        let group = try TransportGroup(count: 1)
        let client = ProviderHTTPClient(group: group)
        let native = DemoNativeApp(gateway: gateway, transport: try client.transport())
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        let app = Endpoint(path: "/**", methods: methods, bodyLimit: 1 << 20, isApp: true) { request in
            if request.method == "POST", request.path == self.nativePath { return await self.opened(by: native) }
            let wantsPage = request.field("accept")?.lowercased().utf8.contains("text/html".utf8) ?? false
            return wantsPage ? self.page(request) : self.text(request)
        }
        let listener = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 0))
        return try await EndpointServer.start(listener, setting: "the demo's app", on: group.loops[0], [app])
    }

    /// Opens a page in the browser as the native app does.
    private static func opened(by native: DemoNativeApp) async -> EndpointResponse {
        do {
            let token = try await native.transferToken(for: DemoUser.all[0])
            return .seeOther("/hello?session_transfer_token=\(token)")
        } catch {
            return .text(502, "The native app got no transfer token: \(error)\n")
        }
    }

    /// The request as text: its first line, then the fields in order.
    private static func text(_ request: EndpointRequest) -> EndpointResponse {
        let body = request.body.isEmpty ? "" : "\n(a body of \(request.body.count) bytes)\n"
        return .text(200, "\(request.head ?? "")\n\(body)")
    }

    /// The request as a page, with what the gateway says about the user first.
    private static func page(_ request: EndpointRequest) -> EndpointResponse {
        let lines = (request.head ?? "").split(separator: "\n")
        let identity = lines.dropFirst().filter { $0.lowercased().hasPrefix("x-auth-") }
        let others = lines.dropFirst().filter { !$0.lowercased().hasPrefix("x-auth-") }
        let user = request.field("x-auth-name")
        let greeting = user.map { "Hello, \(HTMLText.escaped($0))" } ?? "Hello, stranger"
        let link =
            identity.isEmpty
            ? #"<a href="/hello">Open a page that needs a session</a>"#
            : #"<a href="/.sallyport/logout?return_to=/public/">Sign out</a>"#
        return .html(
            200,
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Demo app</title>
            <style>\(self.style)</style>
            </head>
            <body>
            <main>
            <h1>\(greeting)</h1>
            <p>This is the app behind the gateway. It received <code>\(HTMLText.escaped(String(lines.first ?? "")))</code> with these headers. \(link)</p>
            \(identity.isEmpty ? self.nativeForm : "")
            <h2>Set by the gateway</h2>
            \(self.table(identity, orElse: "No identity headers: no user is signed in here."))
            <h2>The rest</h2>
            \(self.table(others, orElse: "Nothing."))
            </main>
            </body>
            </html>

            """,
            styleDigest: self.styleDigest
        )
    }

    private static let nativeForm = """
        <form method="post" action="\(nativePath)">
        <p>A native app can open that page for its user without a login page: it mints a session-transfer token and adds it to
        the URL. The gateway takes it out again and signs the browser in, with <code>X-Auth-Origin: transfer</code>.</p>
        <button>Open as the native app does</button>
        </form>
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
        :root{color-scheme:light dark;font:100%/1.5 system-ui,sans-serif}
        body{margin:0;background:Canvas;color:CanvasText}
        main{box-sizing:border-box;max-width:52rem;margin:0 auto;padding:2rem 1.5rem}
        h1{margin:0;font-size:1.75rem;line-height:1.2}
        h2{margin:2rem 0 .5rem;font-size:1.125rem}
        table{border-collapse:collapse;width:100%}
        th,td{padding:.375rem .75rem .375rem 0;border-bottom:1px solid #8884;text-align:left;vertical-align:top}
        th{width:14rem;font-weight:600}
        td,code{font-family:ui-monospace,monospace;font-size:.9375rem;overflow-wrap:anywhere}
        button{padding:.5rem .875rem;font:inherit}
        a{color:#1f5fbf}
        @media (prefers-color-scheme:dark){a{color:#8ab8ff}}
        """

    /// In the padded base64 of CSP (CSP3 2.3.1).
    private static let styleDigest = Base64.encode(SHA256.digest(Array(style.utf8)).bytes)
}
