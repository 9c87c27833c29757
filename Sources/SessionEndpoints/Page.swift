import Cryptography
internal import Endpoints
internal import Vocabulary

/// The gateway's pages: plain forms, no script, one style whose digest the policy allows.
enum Page {
    static let login = "/.sallyport/login"
    static let logout = "/.sallyport/logout"

    /// Which of the sign-in page's sentences to show. None tells whether a user exists (T33).
    enum Notice: String, Sendable {
        case refused = "The name or the password is not right. Please try again."
        case incomplete = "Please enter your name and your password."
        case throttled = "Too many attempts. Please wait a moment, then try again."
        case unavailable = "Signing in is not possible at the moment. Please try again shortly."
        case crossSite = "This sign-in did not come from this page. Please enter your password again."
    }

    /// The sign-in page.
    ///
    /// - Parameters:
    ///   - returnTo: Already sanitised.
    ///   - identifier: What the user typed, to be shown again.
    static func signIn(
        _ status: Int,
        host: String,
        returnTo: String,
        notice: Notice? = nil,
        identifier: String = "",
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        let alert = notice.map { #"<p class="notice" id="notice" role="alert">\#($0.rawValue)</p>"# } ?? ""
        let describedBy = notice == nil ? "" : #" aria-describedby="notice""#
        let focus = identifier.isEmpty ? (name: " autofocus", password: "") : (name: "", password: " autofocus")
        return self.page(
            status,
            title: "Sign in",
            fields: fields,
            reason: reason,
            content: """
                <p>to continue to <strong>\(HTMLText.escaped(host))</strong></p>
                \(alert)
                <form method="post" action="\(self.login)">
                <input type="hidden" name="return_to" value="\(HTMLText.escaped(returnTo))">
                <label for="identifier">Email or user name</label>
                <input id="identifier" name="identifier" type="text" autocomplete="username" autocapitalize="none" \
                spellcheck="false" maxlength="256" required value="\(HTMLText.escaped(identifier))"\(focus.name)\(describedBy)>
                <label for="password">Password</label>
                <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" \
                required\(focus.password)\(describedBy)>
                <button type="submit">Sign in</button>
                </form>
                """
        )
    }

    /// Asks whether to sign out: only the button's POST does.
    static func signOut(
        _ status: Int,
        host: String,
        returnTo: String,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        self.page(
            status,
            title: "Sign out",
            fields: fields,
            reason: reason,
            content: """
                <p>Do you want to sign out of <strong>\(HTMLText.escaped(host))</strong>?</p>
                <form method="post" action="\(self.logout)">
                <input type="hidden" name="return_to" value="\(HTMLText.escaped(returnTo))">
                <button type="submit">Sign out</button>
                </form>
                """
        )
    }

    private static func page(
        _ status: Int,
        title: String,
        fields: [(name: String, value: String)],
        reason: Reason?,
        content: String
    ) -> EndpointResponse {
        .html(
            status,
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <title>\(title)</title>
            <style>\(self.style)</style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(content)
            </main>
            </body>
            </html>

            """,
            styleDigest: self.styleDigest,
            fields: fields,
            reason: reason
        )
    }

    private static let style = """
        :root{color-scheme:light dark;font:100%/1.5 system-ui,sans-serif}
        body{margin:0;min-height:100vh;display:grid;place-items:center;background:Canvas;color:CanvasText}
        main{box-sizing:border-box;width:min(24rem,100%);padding:1.5rem}
        h1{margin:0;font-size:1.5rem;line-height:1.2}
        p{margin:.5rem 0 1rem;overflow-wrap:anywhere}
        label{display:block;margin-top:1rem;font-weight:600}
        input,button{box-sizing:border-box;width:100%;padding:.625rem .75rem;font:inherit;border-radius:.375rem}
        input{margin-top:.25rem;border:1px solid GrayText}
        button{margin-top:1.5rem;border:0;background:#1f5fbf;color:#fff;font-weight:600;cursor:pointer}
        button:hover{background:#184a96}
        input:focus-visible,button:focus-visible{outline:3px solid #5b9bff;outline-offset:2px}
        .notice{padding:.75rem;border-left:4px solid #c62828;background:#c6282814}
        """

    /// The digest in the base64 of CSP, with its padding.
    private static let styleDigest =
        SHA256.digest(Array(style.utf8)).base64URL.replacing("-", with: "+").replacing("_", with: "/") + "="
}
