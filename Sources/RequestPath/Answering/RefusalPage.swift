import Endpoints
package import Pages
import Vocabulary

/// Renders refusals as pages for people. The only part of the request in a page is the path to return to after sign-in.
extension LocalAnswer {
    /// Returns a problem document as a page for a person, and any other answer unchanged.
    ///
    /// - Parameters:
    ///   - isForm: True if the request carried a form that the user filled in.
    ///   - hasHost: True if the request reached a host that is served.
    ///   - hasSignIn: True if there is a sign-in page.
    package func page(
        by writer: PageWriter,
        requestID: RequestID,
        isForm: Bool,
        hasHost: Bool,
        hasSignIn: Bool
    ) -> LocalAnswer {
        guard self.isProblem, let reason = self.response.reason else { return self }
        // If a native app signed in now, a form's data would be lost before the user reads that it was not sent.
        let native = isForm ? nil : self.response.native
        let words = RefusalWords(reason, isForm: isForm, asksApp: native != nil)
        let language = writer.language
        // The account follows the sentence about what happened.
        let account = self.response.account.map { language.html(.pageAccount, ["account": $0]) }
        let paragraphs = [
            HTMLText.escaped(self.response.explanation ?? words.event(in: language)), account,
            HTMLText.escaped(words.advice(in: language)), self.wait(reason, language).map(HTMLText.escaped),
        ]
        var content = paragraphs.compactMap(\.self).map { "<p>\($0)</p>\n" }.joined()
        if let way = self.link(words.way, hasHost: hasHost, hasSignIn: hasHost && hasSignIn) {
            // The link leaves any frame, because the gateway's pages must not be framed.
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
        // The page's URL may contain data that links must not disclose, so the refusal's own policy applies.
        if self.response.fields.contains(where: { $0.name == "referrer-policy" }) {
            page.fields.removeAll { $0.name == "referrer-policy" }
        }
        return self.rendered(as: page)
    }

    /// Returns the text for the wait in `Retry-After`. `nil` if the refusal is not a rate limit or states no wait.
    private func wait(_ reason: Reason, _ language: PageLanguage) -> String? {
        guard reason.status == 429,
            let field = self.response.fields.first(where: { $0.name.lowercased() == "retry-after" }),
            let seconds = Int(field.value)
        else { return nil }
        return language.wait(seconds: seconds)
    }

    private func link(
        _ way: RefusalWords.Way,
        hasHost: Bool,
        hasSignIn: Bool
    ) -> (target: String, label: PageText)? {
        let signIn = self.response.signIn ?? SignInPath.path
        return switch way {
        case .none: nil
        // An empty reference is the page's own URL (RFC 3986 4.4), so the page does not have to contain the URL. A
        // failed sign-in starts again, because its URL contains a code that may have been used.
        case .again: (self.response.signIn ?? "", .linkAgain)
        // A host that is not served has no page to link to.
        case .start: hasHost ? ("/", .linkStart) : nil
        case .client: self.response.signIn.map { ($0, .linkClient) }
        case .signIn: hasSignIn ? (signIn, .linkSignIn) : nil
        case .signInAgain: hasSignIn ? (signIn, .linkAgain) : nil
        case .otherAccount: hasSignIn ? (signIn, .linkOtherAccount) : nil
        case .sessions: hasSignIn ? (SessionsPage.path, .sessionsTitle) : nil
        }
    }
}
