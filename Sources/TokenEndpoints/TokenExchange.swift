package import Settings
package import Vocabulary

/// RFC 8693 exchange of a native session token for a session-transfer token: the parameters, judged.
package struct TokenExchange: Sendable, Equatable {
    /// `requested_token_type` and `issued_token_type` of a session-transfer token, in Auth0's words.
    package static let transferTokenType = "urn:auth0:params:oauth:token-type:session_transfer_token"
    /// What a subject token may call itself: our session token, which serves as an access token as well.
    package static let subjectTokenTypes = [
        "urn:sallyport:params:oauth:token-type:session_token",
        "urn:ietf:params:oauth:token-type:access_token",
    ]

    /// The native session token.
    package var subjectToken: Secret
    /// The audience as it was spelled.
    package var audience: String
    /// The public authority of the one host that the audience names; nil: every host.
    package var host: String?

    /// Judges the parameters; `targets` are the audiences that this gateway serves.
    package init(_ request: TokenRequest, targets: TransferTargets) throws(OAuthError) {
        let subjectToken = try request.required("subject_token")
        guard Self.subjectTokenTypes.contains(try request.required("subject_token_type")) else {
            throw .invalidRequest("The subject_token_type is not supported.")
        }
        // An actor would have to stand in the web session; a delegation that is silently dropped would be worse.
        guard try request.text("actor_token") == nil, try request.text("actor_token_type") == nil else {
            throw .invalidRequest("An actor_token is not supported.")
        }
        if let requested = try request.text("requested_token_type"), requested != Self.transferTokenType {
            throw .invalidRequest("The requested_token_type is not supported.")
        }
        let audience = try request.required("audience")
        guard let target = targets[audience], try request.text("resource") == nil else {
            throw OAuthError(.oauthInvalidTarget)
        }
        self.subjectToken = Secret(subjectToken)
        self.audience = audience
        self.host =
            switch target {
            case .everyHost: nil
            case .host(let authority): authority
            }
    }
}

/// The audiences `urn:<host>:session_transfer` that mean this gateway, and where a token for each is good.
///
/// SDKs take `<host>` from the domain that the app was configured with: with its port (React Native) or without (Swift,
/// Android), in the letters that somebody typed. So every configured host counts in each of these spellings. The domain is
/// that of the token endpoint as a rule: a token for such a host is good on every host, one for any other host on that one.
package struct TransferTargets: Sendable {
    /// Where a token is good.
    package enum Target: Sendable, Equatable {
        case everyHost
        /// On the host of this public authority (`host[:port]`).
        case host(String)
    }

    private let targets: [String: Target]

    package init(_ hosts: [HostSettings]) {
        var targets: [String: Target] = [:]
        for host in hosts {
            let url = host.publicURL
            let target = host.endpoints ? Target.everyHost : .host(url.authority)
            targets[Self.audience("\(url.host):\(url.port ?? (url.isHTTPS ? 443 : 80))")] = target
        }
        // A name with several ports stands for the host that serves the token endpoint, else for the one that needs no
        // port; without such a one it stands for none.
        for (name, hosts) in Dictionary(grouping: hosts, by: \.publicURL.host) {
            guard
                let host = hosts.first(where: \.endpoints) ?? hosts.first(where: { $0.publicURL.port == nil })
                    ?? (hosts.count == 1 ? hosts[0] : nil)
            else { continue }
            targets[Self.audience(name)] = host.endpoints ? .everyHost : .host(host.publicURL.authority)
        }
        self.targets = targets
    }

    /// Where a token for the audience is good; nil: the audience names no configured host.
    package subscript(audience: String) -> Target? {
        self.targets[audience.lowercased()]
    }

    private static func audience(_ host: String) -> String {
        "urn:\(host.lowercased()):session_transfer"
    }
}
