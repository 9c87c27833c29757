package import Cryptography
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// The input for judging a session-transfer token without I/O.
package struct HandoffCase: Sendable {
    /// The live token from the store.
    package var token: TransferToken
    /// The native session that minted the token, as it is now. `nil` if it has ended.
    package var parent: Session?
    /// The public authority (`host[:port]`) that received the token.
    package var host: String
    /// The web client that consumes the token. Its settings determine binding, delegation and burning.
    package var client: ClientSettings
    /// The device that presents the token.
    package var device: DeviceFacts
    /// The certificate that the client presents in the TLS handshake. `nil` if the client presents none.
    package var certificate: ClientCertificate?
    /// The realms of the host.
    package var realms: Realms
    /// The browser's existing session on this host. `nil` if there is none.
    package var existing: Session?
    /// The organization that the client requests. `nil` if any user may sign in.
    package var organization: String?
    /// The reason to reject every token of the minting client. `nil` if the client is in order.
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
    /// Consume the token and create a web session from `parent`.
    case accept(parent: Session)
    /// Refuse the token. `burns` makes it unusable. `endsExisting` also ends the browser's session.
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

    /// Returns this judgement after the operator's rules. If a rule objects, the token is burned.
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
    /// Judges the token without the operator's rules. The first check that fails determines the reason. The caller
    /// checks the transport first (`ClientSettings.takes`).
    ///
    /// A mismatch burns the token unless the client sets `on_mismatch: keep`.
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
        // As in Auth0, a delegated token is accepted only in a browser without a session.
        if isDelegated, self.existing != nil {
            return HandoffJudgement(verdict: self.mismatch(.handoffAlreadySignedIn), binding: binding)
        }
        // As in Auth0, another user's token is burned, ends the existing session, and leads to the sign-in page.
        // Otherwise, a link could silently switch the user's account (login CSRF).
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

    /// Returns the facts about the token and its native session for the operator's rules.
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
    /// Returns whether the user belongs to this organization, by the provider's Auth0 claims `org_id` and `org_name`.
    /// As in Auth0, names are compared exactly.
    package func belongs(to organization: String) -> Bool {
        ["org_id", "org_name"].contains { self.traitsDocument[$0]?.string == organization }
    }
}

extension ClientSettings {
    /// Returns whether the client accepts tokens with this transport.
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
    /// The maximum lifetime of a session in which a delegate acts for the user, as in Auth0: 2 hours.
    package static let longestDelegation = Duration.seconds(7200)

    /// Returns whether the browser keeps this session instead of the new session `other` from a transfer token. True if
    /// this session has a higher assurance level, or the same level and no earlier expiry. False if the actors differ.
    package func isKeptInsteadOf(_ other: Session) -> Bool {
        if self.actor != other.actor { return false }
        return self.aal == other.aal ? self.expiresAt >= other.expiresAt : self.aal > other.aal
    }

    /// Returns the web session that a transfer token creates. It has the user and the authentication of `parent`, and
    /// never outlives it. It has no scopes, because the parent's scopes were granted to the native client. It shares
    /// the parent's provider grant, if that is shared.
    ///
    /// - Parameters:
    ///   - parent: The native session, with the actor of a delegated token (`TransferToken.source`).
    ///   - client: The client that consumes the token. Its settings may shorten the lifetimes.
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
            sourceKey: token,
            epoch: parent.epoch,
            provider: parent.sharedGrant.flatMap { grant in
                parent.provider.map { ProviderSession(name: $0.name, sessionID: $0.sessionID, grant: grant) }
            },
            actor: parent.actor,
            isPersistent: parent.actor == nil && lifetimes.persistence == .always
        )
    }
}
