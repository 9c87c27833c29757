import Pages
import Vocabulary

/// How the answer to an authorization request reaches the client through the browser.
struct AuthorizationAnswer: Sendable {
    /// The `response_mode`.
    enum Mode: Sendable {
        case query
        /// A page with a form that posts the answer (OAuth 2.0 Form Post Response Mode).
        case formPost
        /// A page that passes the answer to a page of this origin (`WebMessagePage`).
        case webMessage(origin: String)

        /// The names of all modes, in the order of the metadata.
        static let names = ["query", "form_post", "web_message"]
    }

    /// The registered URI that receives the answer.
    let redirectURI: String
    let state: String?
    let mode: Mode
    /// The issuer (`iss`). It tells a client of several servers which server answers (RFC 9207).
    let issuer: String
    let pages: PageWriter

    func code(_ code: Secret) -> EndpointResponse {
        self.answer([("code", String(decoding: code.bytes, as: UTF8.self))], reason: nil)
    }

    func idToken(_ token: String) -> EndpointResponse { self.answer([("id_token", token)], reason: nil) }

    func error(_ error: OAuthError) -> EndpointResponse {
        self.answer([("error", error.code.rawValue), ("error_description", error.description)], reason: error.reason)
    }

    private func answer(_ parameters: [(name: String, value: String)], reason: Reason?) -> EndpointResponse {
        var parameters = parameters
        if let state = self.state { parameters.append(("state", state)) }
        parameters.append(("iss", self.issuer))
        switch self.mode {
        case .query:
            let separator = self.redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
            return .seeOther(self.redirectURI + separator + FormText.encoded(parameters), reason: reason)
        case .webMessage(let origin):
            return WebMessagePage.response(to: origin, parameters, by: self.pages, reason: reason)
        case .formPost:
            return FormPostPage.response(to: self.redirectURI, parameters, by: self.pages, reason: reason)
        }
    }
}
