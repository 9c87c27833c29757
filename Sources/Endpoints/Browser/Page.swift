import Pages
import Vocabulary

/// The pages of sign-in and sign-out: plain forms that need no script.
enum Page {
    static let logout = "/.sallyport/logout"
    static let signedOut = "/.sallyport/signed-out"
    /// The field of the sign-in form with which the user stays signed in after the browser closes.
    static let staySignedIn = "stay_signed_in"

    /// The hidden field of the form for the address, which has no password.
    static let identifierFirst = "identifier_first"

    /// The sentence above a page's form. No sentence reveals whether a user exists.
    enum Notice: Sendable {
        case refused
        case incomplete
        /// The form for the address was posted without an address.
        case noIdentifier
        /// Too many attempts. The value is the remaining time of the limit.
        case throttled(Duration)
        case unavailable
        case crossSite
        case again
        /// A transfer token could not sign the user in.
        case handoff
        /// The session ended for a reason that is unknown or not shown.
        case ended
        /// The session exceeded its idle timeout, which is the value. `nil` if the timeout is unknown.
        case idle(Duration?)
        /// The session reached its maximum lifetime, which is the value. `nil` if the lifetime is unknown.
        case expired(Duration?)
        case signOutUncertain

        /// Whether the user's input is wrong.
        var isOfInput: Bool {
            switch self {
            case .refused, .incomplete, .noIdentifier: true
            default: false
            }
        }

        /// Creates the notice for a sign-in that failed.
        init(_ error: NotDone) {
            if let wait = error.retryAfter {
                self = .throttled(wait)
            } else {
                self = error.isUnavailable ? .unavailable : .refused
            }
        }

        private var text: PageText {
            switch self {
            case .refused: .noticeRefused
            case .incomplete: .noticeIncomplete
            case .noIdentifier: .noticeNoIdentifier
            case .throttled: .noticeThrottled
            case .unavailable: .noticeUnavailable
            case .crossSite: .noticeCrossSite
            case .again: .noticeAgain
            case .handoff: .noticeHandoff
            case .ended: .noticeEnded
            case .idle(let time): time == nil ? .noticeIdle : .noticeIdleFor
            case .expired(let time): time == nil ? .noticeExpired : .noticeExpiredAfter
            case .signOutUncertain: .noticeSignOutUncertain
            }
        }

        func html(in language: PageLanguage) -> String {
            // True for sentences that only say why the user sees the page.
            let isCalm =
                switch self {
                case .again, .handoff, .ended, .idle, .expired: true
                default: false
                }
            var text: String
            switch self {
            case .idle(let time?), .expired(let time?): text = language.html(self.text, ["time": language.time(time)])
            default: text = language.html(self.text)
            }
            if case .throttled(let wait) = self {
                text += " " + HTMLText.escaped(language.wait(seconds: Int(wait.retryAfter) ?? 1))
            }
            let (kind, role) = isCalm ? ("notice calm", "status") : ("notice", "alert")
            return #"<p class="\#(kind)" id="notice" role="\#(role)">\#(text)</p>"#
        }
    }

    /// The target of a form, and its hidden fields.
    struct Form: Sendable {
        let action: String
        let hidden: [(name: String, value: String)]

        /// Returns the form of the sign-in page.
        ///
        /// - Parameter returnTo: A sanitised path.
        static func signIn(returnTo: String) -> Form {
            Form(action: SignInPath.path, hidden: [("return_to", returnTo)])
        }

        /// Returns a form for the user's address only.
        static func identifier(to action: String) -> Form {
            Form(action: action, hidden: [(Page.identifierFirst, "1")])
        }

        func html(by pages: PageWriter) -> String {
            let inputs = self.hidden.map { name, value in
                #"<input type="hidden" name="\#(name)" value="\#(HTMLText.escaped(value))">"#
            }
            let action = HTMLText.escaped(pages.path(self.action))
            return ([#"<form method="post" action="\#(action)">"#] + inputs).joined(separator: "\n")
        }
    }

    /// Shows the typed password on request, and hides it on submit, so that password managers recognize the field. Also
    /// shows a hint while Caps Lock is on. The hint stays when the field loses focus, so that the button does not move
    /// while the user presses it.
    private static let passwordScript = WebPage.Script(
        """
        const box=document.getElementById("show"),field=document.getElementById("password"),\
        hint=document.getElementById("caps");\
        box.parentElement.hidden=false;\
        box.onchange=()=>{field.type=box.checked?"text":"password"};\
        field.form.onsubmit=()=>{field.type="password"};\
        field.onkeydown=field.onkeyup=field.onmousedown=event=>{\
        hint.textContent=event.getModifierState?.("CapsLock")?hint.dataset.on:""}
        """
    )

    /// A link to a provider.
    struct Link: Sendable {
        let button: ProviderButton
        let path: String
        /// Whether the provider is known to be down. The link stays, because the provider may be back.
        let isAway: Bool
        /// Whether the browser used the provider last.
        let isLast: Bool

        func html(by pages: PageWriter) -> String {
            let language = pages.language
            let note: PageText? = self.isAway ? .signInAway : self.isLast ? .signInLastUsed : nil
            return self.button.html(
                leadingTo: pages.path(self.path),
                text: language.text(.signInProvider, ["provider": self.button.label]),
                note: note.map { language.text($0) },
                isAway: self.isAway
            )
        }
    }

    /// The session of a browser that is already signed in.
    struct Current: Sendable {
        /// The name of the account, as the user knows it.
        let account: String
        /// The page to which the user can continue.
        let returnTo: String

        func html(by pages: PageWriter) -> String {
            let language = pages.language
            return """
                <p class="notice calm" id="notice" role="status">\(language.html(.pageAccount, ["account": self.account]))</p>
                <a class="way" href="\(HTMLText.escaped(self.returnTo))">\(language.html(.signInContinue))</a>
                <p class="or">\(language.html(.signInOther))</p>
                """
        }
    }

    /// The ways to sign in that a page offers.
    struct Offer: Sendable {
        /// The form for a password. `nil` if no provider accepts passwords here.
        let form: Form?
        /// Whether the form is above the links.
        let isFormFirst: Bool
        let links: [Link]
    }

    /// Returns the sign-in page.
    ///
    /// - Parameters:
    ///   - offersToStay: Whether the user can choose to stay signed in after the browser closes.
    ///   - current: The browser's session, if the user can continue with it.
    ///   - identifier: The user's input, shown again in the form.
    ///   - reason: The reason of a refusal. It decides the status. `nil` for 200.
    static func signIn(
        _ request: EndpointRequest,
        _ offer: Offer,
        offersToStay: Bool = false,
        current: Current? = nil,
        notice: Notice? = nil,
        identifier: String = "",
        reason: Reason? = nil
    ) -> EndpointResponse {
        let pages = request.pages
        let language = pages.language
        let wait: Duration? = if case .throttled(let wait) = notice { wait } else { nil }
        let links = offer.links.map { $0.html(by: pages) }.joined(separator: "\n")
        let form = offer.form.map { form in
            self.html(
                of: form,
                by: pages,
                offersToStay: offersToStay,
                notice: notice,
                takesFocus: current == nil && (offer.isFormFirst || notice != nil),
                identifier: identifier
            )
        }
        let parts = (offer.isFormFirst ? [form, links] : [links, form]).compactMap { $0 }.filter { !$0.isEmpty }
        let or = #"<p class="or">\#(language.html(.signInOr))</p>"#
        let page = WebPage(
            .login,
            title: language.text(.signInTitle),
            content: """
                <p>\(language.html(.signInHost, ["host": request.authority]))</p>
                \(notice?.html(in: language) ?? current?.html(by: pages) ?? "")
                \(parts.joined(separator: "\n\(or)\n"))
                """,
            script: form == nil ? nil : self.passwordScript
        )
        return .page(
            reason?.status ?? 200,
            page,
            by: pages,
            fields: reason?.refusal?.retryFields(wait) ?? [],
            reason: reason
        )
    }

    /// Returns the form for a password as markup. `notice` is shown above the form.
    private static func html(
        of form: Form,
        by pages: PageWriter,
        offersToStay: Bool,
        notice: Notice?,
        takesFocus: Bool,
        identifier: String
    ) -> String {
        let language = pages.language
        let invalid = notice?.isOfInput == true ? #" aria-invalid="true""# : ""
        let describedBy = notice == nil ? "" : #" aria-describedby="notice"\#(invalid)"#
        let autofocus = takesFocus ? " autofocus" : ""
        let focus = identifier.isEmpty ? (name: autofocus, password: "") : (name: "", password: autofocus)
        let stay =
            """

            <label class="choice"><input name="\(staySignedIn)" type="checkbox" value="1"> \(language.html(.signInStay))</label>
            """
        return """
            \(form.html(by: pages))
            \(Self.identifierField(identifier, focus.name + describedBy, in: language))
            <label for="password">\(language.html(.signInPassword))</label>
            <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" \
            required\(focus.password)\(describedBy)>
            <div class="caps" id="caps" role="status" data-on="\(language.html(.signInCapsLock))"></div>
            <label class="choice" hidden><input id="show" type="checkbox" autocomplete="off"> \
            \(language.html(.signInShowPassword))</label>\(offersToStay ? stay : "")
            <button type="submit">\(language.html(.signInSubmit))</button>
            </form>
            """
    }

    /// Returns the field for an address or name, with its label.
    ///
    /// - Parameters:
    ///   - value: The content, not yet escaped.
    ///   - attributes: Additional attributes, as markup.
    private static func identifierField(_ value: String, _ attributes: String, in language: PageLanguage) -> String {
        """
        <label for="identifier">\(language.html(.signInIdentifier))</label>
        <input id="identifier" name="identifier" type="text" autocomplete="username" autocapitalize="none" \
        spellcheck="false" maxlength="256" required value="\(HTMLText.escaped(value))"\(attributes)>
        """
    }

    /// Returns the sign-in page that asks for the user's address first. The page does not depend on the user.
    ///
    /// - Parameter reason: The reason of a refusal. It decides the status. `nil` for 200.
    static func askForIdentifier(
        _ request: EndpointRequest,
        _ form: Form,
        notice: Notice? = nil,
        reason: Reason? = nil
    ) -> EndpointResponse {
        let pages = request.pages
        let language = pages.language
        let invalid = notice?.isOfInput == true ? #" aria-invalid="true""# : ""
        let describedBy = notice == nil ? "" : #" aria-describedby="notice"\#(invalid)"#
        return .page(
            reason?.status ?? 200,
            WebPage(
                .login,
                title: language.text(.signInTitle),
                content: """
                    <p>\(language.html(.signInHost, ["host": request.authority]))</p>
                    \(notice?.html(in: language) ?? "")
                    \(form.html(by: pages))
                    \(Self.identifierField("", " autofocus" + describedBy, in: language))
                    <button type="submit">\(language.html(.signInContinue))</button>
                    </form>
                    """
            ),
            by: pages,
            reason: reason
        )
    }

    /// Returns the page that says that the user is signed out.
    ///
    /// - Parameter signIn: The path or URL of the sign-in page that the page links to.
    static func signedOut(_ request: EndpointRequest, signIn: String) -> EndpointResponse {
        let pages = request.pages
        return .page(
            200,
            WebPage(
                .signedOut,
                title: pages.language.text(.signedOutTitle),
                content: """
                    <p>\(pages.language.html(.signedOutText))</p>
                    <a class="way" href="\(HTMLText.escaped(pages.path(signIn)))">\(pages.language.html(.signedOutSignIn))</a>
                    """
            ),
            by: pages
        )
    }

    /// Returns the page that asks whether to sign out. Only the POST of its button signs out.
    ///
    /// - Parameters:
    ///   - returnTo: The page after sign-out.
    ///   - stay: The page for a user who stays signed in.
    ///   - reason: The reason of a refusal. It decides the status. `nil` for 200.
    static func signOut(
        _ request: EndpointRequest,
        returnTo: String,
        stay: String = "/",
        notice: Notice? = nil,
        reason: Reason? = nil
    ) -> EndpointResponse {
        let pages = request.pages
        return .page(
            reason?.status ?? 200,
            WebPage(
                .signOut,
                title: pages.language.text(.signOutTitle),
                content: """
                    <p>\(pages.language.html(.signOutQuestion, ["host": request.authority]))</p>
                    \(notice?.html(in: pages.language) ?? "")
                    <form method="post" action="\(pages.path(self.logout))">
                    <input type="hidden" name="return_to" value="\(HTMLText.escaped(returnTo))">
                    <button type="submit">\(pages.language.html(.signOutSubmit))</button>
                    </form>
                    <a class="way quiet" href="\(HTMLText.escaped(pages.path(stay)))">\(pages.language.html(.signOutStay))</a>
                    """
            ),
            by: pages,
            fields: reason?.refusal?.retryFields() ?? [],
            reason: reason
        )
    }

    /// The field of the form that confirms a sign-in with a transfer token.
    static let handoffProof = "proof"

    /// Returns the page that asks whether a transfer token may sign the user in. Only the POST of its button signs in.
    ///
    /// - Parameters:
    ///   - account: The name of the account that the token signs in.
    ///   - actor: The actor who acts for the user. `nil` if nobody does.
    ///   - proof: The value that the form sends back.
    ///   - elsewhere: The URL of the wanted page, for a user who does not want the account.
    static func confirmHandoff(
        _ request: EndpointRequest,
        account: String,
        actor: String?,
        proof: Secret,
        elsewhere: String
    ) -> EndpointResponse {
        let pages = request.pages
        let language = pages.language
        let question = actor.map { language.html(.confirmActor, ["actor": $0]) } ?? language.html(.confirmOwn)
        return .page(
            200,
            WebPage(
                .confirm,
                title: language.text(.confirmTitle),
                content: """
                    <p>\(language.html(.confirmAccount, ["host": request.authority, "account": account]))</p>
                    <p>\(question)</p>
                    <form method="post" action="\(pages.path(HandoffPath.path))">
                    <input type="hidden" name="\(self.handoffProof)" value="\(String(decoding: proof.bytes, as: UTF8.self))">
                    <button type="submit">\(language.html(.confirmSubmit))</button>
                    </form>
                    <a class="way quiet" href="\(HTMLText.escaped(elsewhere))">\(language.html(.confirmElsewhere))</a>
                    """
            ),
            by: pages
        )
    }
}
