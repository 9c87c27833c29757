package import Settings
import Synchronization
package import Vocabulary

/// Tokens that only their provider can judge, by its introspection endpoint (RFC 7662): access tokens, or refresh tokens,
/// which are proven so without being used.
package final class IntrospectionProvider: TokenProvider {
    /// Where tokens are judged.
    private enum Place: Sendable {
        case configured(ProviderURL)
        /// Where the issuer's metadata say.
        case discovered(MetadataCache)
    }

    /// How many calls may be under way. Further tokens are answered that the provider is unavailable, so that a flood of
    /// invented ones is not passed on to it without limit.
    private static let mostCalls = 128
    /// The largest answer in bytes.
    private static let bodyLimit = 65_536

    package let name: String
    package let configuration: String
    private let place: Place
    private let use: TokenUse
    private let client: ClientAuthentication
    private let answers: IntrospectionAnswer
    private let transport: any ProviderTransport
    private let clock: Clock
    private let callCount = Mutex(0)

    /// Tokens of a provider of which nothing else is known.
    ///
    /// - Throws: `ProviderSetUpError` that names the setting.
    package convenience init(
        _ settings: IntrospectionSettings,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        guard let url = settings.url else { throw ProviderSetUpError(description: "url is missing") }
        try self.init(
            settings,
            .access,
            name: settings.issuer ?? url,
            place: .configured(try Self.url(url)),
            transport: transport,
            clock: clock
        )
    }

    /// Opaque access tokens of an OpenID issuer.
    ///
    /// - Throws: `ProviderSetUpError` that names the setting.
    package convenience init(
        _ settings: IntrospectionSettings,
        of issuer: OpenIDIssuer,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        try self.init(settings, .access, of: issuer, transport, clock)
    }

    /// The refresh tokens that an OpenID issuer gave to native apps.
    ///
    /// - Throws: `ProviderSetUpError` that names the setting.
    package convenience init(
        refreshTokens settings: IntrospectionSettings,
        of issuer: OpenIDIssuer,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        try self.init(settings, .refresh, of: issuer, transport, clock)
    }

    private convenience init(
        _ settings: IntrospectionSettings,
        _ use: TokenUse,
        of issuer: OpenIDIssuer,
        _ transport: any ProviderTransport,
        _ clock: Clock
    ) throws(ProviderSetUpError) {
        var settings = settings
        settings.issuer = settings.issuer ?? issuer.name
        try self.init(
            settings,
            use,
            name: issuer.name,
            place: try settings.url.map { (text) throws(ProviderSetUpError) in .configured(try Self.url(text)) }
                ?? .discovered(issuer.metadata),
            transport: transport,
            clock: clock
        )
    }

    private init(
        _ settings: IntrospectionSettings,
        _ use: TokenUse,
        name: String,
        place: Place,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        let (key, names) =
            use == .access
            ? ("audiences", settings.audiences) : ("refresh_token_clients", settings.refreshTokenClients)
        guard !names.isEmpty else { throw ProviderSetUpError(description: "\(key) is empty") }
        self.name = name
        self.place = place
        self.use = use
        self.client = try ClientAuthentication(settings.client, clock: clock)
        self.answers = IntrospectionAnswer(
            use: use,
            demands: AccessTokenClaims.Demands(
                issuer: settings.issuer,
                recipients: use == .access
                    ? AccessTokenClaims.Demands.Recipients(names, in: settings.audienceClaim) : .clients(names),
                isComplete: false
            ),
            mapping: ClaimsMapping(settings.claims),
            admission: Admission(settings.allow, settings.claims)
        )
        self.transport = transport
        self.clock = clock
        var configuration = [
            "introspection", name, settings.url ?? "", settings.issuer ?? "", settings.client.id,
            "\(names)", "\(settings.claims)", "\(settings.allow)", settings.audienceClaim.rawValue,
        ]
        // No verdict about one kind of token serves as one about the other.
        if use == .refresh { configuration.append(use.rawValue) }
        self.configuration = VerdictConfiguration.text(configuration)
    }

    package func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { TokenSyntax.isToken68(token) }

    package func introspect(_ token: Secret) async -> TokenVerdict {
        let hasRoom = self.callCount.withLock { count in
            guard count < Self.mostCalls else { return false }
            count += 1
            return true
        }
        guard hasRoom else { return .unavailable }
        defer { self.callCount.withLock { $0 -= 1 } }
        guard let (url, audience) = await self.endpoint() else { return .unavailable }
        var call = await self.client.post(
            [("token", String(decoding: token.bytes, as: UTF8.self)), ("token_type_hint", self.use.rawValue)],
            to: url,
            audience: audience
        )
        call.purpose = .introspection
        call.bodyLimit = Self.bodyLimit
        do throws(ProviderCallError) {
            let answer = try await self.transport.send(call)
            return self.answers.verdict(answer, now: self.clock.now())
        } catch {
            return .unavailable
        }
    }

    /// The endpoint, and who the provider is for client assertions; nil if the issuer's metadata are not known or name
    /// none.
    private func endpoint() async -> (url: ProviderURL, audience: ProviderURL)? {
        switch self.place {
        case .configured(let url): return (url, url)
        case .discovered(let metadata):
            guard let known = await metadata.current(), let url = known.introspectionEndpoint else { return nil }
            return (url, known.tokenEndpoint)
        }
    }

    private static func url(_ text: String) throws(ProviderSetUpError) -> ProviderURL {
        do throws(ProviderURLError) {
            return try ProviderURL(text)
        } catch {
            throw ProviderSetUpError(description: "url: \(error)")
        }
    }
}
