internal import Endpoints
internal import Vocabulary

/// The pages of sign-in and sign-out: plain forms, no script.
enum Page {
    static let logout = "/.sallyport/logout"
    static let signedOut = "/.sallyport/signed-out"
    /// The field of the sign-in form by which the user stays signed in when the browser closes.
    static let staySignedIn = "stay_signed_in"

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

    /// Where a form is posted, and what goes along with the user's input.
    struct Form: Sendable {
        let action: String
        let hidden: [(name: String, value: String)]

        /// The form of the sign-in page.
        ///
        /// - Parameter returnTo: Already sanitised.
        static func signIn(returnTo: String) -> Form {
            Form(action: SignInPath.path, hidden: [("return_to", returnTo)])
        }

        var html: String {
            let inputs = self.hidden.map { name, value in
                #"<input type="hidden" name="\#(name)" value="\#(HTMLText.escaped(value))">"#
            }
            return ([#"<form method="post" action="\#(self.action)">"#] + inputs).joined(separator: "\n")
        }
    }

    /// The sign-in page.
    ///
    /// - Parameters:
    ///   - offersToStay: Whether the user chooses how long to stay signed in.
    ///   - identifier: The user's input, to be shown again.
    ///   - reason: Why it was refused, which decides the status; nil if it was not (200).
    ///   - wait: The remaining time of a rate limit.
    static func signIn(
        host: String,
        form: Form,
        offersToStay: Bool = false,
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
                    \(form.html)
                    <label for="identifier">Email or user name</label>
                    <input id="identifier" name="identifier" type="text" autocomplete="username" autocapitalize="none" \
                    spellcheck="false" maxlength="256" required value="\(HTMLText.escaped(identifier))"\(focus.name)\(describedBy)>
                    <label for="password">Password</label>
                    <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" \
                    required\(focus.password)\(describedBy)>\(offersToStay ? self.stayBox : "")
                    <button type="submit">Sign in</button>
                    </form>
                    """
            ),
            fields: reason?.refusal?.retryFields(wait) ?? [],
            reason: reason
        )
    }

    private static let stayBox = """

        <label class="choice"><input name="\(staySignedIn)" type="checkbox" value="1"> Keep me signed in on this device</label>
        """

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

    /// The field of the form that confirms a sign-in by a link.
    static let handoffProof = "proof"

    /// The page that asks whether a link may sign the user in: only the POST of its button does it.
    ///
    /// - Parameters:
    ///   - account: The name of the account that the link signs in.
    ///   - actor: Who acts for its user; nil: nobody.
    ///   - proof: What the form brings back.
    ///   - elsewhere: The URL of the page that the user wanted, for a user who does not want that account.
    static func confirmHandoff(
        host: String,
        account: String,
        actor: String?,
        proof: Secret,
        elsewhere: String
    ) -> EndpointResponse {
        let question =
            actor.map {
                "Continue only if you are <strong>\(HTMLText.escaped($0))</strong>, who acts for this account."
            }
            ?? "Continue only if this is your own account and you have asked for the link."
        return .page(
            200,
            WebPage(
                title: "Sign in with this link?",
                content: """
                    <p>The link signs you in to <strong>\(HTMLText.escaped(host))</strong> as \
                    <strong>\(HTMLText.escaped(account))</strong>.</p>
                    <p>\(question)</p>
                    <form method="post" action="\(HandoffPath.path)">
                    <input type="hidden" name="\(self.handoffProof)" value="\(String(decoding: proof.bytes, as: UTF8.self))">
                    <button type="submit">Sign in</button>
                    </form>
                    <p><a href="\(HTMLText.escaped(elsewhere))">Go on without this account</a></p>
                    """
            )
        )
    }
}
