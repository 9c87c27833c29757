import Vocabulary

/// Kratos signs users in on its own pages and sets its own cookie. The gateway accepts this cookie, so nothing has to
/// be exchanged when the browser returns. The pages are forwarded on hosts with endpoints.
extension KratosProvider {
    /// Returns the path and query of Kratos's login flow for browsers. `refresh` makes Kratos ask signed-in users
    /// again, and `aal=aal2` makes Kratos ask for the second factor only.
    ///
    /// - Parameter wish: The requested sign-in. Its `callback` is the absolute URL that the browser returns to.
    package func signInPath(_ wish: BrowserSignIn) -> String {
        var parameters = [(name: "return_to", value: wish.callback)]
        if let aal = wish.demand.aal, aal > .aal1 { parameters.append(("aal", AssuranceLevel.aal2.rawValue)) }
        if wish.demand.isAgain || wish.demand.maxAge != nil { parameters.append(("refresh", "true")) }
        return "/self-service/login/browser?" + FormText.encoded(parameters)
    }

    /// The paths of Kratos's public API that browsers and apps use.
    package static let paths = [
        "/self-service/**", "/sessions", "/sessions/**", "/schemas", "/schemas/**", "/.well-known/ory/**",
    ]
    /// The path where an app exchanges two codes for its session.
    package static let exchangePath = "/sessions/token-exchange"
    /// The methods that Kratos supports on any of its paths.
    package static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
}
