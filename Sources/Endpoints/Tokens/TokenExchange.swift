import Sessions
package import Settings
package import SignOn
package import Vocabulary

/// The validated parameters of an RFC 8693 exchange of a native session token or an access token.
package struct TokenExchange: Sendable, Equatable {
    /// The token that the client gets.
    package enum Target: Sendable, Equatable {
        /// A session-transfer token for this audience, as the client wrote it.
        case transfer(audience: String, TransferTargets.Target)
        /// An access token for this API. `nil` for no API.
        case access(APISettings?, scopes: [String])
    }

    /// `requested_token_type` and `issued_token_type` of a session-transfer token, as defined by Auth0.
    package static let transferTokenType = "urn:auth0:params:oauth:token-type:session_transfer_token"
    /// `requested_token_type` and `issued_token_type` of an access token (RFC 8693 3).
    package static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
    /// The type of a session token of this gateway or of Kratos.
    package static let sessionTokenType = "urn:sallyport:params:oauth:token-type:session_token"
    /// The accepted `subject_token_type` and `actor_token_type` values.
    package static let subjectTokenTypes = [Self.sessionTokenType, Self.accessTokenType]

    /// The session token or access token of the user.
    package var subjectToken: Secret
    /// The session token or access token of an actor who will act for the user. `nil` if there is no actor.
    package var actorToken: Secret?
    package var target: Target

    /// Validates the parameters of a client. `targets` and `apis` are the audiences that this gateway serves.
    package init(
        _ request: TokenRequest,
        of client: ClientSettings,
        targets: TransferTargets,
        apis: APIDirectory
    ) throws(OAuthError) {
        self.subjectToken = Secret(try request.required("subject_token"))
        try Self.check(try request.required("subject_token_type"), of: self.subjectToken, "subject_token_type")
        let actorType = try request.text("actor_token_type")
        if let actor = try request.text("actor_token") {
            let token = Secret(actor)
            try Self.check(actorType, of: token, "actor_token_type")
            self.actorToken = token
        } else if actorType != nil {
            throw .invalidRequest("An actor_token_type requires an actor_token.")
        }
        let requested = try request.text("requested_token_type")
        guard requested == nil || requested == Self.transferTokenType || requested == Self.accessTokenType else {
            throw .invalidRequest("The requested_token_type is not supported.")
        }
        let audience = try request.audience()
        if let audience, let target = targets[audience] {
            guard requested != Self.accessTokenType else { throw OAuthError(.oauthInvalidTarget) }
            self.target = .transfer(audience: audience, target)
            return
        }
        guard requested != Self.transferTokenType else { throw OAuthError(.oauthInvalidTarget) }
        try Self.refuseActor(in: request)
        let wanted = try request.scopes()
        do throws(NotDone) {
            let api = try apis.target(audience)
            let scopes = APIDirectory.granted(wanted, of: api, to: client, hasRefresh: false)
            self.target = .access(api, scopes: scopes)
        } catch {
            throw OAuthError(error)
        }
    }

    /// Refuses a type that is not supported or contradicts the token (RFC 8693 2.1). A prefix identifies the gateway's
    /// tokens. Two dots identify a provider's JSON Web Token, because no session token has two.
    private static func check(_ type: String?, of token: Secret, _ name: String) throws(OAuthError) {
        guard let type, Self.subjectTokenTypes.contains(type) else {
            throw .invalidRequest("The \(name) is not supported.")
        }
        let fitting: [String] =
            switch token.bytes {
            case let bytes where bytes.starts(with: TokenKind.session.prefix.utf8): [Self.sessionTokenType]
            case let bytes where bytes.starts(with: TokenKind.access.prefix.utf8): [Self.accessTokenType]
            case let bytes where Self.isOtherOwn(bytes): []
            case let bytes where bytes.count(where: { $0 == UInt8(ascii: ".") }) == 2: [Self.accessTokenType]
            default: Self.subjectTokenTypes
            }
        guard fitting.contains(type) else { throw .invalidRequest("The \(name) does not match the token.") }
    }

    /// Returns whether the token is a token of the gateway that cannot be exchanged, e.g. a refresh token.
    private static func isOtherOwn(_ token: [UInt8]) -> Bool {
        [TokenKind.refresh, .code, .transfer, .hostTicket, .pushedRequest].contains {
            TokenAuthority.isWellFormed($0, token)
        }
    }

    /// Refuses an actor where delegation is not supported. Ignored, an actor would get the user's own tokens.
    static func refuseActor(in request: TokenRequest) throws(OAuthError) {
        for name in ["actor_token", "actor_token_type"] where try request.text(name) != nil {
            throw .invalidRequest("An actor_token is accepted only in a token exchange for a session transfer token.")
        }
    }
}

/// The audiences `urn:<host>:session_transfer`, and the hosts where their tokens are valid.
///
/// SDKs write `<host>` with its port (React Native) or without (Swift, Android), in any letter case. Most SDKs name the
/// host of their token endpoint, so a token for a host with a token endpoint is valid on every host. A token for a host
/// without a token endpoint is valid on that host only.
package struct TransferTargets: Sendable {
    /// The hosts on which a token is valid.
    package enum Target: Sendable, Equatable {
        case everyHost
        /// The host of this public authority (`host[:port]`).
        case host(String)

        /// The public authority of the only host. `nil` for every host.
        package var host: String? {
            switch self {
            case .everyHost: nil
            case .host(let authority): authority
            }
        }
    }

    private let targets: [String: Target]
    private let wildcards: [HostSettings]

    package init(_ hosts: [HostSettings]) {
        var targets: [String: Target] = [:]
        self.wildcards = hosts.filter(\.publicURL.isWildcard)
        let hosts = hosts.filter { !$0.publicURL.isWildcard }
        for host in hosts {
            let url = host.publicURL
            let target = host.endpoints ? Target.everyHost : .host(url.authority)
            targets[Self.audience("\(url.host):\(url.port ?? (url.isHTTPS ? 443 : 80))")] = target
        }
        // A name with several ports means the host that serves the token endpoint, otherwise the host with the default
        // port. If neither exists, the name has no target.
        for (name, hosts) in Dictionary(grouping: hosts, by: \.publicURL.host) {
            guard
                let host = hosts.first(where: \.endpoints) ?? hosts.first(where: { $0.publicURL.port == nil })
                    ?? (hosts.count == 1 ? hosts[0] : nil)
            else { continue }
            targets[Self.audience(name)] = host.endpoints ? .everyHost : .host(host.publicURL.authority)
        }
        self.targets = targets
    }

    /// The hosts on which a token for the audience is valid. `nil` if the audience names no configured host.
    package subscript(audience: String) -> Target? {
        let audience = audience.lowercased()
        return self.targets[audience] ?? self.name(in: audience).flatMap { self.wildcard($0) }
    }

    /// Returns the host, with its port if any, that an audience in lower case names. `nil` for other audiences.
    private func name(in audience: String) -> String? {
        let (start, end) = ("urn:", ":session_transfer")
        guard audience.hasPrefix(start), audience.hasSuffix(end),
            audience.utf8.count > start.utf8.count + end.utf8.count
        else { return nil }
        return String(audience.dropFirst(start.count).dropLast(end.count))
    }

    /// Returns the host of this name, with or without port, that a wildcard matches. If several wildcards match, the
    /// one with the default port is used. `nil` if no wildcard can be chosen.
    private func wildcard(_ name: String) -> Target? {
        let named = self.wildcards.compactMap { host -> PublicURL? in
            let url = host.publicURL
            var whole = url
            whole.port = url.port ?? (url.isHTTPS ? 443 : 80)
            var bare = url
            bare.port = nil
            guard let found = bare.named(by: name) ?? whole.named(by: name),
                !host.reservedNames.contains(found.host)
            else { return nil }
            return PublicURL(isHTTPS: url.isHTTPS, host: found.host, port: url.port)
        }
        let url = named.first { $0.port == nil } ?? (named.count == 1 ? named[0] : nil)
        return url.map { .host($0.authority) }
    }

    private static func audience(_ host: String) -> String {
        "urn:\(host.lowercased()):session_transfer"
    }
}
