package import Cryptography
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// The input for judging a session-transfer token. It holds only values, so that tests can list every rule in a table.
package struct HandoffCase: Sendable {
    /// The token as the store has it, neither used nor burned.
    package var token: TransferToken
    /// The current state of the native session that the token was minted from. `nil` if that session has ended.
    package var parent: Session?
    /// The public authority (`host[:port]`) of the host on which the token is presented.
    package var host: String
    /// The web client that consumes the token. Its settings decide about binding, delegation and burning.
    package var client: ClientSettings
    /// The device that presents the token.
    package var device: DeviceFacts
    /// The certificate that the client presents in the TLS handshake. `nil` if the client presents none.
    package var certificate: ClientCertificate?
    /// The realms of the host.
    package var realms: Realms
    /// The session that this browser already has on this host. `nil` without such a session.
    package var existing: Session?
    /// The organization that the client requests. `nil` if any user may sign in.
    package var organization: String?
    /// The reason if the client that got the token is gone or may no longer get tokens. `nil` otherwise.
    package var clientLoss: Reason?
    package var now: UnixTime

    package init(
        token: TransferToken,
        parent: Session?,
        host: String,
        client: ClientSettings,
        device: DeviceFacts,
        certificate: ClientCertificate? = nil,
        realms: Realms = .default,
        existing: Session?,
        organization: String? = nil,
        clientLoss: Reason? = nil,
        now: UnixTime
    ) {
        self.token = token
        self.parent = parent
        self.host = host
        self.client = client
        self.device = device
        self.certificate = certificate
        self.realms = realms
        self.existing = existing
        self.organization = organization
        self.clientLoss = clientLoss
        self.now = now
    }
}

/// The verdict on a token.
package enum HandoffVerdict: Sendable, Equatable {
    /// Consume the token and make a web session from `parent`.
    case accept(parent: Session)
    /// Refuse the token. If `burns` is true, burn it so that it can never be used; otherwise, leave it. If
    /// `endsExisting` is true, also end the browser's existing session.
    case refuse(Reason, burns: Bool, endsExisting: Bool)
}

/// The outcome of judging: the verdict, the result of the binding check, and the result of the operator's rules.
package struct HandoffJudgement: Sendable, Equatable {
    package var verdict: HandoffVerdict
    /// The binding mode that was checked. `nil` if an earlier check failed.
    package var binding: BindingMode?
    /// The mismatch that `binding_dry_run` let pass. `nil` if there was none.
    package var passedInDryRun: Reason?
    /// The result of the operator's rules. Empty if the token was refused before the rules ran.
    package var rules = RuleJudgement()

    /// Returns this judgement with the result of the operator's rules. Rules only see accepted tokens.
    func judged(by rules: RuleJudgement) -> HandoffJudgement {
        var judgement = self
        judgement.rules = rules
        if let objection = rules.objection {
            judgement.verdict = .refuse(objection.reason, burns: true, endsExisting: false)
        }
        return judgement
    }
}

extension HandoffCase {
    /// Judges the token without the operator's rules. The reason is the first check that fails. The caller has already
    /// checked whether the client accepts tokens with this transport (`ClientSettings.takes`).
    ///
    /// A token that is presented by the wrong device or in the wrong place is burned, unless the client's policy is
    /// `keep`. An expired token needs no burning.
    package func judged() -> HandoffJudgement {
        guard self.now < self.token.expiresAt else {
            return HandoffJudgement(verdict: .refuse(.handoffExpired, burns: false, endsExisting: false))
        }
        if let loss = self.clientLoss {
            return HandoffJudgement(verdict: .refuse(loss, burns: false, endsExisting: false))
        }
        guard let parent = self.parent, self.now < parent.expiresAt else {
            return HandoffJudgement(verdict: .refuse(.sessionRevoked, burns: false, endsExisting: false))
        }
        guard self.realms.contains(parent.identity.realm) else {
            return HandoffJudgement(verdict: self.mismatch(.sessionOtherProvider))
        }
        if let host = self.token.host, host != self.host {
            return HandoffJudgement(verdict: self.mismatch(.handoffOtherHost))
        }
        let isDelegated = self.token.actor != nil
        if isDelegated, self.client.delegation == nil {
            return HandoffJudgement(verdict: self.mismatch(.handoffDelegationNotPermitted))
        }
        let binding = isDelegated ? self.client.delegation ?? self.client.binding : self.client.binding
        let mismatch = BindingJudge.judge(binding, minted: self.token.device, presented: self.device)
        if let mismatch, isDelegated || !self.client.bindingDryRun {
            return HandoffJudgement(verdict: self.mismatch(mismatch), binding: binding)
        }
        if let organization = self.organization, !parent.identity.belongs(to: organization) {
            return HandoffJudgement(
                verdict: self.mismatch(.handoffOtherOrganization),
                binding: binding,
                passedInDryRun: mismatch
            )
        }
        // As in Auth0, a delegate acts only where nobody is signed in, and ends no session.
        if isDelegated, self.existing != nil {
            return HandoffJudgement(verdict: self.mismatch(.handoffAlreadySignedIn), binding: binding)
        }
        // As in Auth0, a valid token of another user is always burned and ends the existing session, and the browser
        // goes to the sign-in page. No link can silently change a user's account (login CSRF).
        if let existing = self.existing, !existing.identity.isSamePerson(as: parent.identity) {
            return HandoffJudgement(
                verdict: .refuse(.handoffOtherUser, burns: true, endsExisting: true),
                binding: binding,
                passedInDryRun: mismatch
            )
        }
        return HandoffJudgement(
            verdict: .accept(parent: self.token.source(parent)),
            binding: binding,
            passedInDryRun: mismatch
        )
    }

    /// Returns the facts for the operator's rules about the token and the session that it was minted from.
    func facts(of parent: Session) -> RuleFacts {
        RuleFacts(
            request: RuleFacts.Request(self.device, self.certificate),
            authority: self.host,
            token: RuleFacts.Token(
                clientID: self.token.clientID,
                scopes: self.token.scopes,
                request: RuleFacts.Request(self.token.device)
            ),
            provider: parent.identity.realm.name,
            userID: parent.identity.id,
            traits: parent.identity.traits,
            actor: self.token.actor,
            clientID: self.client.clientID
        )
    }

    private func mismatch(_ reason: Reason) -> HandoffVerdict {
        .refuse(reason, burns: self.client.burnsOnMismatch, endsExisting: false)
    }
}

extension RuleFacts.Request {
    /// - Parameter certificate: The certificate that the client presents now. `nil` if the client presents none.
    init(_ device: DeviceFacts, _ certificate: ClientCertificate? = nil) {
        self.init(
            address: device.address,
            asn: device.asn,
            userAgent: device.userAgent,
            certificate: certificate.map(RuleFacts.Certificate.init)
        )
    }
}

extension RuleFacts.Certificate {
    init(_ certificate: ClientCertificate) {
        self.init(
            sha256: certificate.sha256.hexadecimal,
            subject: certificate.subject,
            issuer: certificate.issuer,
            serial: certificate.serial,
            names: certificate.names.map(\.text)
        )
    }
}

extension Identity {
    /// Returns whether the provider's Auth0 claims (`org_id`, `org_name`) put the user in this organization. As in
    /// Auth0, names of organizations are compared exactly.
    package func belongs(to organization: String) -> Bool {
        ["org_id", "org_name"].contains { self.traitsDocument[$0]?.string == organization }
    }
}

extension ClientSettings {
    /// Returns whether the client accepts tokens with this transport. Other tokens are removed, but not burned.
    package func takes(_ transport: HandoffTransport) -> Bool {
        switch transport {
        case .cookie: self.allowsCookie
        case .query: self.allowsQuery
        }
    }

    /// Whether the client accepts tokens with at least one transport.
    package var takesTokens: Bool { HandoffTransport.allCases.contains(where: self.takes) }
}

extension Session {
    /// The maximum lifetime of a session in which a delegate acts for the user, as in Auth0.
    package static let longestDelegation = Duration.seconds(7200)

    /// Returns whether the browser should keep this session instead of `other`, the session that a token of this user
    /// would create. It should if this session has a higher assurance level, or an equal level and no earlier
    /// `expiresAt`, so that a handoff never weakens or shortens the user's session. Idle time is ignored, because both
    /// sessions are in use. A session of another actor is always replaced.
    package func outranks(_ other: Session) -> Bool {
        if self.actor != other.actor { return false }
        return self.aal == other.aal ? self.expiresAt >= other.expiresAt : self.aal > other.aal
    }

    /// Returns the web session that a consumed transfer token makes. The user and the authentication come from the
    /// native session; everything else is new. The web session never outlives its parent. It has none of the parent's
    /// scopes, because they were granted to the native client. If the native session follows its provider, the web
    /// session does, too.
    ///
    /// - Parameters:
    ///   - parent: The native session, with the actor of a delegated token (`TransferToken.source`).
    ///   - client: The client for which the web session is made. It may shorten the lifetimes.
    package static func transferred(
        from parent: Session,
        through token: RecordKey,
        id: String,
        client: ClientSettings,
        host: String,
        device: DeviceFacts,
        lifetimes: SessionSettings.Lifetimes,
        now: UnixTime
    ) -> Session {
        let lifetime = parent.actor == nil ? lifetimes.absolute : Self.longestDelegation
        return Session(
            id: id,
            kind: .web,
            origin: .transfer,
            lineage: parent.lineage,
            identity: parent.identity,
            clientID: client.clientID,
            host: host,
            aal: parent.aal,
            methods: parent.methods,
            authenticatedAt: parent.authenticatedAt,
            issuedAt: now,
            expiresAt: min(now.advanced(by: min(lifetime, client.transferLifetime ?? lifetime)), parent.expiresAt),
            idleLifetime: min(lifetimes.idle, client.transferIdleLifetime ?? lifetimes.idle),
            device: device,
            bornOf: token,
            epoch: parent.epoch,
            provider: parent.sharedGrant.flatMap { grant in
                parent.provider.map { ProviderSession(name: $0.name, sessionID: $0.sessionID, grant: grant) }
            },
            actor: parent.actor,
            isPersistent: parent.actor == nil && lifetimes.persistence == .always
        )
    }
}
