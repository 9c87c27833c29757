import JOSE
import Vocabulary

/// A successful answer of a token endpoint (RFC 6749 5.1).
struct ProviderTokenAnswer: Sendable, Equatable {
    /// The maximum length of an access or refresh token in bytes.
    private static let longestToken = 16_384
    /// The maximum lifetime in seconds. Longer lifetimes are reduced to it.
    private static let longestLifetime: Int64 = 10 * 366 * 86_400

    var accessToken: Secret
    /// `Bearer` or `DPoP`.
    var tokenType: String
    var idToken: Secret?
    var refreshToken: Secret?
    /// The lifetime of the access token; `nil` if the provider does not report it.
    var lifetime: Duration?
    /// The granted scopes; `nil` if they are the requested scopes.
    var scopes: [String]?

    /// The reason why an answer has no usable tokens.
    enum Flaw: Error {
        case none, unfit, long, type

        /// The text for logs, which continues "the answer".
        var detail: String {
            switch self {
            case .none: "has no access_token"
            case .unfit:
                "has an access_token with a blank or another character that cannot stand in an Authorization field"
            case .long: "has an access_token of more than \(ProviderTokenAnswer.longestToken) bytes"
            case .type: "has a token_type that is neither Bearer nor DPoP"
            }
        }
    }

    init(_ value: JSONValue) throws(Flaw) {
        guard let text = value["access_token"]?.string, !text.isEmpty else { throw .none }
        guard text.utf8.count <= Self.longestToken else { throw .long }
        guard let accessToken = Self.token(value["access_token"]) else { throw .unfit }
        self.accessToken = accessToken
        // Some OAuth 2.0 providers omit `token_type`.
        switch value["token_type"]?.string?.lowercased() {
        case "bearer", nil: self.tokenType = "Bearer"
        case "dpop": self.tokenType = "DPoP"
        default: throw .type
        }
        self.idToken = Self.token(value["id_token"], upTo: JOSELimits.token)
        self.refreshToken = Self.token(value["refresh_token"])
        self.lifetime = Self.lifetime(value["expires_in"])
        self.scopes = value["scope"]?.string?.split(separator: " ").map(String.init)
    }

    /// Returns a token of visible ASCII (RFC 6749 A.12); `nil` for any other value.
    private static func token(_ value: JSONValue?, upTo longest: Int = Self.longestToken) -> Secret? {
        guard let text = value?.string, (1...longest).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return Secret(text)
    }

    /// Returns the lifetime. Some providers write it as a text.
    private static func lifetime(_ value: JSONValue?) -> Duration? {
        let seconds: Int64? =
            switch value {
            case .integer(let number): number
            case .number(let number): Int64(exactly: number.rounded(.down))
            case .string(let text): Int64(text)
            default: nil
            }
        guard let seconds, seconds >= 0 else { return nil }
        return .seconds(min(seconds, Self.longestLifetime))
    }
}
