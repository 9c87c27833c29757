import Cryptography
import Pages
import Settings
import SignOn
import Vocabulary

/// A validated authorization request (RFC 6749 4.1.1, OpenID Connect Core 3.1.2.1).
struct AuthorizationRequest: Sendable {
    /// The client's wish about asking the user (`prompt`).
    enum Prompt: Sendable, Equatable {
        /// Ask if needed.
        case any
        /// Never ask: answer at once.
        case none
        /// Always ask, even a user who is signed in.
        case login
    }

    /// The response that the client wants (`response_type`).
    enum Response: Sendable, Equatable {
        case code
        /// An id_token only, as express-openid-connect requests it.
        case idToken
    }

    let response: Response
    let wish: CodeWish
    let answer: AuthorizationAnswer
    let prompt: Prompt
    /// The maximum time since the user authenticated, in seconds. `nil` for no maximum.
    let maxAge: Int64?
    /// The required `acr` values, the preferred first (`acr_values`, or an essential `acr` in `claims`). `nil` for any
    /// level.
    let acrValues: [String]?
    /// The user's name or address, to prefill at the provider (`login_hint`). `nil` if the client sends none.
    let loginHint: String?
    /// The provider where the client wants the user to sign in (Auth0's `connection`). `nil` for any provider.
    let connection: String?
    /// An id_token of the user whom the client wants (`id_token_hint`), not verified yet. `nil` for any user.
    let idTokenHint: String?
    /// The organization (`org_id` or `org_name`) that a transfer token's user must have. `nil` for any user.
    let organization: String?
    /// The session-transfer token among the parameters. `nil` if none exists.
    let transferToken: Secret?

    /// The maximum length of `state` and `nonce`, in bytes.
    private static let longestText = 2048

    /// Reads the parameters of a request.
    ///
    /// - Parameters:
    ///   - parameters: The parameters of the query or of the form.
    ///   - pages: Writes the answer if it is a page.
    init(
        _ parameters: [(name: String, value: String)],
        clients: ClientSnapshot,
        apis: APIDirectory,
        issuer: String,
        pages: PageWriter
    ) throws(Failure) {
        let values = Parameters(parameters)
        let (client, target) = try Self.destination(values, clients)
        let redirect = values["redirect_uri"]
        let response = Response(values["response_type"])
        let answer = AuthorizationAnswer(
            redirectURI: target,
            state: values["state"],
            mode: Self.mode(values["response_mode"], target, client),
            issuer: issuer,
            pages: pages
        )
        do throws(OAuthError) {
            if let name = values.repeated { throw .invalidRequest("The parameter \(name) must not be repeated.") }
            guard (values["state"] ?? "").utf8.count <= Self.longestText,
                (values["nonce"] ?? "").utf8.count <= Self.longestText
            else { throw .invalidRequest("state and nonce must not be longer than 2048 bytes.") }
            guard values["request"] == nil else { throw OAuthError(.oauthInvalidRequest, .requestNotSupported) }
            guard values["request_uri"] == nil else { throw OAuthError(.oauthInvalidRequest, .requestURINotSupported) }
            guard values["response_type"] != nil else {
                throw .invalidRequest("The parameter response_type is missing.")
            }
            guard let response else { throw OAuthError(.oauthInvalidRequest, .unsupportedResponseType) }
            guard values["response_mode"].map(AuthorizationAnswer.Mode.names.contains) ?? true else {
                throw .invalidRequest("The response_mode is not supported.")
            }
            if values["response_mode"] == "web_message" {
                guard case .webMessage = answer.mode else {
                    throw .invalidRequest(
                        "The response_mode web_message needs the origin of the redirect_uri in allowed_origins."
                    )
                }
            }
            try response.check(values["response_mode"], nonce: values["nonce"], client)
            self.response = response
            guard values["audience"] == nil || values["resource"] == nil || values["audience"] == values["resource"]
            else { throw OAuthError(.oauthInvalidTarget) }
            let api: APISettings?
            do throws(NotDone) {
                api = try apis.target(values["audience"] ?? values["resource"])
            } catch {
                throw OAuthError(error)
            }
            let wanted = values["scope"]?.split(separator: " ").map(String.init)
            self.wish = CodeWish(
                client: client,
                api: api,
                scopes: APIDirectory.granted(wanted, of: api, to: client, hasRefresh: true),
                redirectURI: redirect,
                challenge: response == .code ? try Self.challenge(values, client) : nil,
                nonce: values["nonce"],
                keyThumbprint: try Self.digest(values, "dpop_jkt")
            )
            self.prompt = try Self.prompt(values["prompt"])
            self.maxAge = try Self.maxAge(values["max_age"])
            self.acrValues = try Self.acrValues(values)
            self.loginHint = values["login_hint"]
            self.connection = values["connection"]
            self.idTokenHint = values["id_token_hint"]
            self.organization = values["organization"]
        } catch {
            throw .redirect(answer, error)
        }
        self.answer = answer
        self.transferToken = values["session_transfer_token"].map { Secret($0) }
    }

    /// Returns the providers where the user may sign in: the requested provider if the client allows it, otherwise the
    /// client's providers. Empty for any provider.
    func providers(among realms: Realms) -> [String] {
        let names = realms.all.map(\.name)
        let known = names.filter(self.wish.client.isFor)
        if let connection = self.connection, names.count > 1, known.contains(connection) { return [connection] }
        return known.count < names.count ? known : []
    }

    /// Returns the level that the client requires of the sign-in.
    func demand(_ levels: AuthenticationLevels, among realms: Realms) -> LevelDemand {
        guard let values = self.acrValues else { return .none }
        let reachable = levels.reachable(values, at: self.providers(among: realms))
        return reachable.isEmpty ? .unreachable : .some(reachable)
    }

    /// The reason why a request is refused.
    enum Failure: Error {
        /// The answer must not go to the client. It is a page with a link to `back` (RFC 6749 4.1.2.1).
        case page(Reason, back: String? = nil)
        case redirect(AuthorizationAnswer, OAuthError)
    }

    // MARK: Parts

    private static func destination(
        _ values: Parameters,
        _ clients: ClientSnapshot
    ) throws(Failure) -> (ClientSettings, String) {
        guard values.repeated != "client_id", let id = values["client_id"], let client = clients.client(id) else {
            throw .page(.oauthInvalidClient)
        }
        guard values.repeated != "redirect_uri" else { throw .page(.oauthInvalidRedirect) }
        if let presented = values["redirect_uri"] {
            guard client.callbacks.contains(where: { $0.matches(presented) }) else {
                throw .page(.oauthInvalidRedirect)
            }
            return (client, presented)
        }
        guard client.callbacks.count == 1 else { throw .page(.oauthInvalidRedirect) }
        return (client, client.callbacks[0].text)
    }

    /// Returns the response mode. An unsupported mode becomes `query`, so that the error reaches the client.
    private static func mode(_ name: String?, _ target: String, _ client: ClientSettings) -> AuthorizationAnswer.Mode {
        switch name {
        case "form_post": return .formPost
        case "web_message":
            guard let origin = RedirectURI(target)?.origin,
                client.allowedOrigins.contains(where: { $0.isExactly(origin) })
            else { return .query }
            return .webMessage(origin: origin)
        default: return .query
        }
    }

    /// Returns the S256 challenge in base64url. `nil` if a confidential client sends none. Public clients must send one
    /// (RFC 9700 2.1.1).
    private static func challenge(_ values: Parameters, _ client: ClientSettings) throws(OAuthError) -> String? {
        guard values["code_challenge"] != nil else {
            guard values["code_challenge_method"] == nil else {
                throw .invalidRequest("The parameter code_challenge is missing.")
            }
            guard !client.isPublic else { throw .invalidRequest("A public client must send a code_challenge (PKCE).") }
            return nil
        }
        guard values["code_challenge_method"] == "S256" else {
            throw .invalidRequest("The code_challenge_method must be S256.")
        }
        return try Self.digest(values, "code_challenge")
    }

    /// Returns the parameter `name` if it is a SHA-256 digest in base64url. `nil` if it is absent.
    private static func digest(_ values: Parameters, _ name: String) throws(OAuthError) -> String? {
        guard let text = values[name] else { return nil }
        guard Base64URL.decode(text)?.count == 32 else { throw .invalidRequest("The \(name) is malformed.") }
        return text
    }

    private static func prompt(_ text: String?) throws(OAuthError) -> Prompt {
        let words = Set((text ?? "").split(separator: " ").map(String.init))
        guard words.isSubset(of: ["none", "login", "consent", "select_account"]) else {
            throw .invalidRequest("The prompt is not supported.")
        }
        guard words.contains("none") else {
            // Only a new sign-in lets the user choose another account.
            return words.isDisjoint(with: ["login", "select_account"]) ? .any : .login
        }
        guard words.count == 1 else { throw .invalidRequest("prompt=none cannot be combined with other values.") }
        return .none
    }

    private static func maxAge(_ text: String?) throws(OAuthError) -> Int64? {
        guard let text else { return nil }
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let seconds = Int64(text)
        else {
            throw .invalidRequest("The max_age must be a number of seconds.")
        }
        return seconds
    }

    /// Returns the required `acr` values. An essential claim takes precedence over `acr_values`, which state only a
    /// preference (OpenID Connect Core 5.5.1.1).
    private static func acrValues(_ values: Parameters) throws(OAuthError) -> [String]? {
        let wanted = values["acr_values"]?.split(separator: " ").map(String.init) ?? []
        let demanded = try Self.essentialACR(values["claims"])
        return demanded ?? (wanted.isEmpty ? nil : wanted)
    }

    /// Returns the values of an essential `acr` for the id_token. `nil` if the client requires none.
    private static func essentialACR(_ claims: String?) throws(OAuthError) -> [String]? {
        guard let claims else { return nil }
        guard case .object(let members)? = JSONText.decode(Array(claims.utf8)) else {
            throw .invalidRequest("The parameter claims must be a JSON object.")
        }
        guard let acr = members["id_token"]?["acr"], acr["essential"] == true else { return nil }
        if let value = acr["value"] {
            guard let text = value.string else { throw .invalidRequest("The value of the claim acr must be a string.") }
            return [text]
        }
        guard let values = acr["values"] else { return nil }
        guard case .array(let elements) = values, !elements.isEmpty, elements.allSatisfy({ $0.string != nil }) else {
            throw .invalidRequest("The values of the claim acr must be a list of strings.")
        }
        return elements.compactMap(\.string)
    }

    /// The parameters by name. A parameter without a value is absent (RFC 6749 3.1).
    private struct Parameters {
        private var values: [String: String] = [:]
        /// The name of a repeated parameter. `nil` if none is repeated.
        private(set) var repeated: String?

        init(_ parameters: [(name: String, value: String)]) {
            for (name, value) in parameters where !value.isEmpty {
                // `resource` may be repeated (RFC 8707 2), but only one audience is supported.
                if self.values.updateValue(value, forKey: name) != nil { self.repeated = name }
            }
        }

        subscript(name: String) -> String? { self.values[name] }
    }
}

extension AuthorizationRequest.Response {
    fileprivate init?(_ text: String?) {
        switch text {
        case "code": self = .code
        case "id_token": self = .idToken
        default: return nil
        }
    }

    /// Rejects clients and parameters that do not fit the response type. An id_token requires a nonce (OpenID Connect
    /// Core 3.2.2.1) and a mode that keeps the id_token out of URLs.
    fileprivate func check(
        _ mode: String?,
        nonce: String?,
        _ client: ClientSettings
    ) throws(OAuthError) {
        switch self {
        case .code:
            guard client.grantTypes.contains(.authorizationCode) else { throw OAuthError(.oauthUnauthorizedClient) }
        case .idToken:
            guard client.grantTypes.contains(.implicit) else { throw OAuthError(.oauthUnauthorizedClient) }
            guard mode == "form_post" || mode == "web_message" else {
                throw .invalidRequest("The response_type id_token requires the response_mode form_post or web_message.")
            }
            guard nonce != nil else { throw .invalidRequest("The parameter nonce is missing.") }
        }
    }
}
