import Calls
import Endpoints
import Pages
import Providers
package import Settings
import Vocabulary

/// Makes the gateway's calls to the configured provider, and reports problems.
///
/// Signs nobody in: the code and the token that it sends do not exist.
package struct ProviderCheck: Sendable {
    /// The difference between clocks that the gateway tolerates in tokens, in seconds.
    static let clockTolerance = 60

    /// Checks a provider of any kind. Returns one verdict for each check.
    package typealias OfAnyKind = @Sendable (any ProviderSettings, ProviderCheck) async throws -> [Verdict]

    let transport: any CallTransport
    /// The outgoing proxies that `transport` uses.
    let proxies: OutgoingProxies
    let clock: Clock
    /// The callbacks of all hosts with endpoints. They must be registered as redirect URIs.
    let callbacks: [String]
    /// True if clients follow the provider's users (`refresh_token.provider`).
    let isFollowed: Bool
    /// The origins of all hosts. A wildcard is replaced by a name that it covers.
    let origins: [String]

    init(
        transport: any CallTransport,
        name: String = Realm.default.name,
        hosts: [HostSettings],
        isFollowed: Bool,
        pages: PageDesign = .included,
        proxies: OutgoingProxies = OutgoingProxies(),
        clock: Clock = .system
    ) {
        self.transport = transport
        self.proxies = proxies
        self.clock = clock
        self.isFollowed = isFollowed
        self.origins = hosts.map { ($0.publicURL.named("any") ?? $0.publicURL).description }
        self.callbacks = hosts.filter(\.endpoints).map { host in
            "\(host.publicURL)"
                + BrowserSessionEndpoints.callbackPath(of: host.providers.count > 1 ? name : nil, by: pages)
        }
    }

    /// Runs all checks of a provider.
    ///
    /// - Returns: One verdict for each check; `nil` if the gateway never calls the provider.
    func run(_ provider: any ProviderSettings, by check: ProviderCheck.OfAnyKind) async -> [Verdict]? {
        guard let url = provider.calledURL else { return nil }
        do {
            return self.way(to: url) + (try await check(provider, self))
        } catch {
            return [.error("provider", "it cannot be used: \(error)")]
        }
    }

    /// Reports whether calls to this URL go through a proxy. Empty if no proxy is configured.
    private func way(to text: String) -> [Verdict] {
        guard self.proxies.secure != nil || self.proxies.plain != nil,
            let url = try? EndpointURL(text, allowsPlainHTTP: true)
        else { return [] }
        guard let proxy = self.proxy(for: url) else {
            return [.ok("provider proxy", "\(url.host) is called directly, without a proxy")]
        }
        return [.ok("provider proxy", "\(url.host) is called through the proxy \(proxy.name) (\(proxy.origin))")]
    }

    private func proxy(for url: EndpointURL) -> OutgoingProxy? {
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        return self.proxies.proxy(forHost: host, port: url.port ?? (url.isHTTPS ? 443 : 80), isHTTPS: url.isHTTPS)
    }

    // MARK: Kinds of providers

    /// Checks an OpenID provider: its metadata and keys, and whether it accepts the gateway as a client.
    package func check(_ settings: OpenIDSettings) async throws -> [Verdict] {
        let issuer = try EndpointURL(settings.issuer)
        var (verdicts, metadata) = await self.metadata(of: issuer)
        guard let metadata else { return verdicts }
        do throws(Verdict) {
            verdicts += try await self.keys(at: metadata.keySetURL, settings)
        } catch {
            verdicts.append(error)
        }
        verdicts += self.judge(metadata, settings)
        let provider = try OpenIDProvider(settings, transport: self.transport, clock: self.clock)
        verdicts += await self.redirects(by: provider)
        let client = try ProviderClientAuthentication(settings.client, clock: self.clock)
        verdicts.append(await self.credentials(client, at: metadata.tokenEndpoint))
        if let introspection = settings.introspection {
            let client = try ProviderClientAuthentication(introspection.client, clock: self.clock)
            let url = try introspection.url.map { try EndpointURL($0) } ?? metadata.introspectionEndpoint
            verdicts.append(await self.introspection(client, at: url, audience: metadata.tokenEndpoint))
        }
        return verdicts
    }

    /// Checks an OAuth 2.0 provider: whether it accepts the gateway as a client, and its userinfo endpoint.
    package func check(_ settings: OAuth2Settings) async throws -> [Verdict] {
        let provider = try OAuth2Provider(settings, transport: self.transport, clock: self.clock)
        let client = try ProviderClientAuthentication(settings.client, clock: self.clock)
        let (tokens, userinfo) = (try EndpointURL(settings.tokenURL), try EndpointURL(settings.userinfoURL))
        return await self.redirects(by: provider) + [
            await self.credentials(client, at: tokens), await self.userinfo(at: userinfo),
        ]
    }

    /// Checks whether the introspection endpoint answers the gateway.
    package func check(_ settings: IntrospectionSettings) async throws -> [Verdict] {
        let client = try ProviderClientAuthentication(settings.client, clock: self.clock)
        guard let text = settings.url else { return [] }
        let url = try EndpointURL(text)
        return [await self.introspection(client, at: url, audience: url)]
    }

    // MARK: Asking

    /// Sends a call and returns the answer.
    ///
    /// - Throws: A verdict that explains why there is no answer.
    func ask(_ call: OutgoingCall, _ subject: String) async throws(Verdict) -> CallAnswer {
        do throws(CallError) {
            return try await self.transport.send(call)
        } catch {
            let finding = ProviderWords.failure(error)
            // The probe cannot use a proxy.
            guard error.cause == .certificate, let url = try? EndpointURL(call.url), self.proxy(for: url) == nil,
                let fault = await CertificateProbe.fault(of: url, now: self.clock.now())
            else { throw .error(subject, finding) }
            throw .error(subject, "\(url.host): \(fault)")
        }
    }
}
