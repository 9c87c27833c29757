import Vocabulary

/// Kratos signs users in at pages of its own and gives the browser a cookie of its own, which the gateway accepts. Its pages
/// are passed through on the hosts with endpoints. Nothing has to be exchanged when the browser comes back.
extension KratosProvider {
    /// The path and query of its login flow for browsers. With `refresh` it asks users who are signed in again; `aal=aal2`
    /// asks them for their second factor only.
    ///
    /// - Parameter wish: Its `callback` is the absolute URL to which the browser comes back.
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
    /// Where an app exchanges two codes for its session.
    package static let exchangePath = "/sessions/token-exchange"
    /// The methods that Kratos has on any of its paths.
    package static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
}
