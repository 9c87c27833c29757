package import Endpoints
import Vocabulary

/// Refusals as pages for people. The only part of the request in the page is the path to which a sign-in leads back.
extension LocalAnswer {
    /// An endpoint's answer.
    package init(_ response: EndpointResponse) {
        self.init(status: response.status, reason: response.reason, fields: response.fields, body: response.body)
        self.signIn = response.signIn
        self.explanation = response.explanation
        self.native = response.native
        self.isProblem = response.fields.contains {
            $0.name == "content-type" && $0.value == ProblemDocument.mediaType
        }
    }

    /// The same answer for a person: a page instead of a problem document, any other answer unchanged.
    ///
    /// - Parameters:
    ///   - isForm: Whether the request carried a form that the user filled in.
    ///   - hasHost: Whether the request reached a host that is served.
    ///   - hasSignIn: Whether there is a sign-in page.
    package func page(requestID: RequestID, isForm: Bool, hasHost: Bool, hasSignIn: Bool) -> LocalAnswer {
        guard self.isProblem, let reason = self.reason else { return self }
        // A form's data would be lost before the user reads that it was not sent.
        let native = isForm ? nil : self.native
        let words = RefusalWords(reason, isForm: isForm, asksApp: native != nil)
        var content =
            "<p>\(HTMLText.escaped(self.explanation ?? words.event))</p>\n<p>\(HTMLText.escaped(words.advice))</p>\n"
        if let way = self.link(words.way, hasHost: hasHost, hasSignIn: hasHost && hasSignIn) {
            // The link leaves any frame, because the sign-in page must not be framed.
            let target = [.signIn, .signInAgain, .client, .otherAccount].contains(words.way) ? " target=\"_top\"" : ""
            let reference = HTMLText.escaped(way.target)
            content += "<a class=\"way\" href=\"\(reference)\"\(target)>\(HTMLText.escaped(way.label))</a>\n"
        }
        content += """
            <p class="facts">Reason <code>\(HTMLText.escaped(reason.rawValue))</code><br>\
            Request <code>\(HTMLText.escaped(requestID.text))</code></p>
            """
        var page = EndpointResponse.page(
            self.status,
            WebPage(title: words.title, content: content, script: native?.script),
            framing: .ownOrigin,
            reason: reason
        )
        // The URL of a page may hold what its links must not tell.
        if self.fields.contains(where: { $0.name == "referrer-policy" }) {
            page.fields.removeAll { $0.name == "referrer-policy" }
        }
        return self.rendered(as: page)
    }

    private func link(
        _ way: RefusalWords.Way,
        hasHost: Bool,
        hasSignIn: Bool
    ) -> (target: String, label: String)? {
        let signIn = self.signIn ?? SignInPath.path
        return switch way {
        case .none: nil
        // An empty reference is the page's own URL (RFC 3986 4.4), so the URL and its content need not be written into
        // the page. A sign-in that failed begins anew: its URL holds a code that may have been used.
        case .again: (self.signIn ?? "", "Try again")
        // On a host that is not served there is no page to link to.
        case .start: hasHost ? ("/", "Go to the start page") : nil
        case .client: self.signIn.map { ($0, "Go back to the app") }
        case .signIn: hasSignIn ? (signIn, "Sign in") : nil
        case .signInAgain: hasSignIn ? (signIn, "Try again") : nil
        case .otherAccount: hasSignIn ? (signIn, "Sign in with another account") : nil
        }
    }
}
