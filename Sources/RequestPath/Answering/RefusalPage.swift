import Endpoints
package import Pages
import Vocabulary

/// Renders refusals as pages for people. From the request, a page contains only the path to return to and the request
/// id that a trusted proxy has sent.
extension LocalAnswer {
    /// Returns a refusal as a page for a person. Returns any other answer unchanged.
    ///
    /// - Parameters:
    ///   - isForm: True if the request carried a form that the user filled in.
    ///   - hasHost: True if the gateway serves the requested host.
    ///   - hasSignIn: True if the host has a sign-in page.
    package func page(
        by writer: PageWriter,
        requestID: RequestID,
        isForm: Bool,
        hasHost: Bool,
        hasSignIn: Bool
    ) -> LocalAnswer {
        guard self.isProblem, let reason = self.response.reason else { return self }
        // A form's page asks no app to sign in: it would be replaced before the user reads that nothing was sent.
        let native = isForm ? nil : self.response.native
        let words = RefusalWords(reason, isForm: isForm, asksApp: native != nil)
        let language = writer.language
        let account = self.response.account.map { language.html(.pageAccount, ["account": $0]) }
        let paragraphs = [
            HTMLText.escaped(self.response.explanation ?? words.event(in: language)), account,
            HTMLText.escaped(words.advice(in: language)), self.wait(reason, language).map(HTMLText.escaped),
        ]
        var content = paragraphs.compactMap(\.self).map { "<p>\($0)</p>\n" }.joined()
        if let way = self.link(words.way, hasHost: hasHost, hasSignIn: hasHost && hasSignIn) {
            // These pages of the gateway must not be framed, so the link opens in the top window.
            let unframed: [RefusalWords.Way] = [.signIn, .signInAgain, .client, .otherAccount, .sessions]
            let target = unframed.contains(words.way) ? " target=\"_top\"" : ""
            let reference = HTMLText.escaped(writer.path(way.target))
            content +=
                "<a class=\"way\" href=\"\(reference)\"\(target)>\(HTMLText.escaped(language.text(way.label)))</a>\n"
        }
        content += """
            <p class="facts">\(HTMLText.escaped(language.text(.pageReason))) \
            <code>\(HTMLText.escaped(reason.rawValue))</code><br>\
            \(HTMLText.escaped(language.text(.pageRequest))) <code>\(HTMLText.escaped(requestID.text))</code></p>
            """
        var page = EndpointResponse.page(
            self.response.status,
            WebPage(.error, title: words.title(in: language), content: content, script: native?.script),
            by: writer,
            framing: .ownOrigin,
            reason: reason
        )
        // A refusal's own `Referrer-Policy` replaces the page's policy, because the URL may contain secrets.
        if self.response.fields.contains(where: { $0.name == "referrer-policy" }) {
            page.fields.removeAll { $0.name == "referrer-policy" }
        }
        return self.rendered(as: page)
    }

    /// Returns the text for the wait in `Retry-After`. `nil` if the status is not 429 or the field has no seconds.
    private func wait(_ reason: Reason, _ language: PageLanguage) -> String? {
        guard reason.status == 429,
            let field = self.response.fields.first(where: { $0.name.lowercased() == "retry-after" }),
            let seconds = Int(field.value)
        else { return nil }
        return language.wait(seconds: seconds)
    }

    private func link(_ way: RefusalWords.Way, hasHost: Bool, hasSignIn: Bool) -> (target: String, label: PageText)? {
        let signIn = self.response.signIn ?? SignInPath.path
        return switch way {
        case .none: nil
        // An empty reference links to the current URL (RFC 3986 4.4). After a failed sign-in, that URL may contain a
        // used code, so the link starts a new sign-in.
        case .again: (self.response.signIn ?? "", .linkAgain)
        case .start: hasHost ? ("/", .linkStart) : nil
        case .client: self.response.signIn.map { ($0, .linkClient) }
        case .signIn: hasSignIn ? (signIn, .linkSignIn) : nil
        case .signInAgain: hasSignIn ? (signIn, .linkAgain) : nil
        case .otherAccount: hasSignIn ? (signIn, .linkOtherAccount) : nil
        case .sessions: hasSignIn ? (SessionsPage.path, .sessionsTitle) : nil
        }
    }
}
