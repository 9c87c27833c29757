import AddressIntelligence
import Cryptography
import Endpoints
import JOSE
import Providers
import RequestPath
import Rules
import Sessions
import Settings
import SignOn
import Vocabulary

/// Makes the endpoints for a group of hosts with the same providers.
struct EndpointAssembly {
    let group: HostGroup
    /// The providers, in the order of the settings.
    let members: [AssembledRealm]
    /// All hosts with at least one of these providers, in this group or not.
    let related: [HostSettings]
    let foundations: Foundations
    let devices: DeviceObserver
    let share: HandoffShare?
    let asn: ASNDirectory?
    let rules: RuleBook
    let journal: AuditJournal
    let handoff: HandoffConsumer
    let confirmation: HandoffConfirmation
    let clients: ClientRegistry
    let idTokenKeys: IDTokenSigning
    let social: SocialVerifiers
    let proofs: DPoPGate

    private var settings: Settings { self.group.settings }
    private var users: RealmUsers { RealmUsers(together: self.members.map(\.users)) }
    private var tokens: [any ForeignTokens] { self.members.compactMap(\.tokens) }
    private var kratos: AssembledRealm? { self.members.first { $0.provider.kratos != nil } }

    var endpoints: [Endpoint] {
        let sessions = SessionService(
            records: self.foundations.records,
            settings: self.settings.session,
            devices: self.devices,
            grants: self.foundations.grants,
            tokens: self.tokens,
            providerSessions: self.endingSessions,
            users: self.users,
            accounts: AccountLinks(self.settings),
            rules: self.rules,
            cascade: self.cascade,
            observe: { [members = self.members] session in
                members.first { $0.realm == session.identity.realm }?.unfit.note(session)
            },
            journal: AuditJournal(audit: self.foundations.audit, counters: .signIns(self.foundations.registry))
        )
        let tokens = self.clientTokens(sessions)
        var endpoints = self.tokenEndpoints(tokens, sessions)
        endpoints += self.handoffEndpoint(sessions).endpoints
        if self.signsIn { endpoints.append(self.authorizationEndpoint(tokens, sessions)) }
        let native = NativeSignIns(
            sessions: sessions,
            settings: self.settings.exchange,
            limiter: self.foundations.limiter
        )
        if let ways = SignInWays(self.members.compactMap { self.way($0, sessions) }) {
            // Kratos itself serves these endpoints.
            if self.kratos == nil { endpoints += self.nativeEndpoints(native, ways.passwords, tokens) }
            endpoints += self.browserEndpoints(ways, native)
        }
        if let kratos = self.kratos, let provider = kratos.provider.kratos {
            let sessions = sessions.signing(in: kratos.realm)
            endpoints.append(self.exchange(at: provider, sessions))
            endpoints += KratosEndEndpoints(kratos: provider, sessions: sessions).endpoints
        }
        let logouts = self.members.compactMap { member in
            member.provider.roles.logout.map { provider in
                ProviderLogout(
                    provider: provider,
                    ends: self.providerSessions,
                    users: UserSessions(sessions: sessions.signing(in: member.realm))
                )
            }
        }
        if !logouts.isEmpty { endpoints += ProviderLogoutEndpoints(logouts: logouts).endpoints }
        guard self.settings.oauth2ProxyPaths else { return endpoints }
        endpoints.append(OAuth2ProxyUserInfo(sessions).endpoint)
        return self.wantedPages(of: self.settings.hosts).added(to: endpoints)
    }

    /// The endpoints of Authelia's portal. Empty unless other proxies use the gateway instead of Authelia.
    var portal: [Endpoint] {
        guard self.settings.identity.preset == .authelia, self.settings.authorization != nil, self.signsIn else {
            return []
        }
        return AutheliaPortal(wanted: self.wantedPages(of: self.related)).endpoints
    }

    /// Returns the endpoints with oauth2-proxy's paths, which redirect to pages of these hosts.
    private func wantedPages(of hosts: [HostSettings]) -> OAuth2ProxyEndpoints {
        OAuth2ProxyEndpoints(origins: ServedOrigins(hosts), handoffParameter: self.settings.handoff.queryParameter)
    }

    /// Returns how a provider's users sign in; `nil` if they cannot sign in here.
    private func way(_ member: AssembledRealm, _ sessions: SessionService) -> SignInWay? {
        guard let named = member.named else { return nil }
        let sessions = sessions.signing(in: member.realm)
        let kind: SignInWay.Kind
        if let provider = member.provider.roles.password {
            kind = .password(
                PasswordSignIn(
                    sessions: sessions,
                    provider: provider,
                    limiter: self.foundations.limiter,
                    familiar: self.foundations.familiar,
                    accounts: AccountNames(self.foundations.keys.secrets.current)
                )
            )
        } else if let provider = member.provider.roles.browser {
            kind = .provider(
                BrowserSignInFlow(
                    sessions: sessions,
                    name: self.group.realms.areSeveral ? member.realm.name : nil,
                    provider: provider,
                    limiter: self.foundations.limiter,
                    keys: self.foundations.keys.sealing,
                    reportOutage: member.provider.reportOutage
                )
            )
        } else if let provider = member.provider.kratos {
            let home = self.hosts(of: member).first(where: \.endpoints)?.publicURL.description ?? self.settings.issuer
            kind = .pages(ProviderPages(provider, sessions: sessions, home: home))
        } else {
            return nil
        }
        return SignInWay(
            kind,
            name: member.realm.name,
            button: named.button,
            domains: named.domains,
            isAway: member.provider.isAway
        )
    }

    /// Returns the hosts with this provider. The hosts of this group are first.
    private func hosts(of member: AssembledRealm) -> [HostSettings] {
        self.settings.hosts + self.related.filter { $0.providers.contains(member.realm.name) }
    }

    private var providerSessions: ProviderSessions { ProviderSessions(records: self.foundations.records) }

    /// Finds what to end with a provider's session; `nil` unless provider sessions can end here. They end by a logout
    /// of the provider, by a sign-out with Kratos's cookie, or when an operator signs out a linked account.
    private var endingSessions: ProviderSessions? {
        self.settings.accounts.linkKey != nil
            || self.members.contains { $0.provider.roles.logout != nil || $0.provider.kratos != nil }
            ? self.providerSessions : nil
    }

    /// The grants for providers' tokens; `nil` if no such tokens are accepted.
    private var foreignGrants: ForeignGrants? {
        let (tokens, refreshTokens) = (self.tokens, self.members.compactMap(\.refreshTokens))
        guard !tokens.isEmpty || !refreshTokens.isEmpty else { return nil }
        return ForeignGrants(tokens: tokens, refreshTokens: refreshTokens, ends: self.endingSessions)
    }

    // MARK: Ways to sign in

    /// The sign-out at providers; `nil` without providers that sign in by redirect, or without a host that has
    /// endpoints.
    private var providerSignOut: ProviderSignOut? {
        let providers = self.members.compactMap(\.provider.roles.browser)
        let names = Set(self.group.providers)
        let home =
            self.settings.hosts.first(where: \.endpoints)
            ?? self.related.first { $0.endpoints && names.isSubset(of: $0.providers) }
        guard !providers.isEmpty, let home else { return nil }
        return ProviderSignOut(
            providers: providers,
            page: home.publicURL.description + BrowserSessionEndpoints.signedOutPath(by: self.settings.pages),
            origins: ServedOrigins(self.related),
            seal: SignOutReturnSeal(self.foundations.keys.sealing, clock: self.foundations.clock)
        )
    }

    // MARK: Groups of endpoints

    private var socialProofs: SocialProofs {
        SocialProofs(onces: self.foundations.store, loops: self.foundations.group)
    }

    private var socialOwners: SocialOwners {
        let owners = self.group.socialOwners.compactMapValues { named -> SocialOwner? in
            guard let settings = named.settings as? OpenIDSettings else { return nil }
            return SocialOwner(settings, realm: Realm(named.name), clock: ProviderSite.clock)
        }
        return SocialOwners(owners, others: self.group.socialRealm)
    }

    /// Returns the endpoints for native apps, in Kratos's format.
    ///
    /// - Parameter passwords: The sign-in with passwords; `nil` if users sign in at a provider.
    private func nativeEndpoints(
        _ native: NativeSignIns,
        _ passwords: PasswordSignIn?,
        _ tokens: TokenService
    ) -> [Endpoint] {
        let flows = NativeFlowEndpoints(
            native: native,
            passwords: passwords,
            idTokens: IDTokenSignIns(
                sessions: native.sessions.signing(in: self.group.socialRealm),
                verifiers: self.social,
                proofs: self.socialProofs,
                owners: self.socialOwners,
                limiter: self.foundations.limiter
            ),
            current: self.foundations.keys.secrets.current,
            accepted: self.foundations.keys.secrets.accepted
        )
        let accessTokens = AccessTokenSessions(tokens: tokens, clients: self.clients, proofs: self.proofCheck)
        let sessions = NativeSessionEndpoints(
            sessions: native.sessions,
            resolvers: self.foundations.resolvers,
            accessTokens: accessTokens
        )
        let lists = SessionListEndpoints(
            users: UserSessions(sessions: native.sessions),
            accessTokens: accessTokens
        )
        let endpoints = (flows.endpoints + sessions.endpoints + lists.endpoints).map { $0.forJobs(.nativeApps) }
        let origins = self.settings.exchange.allowedOrigins
        guard !origins.isEmpty else { return endpoints }
        return endpoints.map { $0.readable(by: .some { origins.contains($0) }) }
    }

    private func exchange(at kratos: KratosProvider, _ sessions: SessionService) -> Endpoint {
        KratosExchangeEndpoint(
            kratos: kratos,
            claims: ExchangeClaims(records: self.foundations.records),
            sessions: sessions
        ).endpoint
    }

    private func browserEndpoints(
        _ ways: SignInWays,
        _ native: NativeSignIns
    ) -> [Endpoint] {
        let sessions = native.sessions
        let browser = BrowserSessionEndpoints(
            ways,
            sessions: sessions,
            cookieName: self.settings.session.cookieName,
            handoffParameter: self.settings.handoff.queryParameter,
            hasTransfers: self.related.contains { $0.routes.contains(where: \.handoff) },
            native: native,
            providerSignOut: self.providerSignOut,
            identifierFirst: Set(
                self.settings.hosts.filter { $0.signIn == .identifierFirst }.map(\.publicURL.authority)
            )
        )
        let logouts = ClientLogoutEndpoints(
            browser: browser,
            clients: self.clients,
            keys: self.idTokenKeys,
            issuer: self.issuer
        )
        let tickets = HostTickets(
            hosts: SignInHosts(self.related),
            sessions: sessions,
            keys: self.foundations.keys.sealing,
            limiter: self.foundations.limiter,
            journal: AuditJournal(audit: self.foundations.audit, counters: .tickets(self.foundations.registry))
        )
        return HostSignInEndpoints(
            tickets,
            sessions: sessions,
            cookieName: self.settings.session.cookieName,
            handoffParameter: self.settings.handoff.queryParameter,
            share: self.share
        ).added(to: browser.endpoints, leadingToSignIn: !ways.usesProviderPages)
            + logouts.endpoints.map { $0.forJobs(.clients) } + [
                SessionsPage(
                    users: UserSessions(sessions: sessions),
                    cookieName: self.settings.session.cookieName,
                    arePasswordsHere: ways.passwords != nil
                ).endpoint
            ] + [PasswordChange.endpoint(by: self.settings.pages)].compactMap(\.self)
    }

    private func handoffEndpoint(_ sessions: SessionService) -> HandoffEndpoint {
        HandoffEndpoint(
            handoff: self.handoff,
            confirmation: self.confirmation,
            sessions: sessions,
            clients: self.clients,
            cookieName: self.settings.session.cookieName,
            cookies: HandoffCookies(self.settings)
        )
    }

    private var signsIn: Bool { self.members.contains(where: \.signsIn) }

    private var issuer: String { ServerMetadata.issuer(self.settings.issuer) }

    private var cascade: SessionCascade { SessionCascade(store: self.foundations.store) }

    private func clientTokens(_ sessions: SessionService) -> TokenService {
        let secrets = self.foundations.keys.secrets
        return TokenService(
            records: self.foundations.records,
            refreshTokens: RefreshTokenAuthority(current: secrets.current, accepted: secrets.accepted),
            apis: APIDirectory(self.settings.apis),
            lifetimes: self.settings.session.native,
            devices: self.devices,
            limiter: self.foundations.limiter,
            users: self.users,
            journal: AuditJournal(audit: self.foundations.audit, counters: .tokens(self.foundations.registry)),
            rules: self.rules,
            cascade: self.cascade,
            foreign: self.foreignGrants,
            accounts: AccountLinks(self.settings),
            ends: self.endingSessions,
            grants: self.foundations.grants,
            sessions: sessions
        )
    }

    private func authorizationEndpoint(_ tokens: TokenService, _ sessions: SessionService) -> Endpoint {
        AuthorizationEndpoint(
            clients: self.clients,
            tokens: tokens,
            sessions: sessions,
            handoff: self.handoff,
            cookies: HandoffCookies(self.settings),
            keys: self.foundations.keys.sealing,
            idTokens: self.idTokens,
            levels: self.levels
        ).endpoint.forJobs(.clients)
    }

    private var proofCheck: ProofCheck {
        ProofCheck(gate: self.proofs, loops: self.foundations.group, clock: self.foundations.clock)
    }

    /// The origins of all clients. A preflight does not say which client sends it.
    private var scriptsOfClients: CrossOriginReaders {
        .some { [clients] in clients.snapshot.allows(origin: $0) }
    }

    /// The authentication levels that clients may request (`acr_values`).
    private var levels: AuthenticationLevels {
        AuthenticationLevels(self.members.filter(\.signsIn).compactMap(\.named))
    }

    private var idTokens: IDTokenIssuer {
        IDTokenIssuer(keys: self.idTokenKeys, issuer: self.issuer, clock: self.foundations.clock)
    }

    private func tokenEndpoints(_ tokens: TokenService, _ sessions: SessionService) -> [Endpoint] {
        let mint = HandoffMint(
            records: self.foundations.records,
            limiter: self.foundations.limiter,
            settings: self.settings.handoff,
            asn: self.asn,
            users: self.users,
            grants: self.foundations.grants,
            rules: self.rules,
            journal: self.journal
        )
        let limits = TokenLimits(limiter: self.foundations.limiter, loops: self.foundations.group)
        let authentication = ClientAuthentication(
            clients: self.clients,
            assertions: ClientAssertions(
                origin: self.settings.issuer,
                onces: self.foundations.store,
                loops: self.foundations.group,
                clock: self.foundations.clock
            ),
            limits: limits
        )
        let token = TokenEndpoint(
            authentication: authentication,
            hosts: self.settings.hosts,
            tokens: tokens,
            mint: mint,
            social: SocialSignIns(
                verifiers: self.social,
                proofs: self.socialProofs,
                owners: self.socialOwners,
                tokens: tokens
            ),
            proofs: self.proofCheck,
            idTokens: self.idTokens
        )
        let revocation = RevocationEndpoint(authentication: authentication, tokens: tokens, sessions: sessions)
        let introspection = IntrospectionEndpoint(
            authentication: authentication,
            tokens: tokens,
            issuer: self.issuer
        )
        let userInfo = UserInfoEndpoint(limits: limits, tokens: tokens, proofs: self.proofCheck)
        let pushed = PushedRequestEndpoint(
            authentication: authentication,
            proofs: self.proofCheck,
            clients: self.clients,
            tokens: tokens,
            idTokens: self.idTokens,
            levels: self.levels
        )
        let ofScripts =
            [token.endpoint, revocation.endpoint, userInfo.endpoint] + (self.signsIn ? [pushed.endpoint] : [])
        // Only servers introspect tokens, so scripts may not read the answers.
        let ofClients = ofScripts.map { $0.readable(by: self.scriptsOfClients) } + [introspection.endpoint]
        let metadata = ServerMetadata(
            origin: self.settings.issuer,
            signsIn: self.signsIn,
            clients: self.clients,
            levels: self.levels
        )
        return ofClients.map { $0.forJobs(.clients) } + metadata.endpoints.map { $0.forJobs(.verifiers) }
            + AppLinkEndpoints(self.clients).endpoints
    }
}
