import Calls
import Cryptography
import Settings
import Vocabulary

/// Makes the requests to a provider's authorization endpoint (RFC 6749 4.1.1, OpenID Connect Core 3.1.2.1).
struct ProviderAuthorizationRequest: Sendable {
    /// The maximum length of `login_hint` in bytes.
    private static let longestHint = 320
    /// The maximum value of `max_age`, in seconds.
    private static let longestAge: Int64 = 366 * 86_400
    /// The parameters that only the gateway sets. Configured parameters with these names are not sent.
    package static let reserved: Set<String> = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "prompt", "max_age", "acr_values", "login_hint", "request", "request_uri", "dpop_jkt",
        "client_secret", "client_assertion", "client_assertion_type", "code", "code_verifier",
    ]

    let provider: String
    let clientID: String
    let settings: AuthorizationRequestSettings
    let usesPKCE: Bool
    /// True to send `nonce`, `max_age`, `acr_values` and `login_hint`.
    let isOpenID: Bool
    /// True to request the answer as a form that the browser posts.
    var answersByForm = false

    /// Returns the URL for the browser, and the state of the sign-in.
    func make(_ wish: BrowserSignIn, at endpoint: EndpointURL) -> BrowserBeginning {
        let pending = PendingSignIn(
            provider: self.provider,
            id: Random.base64URL(16),
            nonce: self.isOpenID ? Random.base64URL(32) : "",
            verifier: self.usesPKCE ? Random.base64URL(32) : "",
            callback: wish.callback
        )
        var parameters: [URLQuery.Parameter] = [
            ("response_type", "code"), ("client_id", self.clientID), ("redirect_uri", wish.callback),
            ("state", pending.id),
        ]
        if self.answersByForm { parameters.append(("response_mode", ResponseMode.formPost.rawValue)) }
        if !self.settings.scopes.isEmpty {
            parameters.append(("scope", self.settings.scopes.joined(separator: " ")))
        }
        if self.usesPKCE {
            let challenge = SHA256.digest(Array(pending.verifier.utf8)).base64URL
            parameters += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        if let prompt = self.prompt(isAgain: wish.demand.isAgain) { parameters.append(("prompt", prompt)) }
        if self.isOpenID { parameters += self.openIDParameters(wish, pending) }
        parameters += self.settings.parameters.filter { !Self.reserved.contains($0.name) }.map { ($0.name, $0.value) }
        return BrowserBeginning(url: URLQuery.appending(parameters, to: endpoint), pending: pending)
    }

    private func openIDParameters(_ wish: BrowserSignIn, _ pending: PendingSignIn) -> [URLQuery.Parameter] {
        var parameters: [URLQuery.Parameter] = [("nonce", pending.nonce)]
        if let maxAge = self.demand(of: wish).maxAge {
            parameters.append(("max_age", String(maxAge.components.seconds)))
        }
        if let values = wish.demand.aal.flatMap(self.acrValues) { parameters.append(("acr_values", values)) }
        if let hint = wish.demand.loginHint, hint.isPlain(upTo: Self.longestHint) {
            parameters.append(("login_hint", hint))
        }
        return parameters
    }

    /// Returns the requirements for a sign-in. The smaller of the requested and the configured `max_age` applies.
    func demand(of wish: BrowserSignIn) -> SignInDemand {
        let seconds = [wish.demand.maxAge, self.settings.maxAge].compactMap { $0?.components.seconds }.min()
        var demand = wish.demand
        demand.maxAge = seconds.map { Duration.seconds(min(max($0, 0), Self.longestAge)) }
        return demand
    }

    /// Returns the configured `acr_values` of the level; if there are none, of the next higher level that has some.
    private func acrValues(_ level: AssuranceLevel) -> String? {
        AssuranceLevel.allCases.filter { $0 >= level }.compactMap { self.settings.acrValues[$0] }.first
    }

    /// Returns the value of `prompt`. If the user must authenticate again, it contains `login` and not `none`.
    private func prompt(isAgain: Bool) -> String? {
        guard isAgain else { return self.settings.prompt }
        let others = self.settings.prompt?.split(separator: " ").map(String.init) ?? []
        return (["login"] + others.filter { $0 != "login" && $0 != "none" }).joined(separator: " ")
    }
}
