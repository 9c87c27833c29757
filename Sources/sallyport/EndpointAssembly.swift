import AddressIntelligence
import Clients
import Cryptography
import Endpoints
import Handoff
import IDTokens
import OAuth
import Observability
import Providers
import SessionEndpoints
import Sessions
import Settings
import SignIn
import TokenEndpoints
import Vocabulary

/// Makes the endpoints of the public listeners.
struct EndpointAssembly {
    let settings: Settings
    let foundations: Foundations
    let roles: ProviderRoles
    let tokens: (any ForeignTokens)?
    let devices: DeviceObserver
    let hosts: SignInHosts
    let keys: SealingKeyRing
    let share: HandoffShare?
    let asn: ASNDirectory?
    let journal: HandoffJournal
    let handoff: HandoffConsumer
    let clients: ClientRegistry
    let idTokenKeys: IDTokenSigning
    let social: SocialVerifiers

    var endpoints: [Endpoint] {
        let providerSessions = ProviderSessions(
            store: self.foundations.store,
            authority: self.foundations.authority,
            loops: self.foundations.group,
            clock: self.foundations.clock
        )
        let sessions = SessionService(
            store: self.foundations.store,
            authority: self.foundations.authority,
            settings: self.settings.session,
            devices: self.devices,
            grants: self.foundations.grants,
            tokens: self.tokens,
            providerSessions: self.roles.logout == nil ? nil : providerSessions,
            loops: self.foundations.group,
            audit: self.foundations.audit,
            metrics: self.foundations.registry,
            clock: self.foundations.clock
        )
        let tokens = self.clientTokens
        var endpoints = self.tokenEndpoints(tokens)
        if self.signsIn { endpoints.append(self.authorizationEndpoint(tokens, sessions)) }
        if let provider = self.roles.password {
            let passwords = self.passwords(provider, sessions)
            endpoints += self.nativeEndpoints(passwords)
            endpoints += self.browserEndpoints(.password(passwords), sessions)
        } else if let provider = self.roles.browser {
            endpoints += self.browserEndpoints(.provider(self.flow(provider, sessions)), sessions)
        }
        if let provider = self.roles.logout {
            let logout = ProviderLogout(provider: provider, ends: providerSessions, sessions: sessions)
            endpoints += ProviderLogoutEndpoints(logout: logout).endpoints
        }
        return endpoints
    }

    // MARK: Ways to sign in

    private func passwords(_ provider: any PasswordProvider, _ sessions: SessionService) -> PasswordSignIn {
        PasswordSignIn(
            sessions: sessions,
            provider: provider,
            limiter: self.foundations.limiter,
            familiar: self.foundations.familiar,
            accounts: AccountNames(self.foundations.secrets.current),
            loops: self.foundations.group
        )
    }

    private func flow(_ provider: any BrowserProvider, _ sessions: SessionService) -> BrowserSignInFlow {
        BrowserSignInFlow(
            sessions: sessions,
            provider: provider,
            limiter: self.foundations.limiter,
            keys: self.keys,
            loops: self.foundations.group
        )
    }

    /// nil if users sign in with passwords, or no host has endpoints.
    private var providerSignOut: ProviderSignOut? {
        guard let provider = self.roles.browser, let home = self.settings.hosts.first(where: \.endpoints) else {
            return nil
        }
        return ProviderSignOut(
            provider: provider,
            page: home.publicURL.description + BrowserSessionEndpoints.signedOutPath,
            origins: Set(self.settings.hosts.map(\.publicURL.description)),
            seal: SignOutReturnSeal(self.keys, clock: self.foundations.clock)
        )
    }

    // MARK: Groups of endpoints

    private func nativeEndpoints(_ passwords: PasswordSignIn) -> [Endpoint] {
        NativeSessionEndpoints(
            passwords: passwords,
            cookieName: self.settings.session.cookieName,
            current: self.foundations.secrets.current,
            accepted: self.foundations.secrets.accepted
        ).endpoints
    }

    private func browserEndpoints(_ way: BrowserSessionEndpoints.Way, _ sessions: SessionService) -> [Endpoint] {
        let browser = BrowserSessionEndpoints(
            way,
            cookieName: self.settings.session.cookieName,
            handoffParameter: self.settings.handoff.queryParameter,
            providerSignOut: self.providerSignOut
        )
        let tickets = HostTickets(
            hosts: self.hosts,
            sessions: sessions,
            store: self.foundations.store,
            keys: self.keys,
            limiter: self.foundations.limiter,
            journal: TicketJournal(audit: self.foundations.audit, metrics: self.foundations.registry),
            loops: self.foundations.group
        )
        return HostSignInEndpoints(
            tickets,
            sessions: sessions,
            cookieName: self.settings.session.cookieName,
            handoffParameter: self.settings.handoff.queryParameter,
            share: self.share
        ).added(to: browser.endpoints)
    }

    /// Whether users can sign in here.
    private var signsIn: Bool { self.roles.password != nil || self.roles.browser != nil }

    private var issuer: String { ServerMetadata.issuer(self.settings.issuer) }

    private var clientTokens: TokenService {
        let secrets = self.foundations.secrets
        return TokenService(
            store: self.foundations.store,
            authority: self.foundations.authority,
            refreshTokens: RefreshTokenAuthority(current: secrets.current, accepted: secrets.accepted),
            apis: APIDirectory(self.settings.apis),
            lifetimes: self.settings.session.native,
            devices: self.devices,
            journal: TokenJournal(audit: self.foundations.audit, metrics: self.foundations.registry),
            loops: self.foundations.group,
            clock: self.foundations.clock
        )
    }

    private func authorizationEndpoint(_ tokens: TokenService, _ sessions: SessionService) -> Endpoint {
        AuthorizationEndpoint(
            clients: self.clients,
            tokens: tokens,
            sessions: sessions,
            handoff: self.handoff,
            keys: self.keys,
            loops: self.foundations.group,
            idTokens: self.idTokens
        ).endpoint
    }

    private var idTokens: IDTokenIssuer {
        IDTokenIssuer(keys: self.idTokenKeys, issuer: self.issuer, clock: self.foundations.clock)
    }

    private func tokenEndpoints(_ tokens: TokenService) -> [Endpoint] {
        let mint = HandoffMint(
            store: self.foundations.store,
            authority: self.foundations.authority,
            limiter: self.foundations.limiter,
            settings: self.settings.handoff,
            asn: self.asn,
            journal: self.journal,
            clock: self.foundations.clock
        )
        let authentication = ClientAuthentication(clients: self.clients)
        let limits = TokenLimits(limiter: self.foundations.limiter, loops: self.foundations.group)
        let token = TokenEndpoint(
            authentication: authentication,
            limits: limits,
            hosts: self.settings.hosts,
            tokens: tokens,
            mint: mint,
            social: SocialSignIns(
                verifiers: self.social,
                onces: self.foundations.store,
                tokens: tokens,
                loops: self.foundations.group
            ),
            idTokens: self.idTokens,
            loops: self.foundations.group
        )
        let revocation = RevocationEndpoint(authentication: authentication, limits: limits, tokens: tokens)
        let introspection = IntrospectionEndpoint(
            authentication: authentication,
            limits: limits,
            tokens: tokens,
            issuer: self.issuer
        )
        let userInfo = UserInfoEndpoint(tokens: tokens)
        return [token.endpoint, revocation.endpoint, introspection.endpoint, userInfo.endpoint]
            + ServerMetadata(origin: self.settings.issuer, signsIn: self.signsIn).endpoints
    }
}
