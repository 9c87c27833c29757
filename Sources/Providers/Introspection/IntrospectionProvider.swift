package import Calls
package import Settings
package import Vocabulary

/// Verifies access or refresh tokens with their provider's introspection endpoint (RFC 7662). Introspection does not
/// use up a refresh token.
package final class IntrospectionProvider: TokenProvider {
    /// Where the URL of the endpoint comes from.
    private enum Place: Sendable {
        case configured(EndpointURL)
        /// From the issuer's metadata.
        case discovered(MetadataCache)
    }

    /// The maximum size of an answer in bytes.
    private static let bodyLimit = 65_536

    package let name: String
    package let configuration: String
    private let place: Place
    private let use: TokenUse
    private let client: ProviderClientAuthentication
    private let answers: IntrospectionAnswer
    private let transport: any CallTransport
    private let clock: Clock
    private let calls = SharedCallLimit(most: 128)
    private let reportOutage: @Sendable (String) -> Void

    /// Creates the provider of access tokens for which only an introspection endpoint is configured.
    ///
    /// - Parameter reportOutage: Called with the reason for a missing verdict, without any part of the token.
    /// - Throws: `ProviderSetUpError` that names the setting.
    package convenience init(
        _ settings: IntrospectionSettings,
        transport: any CallTransport,
        clock: Clock,
        reportOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ProviderSetUpError) {
        guard let url = settings.url else { throw ProviderSetUpError(description: "url is missing") }
        try self.init(
            settings,
            .access,
            name: settings.issuer ?? url,
            place: .configured(try EndpointURL(url, of: "url")),
            transport: transport,
            clock: clock,
            reportOutage: reportOutage
        )
    }

    /// Creates the provider of an OpenID issuer's opaque access tokens, or of its refresh tokens.
    ///
    /// - Parameter reportOutage: Called with the reason for a missing verdict, without any part of the token.
    /// - Throws: `ProviderSetUpError` that names the setting.
    package convenience init(
        _ settings: IntrospectionSettings,
        of issuer: OpenIDIssuer,
        judging use: TokenUse = .access,
        transport: any CallTransport,
        clock: Clock,
        reportOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ProviderSetUpError) {
        var settings = settings
        settings.issuer = settings.issuer ?? issuer.name
        try self.init(
            settings,
            use,
            name: issuer.name,
            place: try settings.url.map { (text) throws(ProviderSetUpError) in
                .configured(try EndpointURL(text, of: "url"))
            }
                ?? .discovered(issuer.metadata),
            transport: transport,
            clock: clock,
            reportOutage: reportOutage
        )
    }

    private init(
        _ settings: IntrospectionSettings,
        _ use: TokenUse,
        name: String,
        place: Place,
        transport: any CallTransport,
        clock: Clock,
        reportOutage: @escaping @Sendable (String) -> Void
    ) throws(ProviderSetUpError) {
        let (key, names) =
            use == .access
            ? ("audiences", settings.audiences) : ("refresh_token_clients", settings.refreshTokenClients)
        guard !names.isEmpty else { throw ProviderSetUpError(description: "\(key) is empty") }
        self.name = name
        self.place = place
        self.use = use
        self.client = try ProviderClientAuthentication(settings.client, clock: clock)
        self.answers = IntrospectionAnswer(
            use: use,
            demands: AccessTokenClaims.Demands(
                issuer: settings.issuer,
                recipients: use == .access
                    ? AccessTokenClaims.Demands.Recipients(names, in: settings.audienceClaim) : .clients(names),
                isComplete: false
            ),
            mapping: ClaimsMapping(settings.claims, names: settings.names),
            admission: Admission(settings.allow, settings.claims)
        )
        self.transport = transport
        self.clock = clock
        self.reportOutage = reportOutage
        var configuration = [
            "introspection", name, settings.url ?? "", settings.issuer ?? "", settings.client.id,
            "\(names)", "\(settings.claims)", "\(settings.allow)", settings.audienceClaim.rawValue,
        ]
        configuration += settings.names.marks
        // Verdicts on one kind of token must not be used for the other kind.
        if use == .refresh { configuration.append(use.rawValue) }
        self.configuration = VerdictConfiguration.text(configuration)
    }

    package func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { TokenSyntax.isToken68(token) }

    package func introspect(_ presented: PresentedToken) async -> TokenVerdict {
        guard self.calls.begin(presented.caller) else {
            self.transport.withhold(.introspection)
            return self.unavailable(presented.refusal(of: "introspections"))
        }
        defer { self.calls.end(presented.caller) }
        guard let (url, audience) = await self.endpoint() else {
            return self.unavailable("its metadata are not known, or name no introspection_endpoint that can be used")
        }
        var call = await self.client.post(
            [
                ("token", String(decoding: presented.token.bytes, as: UTF8.self)),
                ("token_type_hint", self.use.rawValue),
            ],
            to: url,
            audience: audience
        )
        call.purpose = .introspection
        call.caller = presented.caller
        call.bodyLimit = Self.bodyLimit
        do throws(CallError) {
            let answer = try await self.transport.send(call)
            let verdict = self.answers.verdict(answer, now: self.clock.now())
            guard verdict == .unavailable else { return verdict }
            let what =
                answer.status == 200
                ? "the introspection endpoint did not say whether a token is active (RFC 7662 2.2)"
                : "the introspection endpoint answered with status \(answer.status)"
            return self.unavailable(what)
        } catch {
            return self.unavailable("introspection: \(error.detail)")
        }
    }

    private func unavailable(_ why: String) -> TokenVerdict {
        self.reportOutage(why)
        return .unavailable
    }

    /// Returns the endpoint, and the audience of client assertions; `nil` if the metadata are not known or name no
    /// endpoint.
    private func endpoint() async -> (url: EndpointURL, audience: EndpointURL)? {
        switch self.place {
        case .configured(let url): return (url, url)
        case .discovered(let metadata):
            guard let known = await metadata.current(), let url = known.introspectionEndpoint else { return nil }
            return (url, known.tokenEndpoint)
        }
    }
}
