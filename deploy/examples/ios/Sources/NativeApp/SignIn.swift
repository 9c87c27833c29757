import Foundation

#if canImport(CryptoKit)
import CryptoKit
#endif

/// A sign-in that waits for the browser to come back. Its secret stays in the app: who only sees the callback's URL, as another
/// app that registers the same scheme might, can do nothing with it.
public struct PendingSignIn: Sendable {
    /// The page to open in the system's browser.
    public let page: URL
    fileprivate let way: Way

    fileprivate enum Way {
        case code(verifier: String, state: String)
        case exchange(code: String)
    }
}

/// What a sign-in gives.
struct Tokens {
    var credential: Credential
    var access: AccessToken?
}

struct AccessToken {
    var value: String
    var ends: Date
}

extension Gateway {
    /// Begins a sign-in at `/authorize`, with PKCE (RFC 7636) and a state. The app gets a refresh token.
    public func beginSignIn() -> PendingSignIn {
        let verifier = Self.random()
        let state = Self.random()
        let page = self.url(
            "/authorize",
            [
                "response_type": "code", "client_id": self.clientID, "redirect_uri": self.callback.absoluteString,
                "scope": self.scope, "state": state, "code_challenge": Self.challenge(of: verifier),
                "code_challenge_method": "S256",
            ]
        )
        return PendingSignIn(page: page, way: .code(verifier: verifier, state: state))
    }

    /// Begins a sign-in as Kratos's apps do. The app gets a session token.
    ///
    /// - Parameter provider: One of the gateway's `exchange.providers`.
    public func beginExchange(provider: String) async throws -> PendingSignIn {
        struct Flow: Decodable {
            struct Form: Decodable { var action: URL }
            var session_token_exchange_code: String
            var ui: Form
        }
        struct Way: Decodable { var redirect_browser_to: URL }
        let begun = self.url(
            "/self-service/login/api",
            ["return_session_token_exchange_code": "true", "return_to": self.callback.absoluteString]
        )
        let flow = try Self.decoded(Flow.self, try await self.call("GET", begun))
        let way = try await self.call(
            "POST",
            flow.ui.action,
            ["method": "oidc", "provider": provider],
            expected: [422]
        )
        return PendingSignIn(
            page: try Self.decoded(Way.self, way).redirect_browser_to,
            way: .exchange(code: flow.session_token_exchange_code)
        )
    }

    /// The tokens for what the browser brought back.
    func finish(_ pending: PendingSignIn, with url: URL) async throws -> Tokens {
        guard url.absoluteString.prefix(while: { $0 != "?" && $0 != "#" }) == self.callback.absoluteString else {
            throw GatewayError.refused("another callback: \(url.host ?? url.scheme ?? "")")
        }
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let values = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        switch pending.way {
        case .code(let verifier, let state):
            // Else it is the answer to a request that this app did not make.
            guard values["state"] == state else { throw GatewayError.refused("another state") }
            if let error = values["error"] {
                throw error == "temporarily_unavailable" ? GatewayError.unavailable(after: nil) : .refused(error)
            }
            guard let code = values["code"] else { throw GatewayError.refused("no code") }
            let answer = try await self.tokens([
                "grant_type": "authorization_code", "code": code, "redirect_uri": self.callback.absoluteString,
                "code_verifier": verifier,
            ])
            guard let refreshToken = answer.refresh_token else { throw GatewayError.refused("no refresh token") }
            return Tokens(credential: .refreshToken(refreshToken), access: answer.accessToken)
        case .exchange(let initCode):
            struct Answer: Decodable { var session_token: String }
            guard let code = values["code"] else { throw GatewayError.refused("no code") }
            let url = self.url("/sessions/token-exchange", ["init_code": initCode, "return_to_code": code])
            let answer = try Self.decoded(Answer.self, try await self.call("GET", url))
            return Tokens(credential: .sessionToken(answer.session_token), access: nil)
        }
    }

    /// The page that ends the session of the system's browser, if the next sign-in is to ask for a password again. Open it as
    /// the sign-in's; `callback` must be one of the client's `allowed_logout_urls`.
    public var signOutPage: URL {
        self.url(
            "/oidc/logout",
            ["client_id": self.clientID, "post_logout_redirect_uri": self.callback.absoluteString]
        )
    }

    struct TokenAnswer: Decodable {
        var access_token: String
        var expires_in: Int?
        var refresh_token: String?

        var accessToken: AccessToken {
            AccessToken(value: self.access_token, ends: Date(timeIntervalSinceNow: Double(self.expires_in ?? 0)))
        }
    }

    func tokens(_ parameters: [String: String]) async throws -> TokenAnswer {
        let body = parameters.merging(["client_id": self.clientID]) { $1 }
        return try Self.decoded(TokenAnswer.self, try await self.call("POST", self.url("/oauth/token"), body))
    }

    private static func decoded<Value: Decodable>(_ type: Value.Type, _ data: Data) throws -> Value {
        do { return try JSONDecoder().decode(type, from: data) } catch { throw GatewayError.refused("no \(type)") }
    }

    /// 256 random bits, as base64url.
    private static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return Self.base64URL((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// The code_challenge of a code_verifier (RFC 7636 4.2).
    static func challenge(of verifier: String) -> String {
        Self.base64URL(SHA256.hash(data: Data(verifier.utf8)))
    }

    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
