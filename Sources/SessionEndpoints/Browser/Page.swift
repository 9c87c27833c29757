internal import Endpoints
internal import Vocabulary

/// The pages of sign-in and sign-out: plain forms, no script.
enum Page {
    static let logout = "/.sallyport/logout"
    static let signedOut = "/.sallyport/signed-out"

    /// The sentence that a page shows above its form. None reveals whether a user exists.
    enum Notice: String, Sendable {
        case refused = "The name or the password is not right. Please try again."
        case incomplete = "Please enter your name and your password."
        case throttled = "Too many attempts. Please wait a moment, then try again."
        case unavailable = "Signing in is not possible at the moment. Please try again shortly."
        case crossSite = "This sign-in did not come from this page. Please enter your password again."
        case again = "The page that you want to open asks you to sign in again."
        case signOutUncertain =
            "Signing out is not possible at the moment: you may still be signed in. Please try again shortly."

        /// Whether the sentence reports no error.
        var isCalm: Bool { self == .again }

        var html: String {
            let (kind, role) = self.isCalm ? ("notice calm", "status") : ("notice", "alert")
            return #"<p class="\#(kind)" id="notice" role="\#(role)">\#(self.rawValue)</p>"#
        }
    }

    /// The sign-in page.
    ///
    /// - Parameters:
    ///   - returnTo: Already sanitised.
    ///   - identifier: The user's input, to be shown again.
    ///   - reason: Why it was refused, which decides the status; nil if it was not (200).
    ///   - wait: The remaining time of a rate limit.
    static func signIn(
        host: String,
        returnTo: String,
        notice: Notice? = nil,
        identifier: String = "",
        reason: Reason? = nil,
        retryAfter wait: Duration? = nil
    ) -> EndpointResponse {
        let describedBy = notice == nil ? "" : #" aria-describedby="notice""#
        let focus = identifier.isEmpty ? (name: " autofocus", password: "") : (name: "", password: " autofocus")
        return .page(
            reason?.status ?? 200,
            WebPage(
                title: "Sign in",
                content: """
                    <p>to continue to <strong>\(HTMLText.escaped(host))</strong></p>
                    \(notice?.html ?? "")
                    <form method="post" action="\(SignInPath.path)">
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
            ),
            fields: reason?.refusal?.retryFields(wait) ?? [],
            reason: reason
        )
    }

    /// The page that says that the user is signed out.
    ///
    /// - Parameter signIn: The path or URL of the sign-in page to which its link leads.
    static func signedOut(signIn: String) -> EndpointResponse {
        .page(
            200,
            WebPage(
                title: "Signed out",
                content: """
                    <p>You are signed out of all pages of this site.</p>
                    <a class="way" href="\(HTMLText.escaped(signIn))">Sign in again</a>
                    """
            )
        )
    }

    /// The page that asks whether to sign out: only the POST of its button does it.
    ///
    /// - Parameter reason: Why it was refused, which decides the status; nil if it was not (200).
    static func signOut(
        host: String,
        returnTo: String,
        notice: Notice? = nil,
        reason: Reason? = nil
    ) -> EndpointResponse {
        .page(
            reason?.status ?? 200,
            WebPage(
                title: "Sign out",
                content: """
                    <p>Do you want to sign out of <strong>\(HTMLText.escaped(host))</strong>?</p>
                    \(notice?.html ?? "")
                    <form method="post" action="\(self.logout)">
                    <input type="hidden" name="return_to" value="\(HTMLText.escaped(returnTo))">
                    <button type="submit">Sign out</button>
                    </form>
                    """
            ),
            fields: reason?.refusal?.retryFields() ?? [],
            reason: reason
        )
    }
}
