import Vocabulary

/// Kratos signs users in at its own pages and gives the browser its own cookie, which the gateway accepts. The pages
/// are forwarded on hosts with endpoints. Nothing has to be exchanged when the browser returns.
extension KratosProvider {
    /// Returns the path and query of Kratos's login flow for browsers. `refresh` makes it ask signed-in users again,
    /// and `aal=aal2` makes it ask for the second factor only.
    ///
    /// - Parameter wish: The requested sign-in, whose `callback` is the absolute URL that the browser returns to.
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
