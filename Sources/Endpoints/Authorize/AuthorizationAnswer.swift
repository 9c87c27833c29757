internal import Pages
internal import Vocabulary

/// An error of an authorization request, as its client learns it (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6).
struct AuthorizationError: Error, Sendable, Equatable {
    enum Code: String, Sendable {
        case accessDenied = "access_denied"
        /// OpenID Connect Core 3.1.2.6
        case interactionRequired = "interaction_required"
        case invalidRequest = "invalid_request"
        case invalidTarget = "invalid_target"
        case loginRequired = "login_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case serverError = "server_error"
        case temporarilyUnavailable = "temporarily_unavailable"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedResponseType = "unsupported_response_type"
    }

    var code: Code
    /// Whether somebody else is signed in than the user whom the client wants.
    var isOtherUser = false
    /// A fixed sentence without quotes or backslashes, or the text of a rule as the operator wrote it.
    var description: String

    init(_ code: Code) {
        self.code = code
        self.description =
            switch code {
            case .accessDenied: "Access denied."
            case .interactionRequired: "Interaction required."
            case .invalidRequest: "The request is malformed."
            case .invalidTarget: "The requested audience is not served here."
            case .loginRequired: "Login required."
            case .requestNotSupported: "The parameter request is not supported."
            case .requestURINotSupported: "The parameter request_uri is not supported."
            case .serverError, .temporarilyUnavailable: "The service is temporarily unavailable."
            case .unauthorizedClient: "The client may not use this grant_type."
            case .unsupportedResponseType: "The response_type is not supported."
            }
    }

    static func invalidRequest(_ description: String) -> AuthorizationError {
        var error = AuthorizationError(.invalidRequest)
        error.description = description
        return error
    }

    /// Somebody else is signed in than the user of the `id_token_hint` (OpenID Connect Core 3.1.2.1).
    static var otherUser: AuthorizationError {
        var error = AuthorizationError(.loginRequired)
        error.description = "Another user is signed in than the one of the id_token_hint."
        error.isOtherUser = true
        return error
    }

    /// A rule denied it, with what the user reads.
    static func denied(_ text: String?) -> AuthorizationError {
        var error = AuthorizationError(.accessDenied)
        if let text { error.description = text }
        return error
    }

    /// The reason for the log.
    var reason: Reason {
        switch self.code {
        case .accessDenied: .ruleDenied
        case .interactionRequired: .handoffDelegationNotPermitted
        case .invalidTarget: .oauthInvalidTarget
        case .loginRequired: self.isOtherUser ? .oauthOtherUser : .credentialMissing
        case .serverError, .temporarilyUnavailable: .storeUnavailable
        case .unauthorizedClient: .oauthUnauthorizedClient
        default: .oauthInvalidRequest
        }
    }
}

/// How the answer to an authorization request reaches its client: by the browser.
struct AuthorizationAnswer: Sendable {
    /// `response_mode`
    enum Mode: Sendable {
        case query
        /// A page whose form posts the answer (OAuth 2.0 Form Post Response Mode).
        case formPost
        /// A page that gives the answer to a page of this origin (`WebMessagePage`).
        case webMessage(origin: String)

        /// The names of all, in the order of the metadata.
        static let names = ["query", "form_post", "web_message"]
    }

    /// A registered URI.
    let redirectURI: String
    let state: String?
    let mode: Mode
    /// `iss`: the client of several servers sees whose answer it is (RFC 9207).
    let issuer: String
    let pages: PageWriter

    func code(_ code: Secret) -> EndpointResponse {
        self.answer([("code", String(decoding: code.bytes, as: UTF8.self))], reason: nil)
    }

    func idToken(_ token: String) -> EndpointResponse { self.answer([("id_token", token)], reason: nil) }

    func error(_ error: AuthorizationError) -> EndpointResponse {
        self.answer([("error", error.code.rawValue), ("error_description", error.description)], reason: error.reason)
    }

    private func answer(_ parameters: [(name: String, value: String)], reason: Reason?) -> EndpointResponse {
        var parameters = parameters
        if let state = self.state { parameters.append(("state", state)) }
        parameters.append(("iss", self.issuer))
        switch self.mode {
        case .query:
            let separator = self.redirectURI.contains("?") ? "&" : "?"
            return .seeOther(self.redirectURI + separator + FormText.encoded(parameters), reason: reason)
        case .webMessage(let origin):
            return WebMessagePage.response(to: origin, parameters, by: self.pages, reason: reason)
        case .formPost:
            return FormPostPage.response(to: self.redirectURI, parameters, by: self.pages, reason: reason)
        }
    }
}
