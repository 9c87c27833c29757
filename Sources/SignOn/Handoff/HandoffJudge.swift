package import Cryptography
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// The input for judging a session-transfer token: values only, so that tests can list every rule as a row of a table.
package struct HandoffCase: Sendable {
    /// The token as the store has it: neither used nor burned.
    package var token: TransferToken
    /// The native session it was minted from, as it is now; nil if it has ended.
    package var parent: Session?
    /// The public authority (`host[:port]`) on which it is presented.
    package var host: String
    /// The consuming web client; its settings decide.
    package var client: ClientSettings
    /// The device that presents the token.
    package var device: DeviceFacts
    /// What the client has proven in the TLS handshake; nil: nothing.
    package var certificate: ClientCertificate?
    /// Whose host it is.
    package var realms: Realms
    /// The session that this browser already has on this host.
    package var existing: Session?
    /// The organization that the client asks for; nil: any user.
    package var organization: String?
    /// Why the client that got the token may not have it any more; nil: it may.
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

/// What to do with a token.
package enum HandoffVerdict: Sendable, Equatable {
    /// Consume it and make a web session out of `parent`.
    case accept(parent: Session)
    /// Refuse it, and either leave it or burn it so that it can never be used.
    case refuse(Reason, burns: Bool, endsExisting: Bool)
}

/// The outcome of judging: the verdict, the result of the binding check, and what the operator's rules said.
package struct HandoffJudgement: Sendable, Equatable {
    package var verdict: HandoffVerdict
    /// The binding mode that was judged; nil when an earlier rule was broken.
    package var binding: BindingMode?
    /// Set when `binding_dry_run` let a device pass that the binding mode would have refused.
    package var passedInDryRun: Reason?
    /// What the operator's rules said; nothing when something else decided before.
    package var rules = RuleJudgement()

    /// This judgement with that of the operator's rules, which see only tokens that it accepts.
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
    /// Judges the token, all but the operator's rules; the first broken rule is the reason. Whether the client takes tokens in this place was judged
    /// before (`ClientSettings.takes`).
    ///
    /// A token in the wrong hands or in the wrong place is burned, unless the client's policy is `keep`. An expired
    /// token needs no burning.
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
        // As Auth0 does: whoever acts for a user does so only where nobody is signed in, and ends no session.
        if isDelegated, self.existing != nil {
            return HandoffJudgement(verdict: self.mismatch(.handoffAlreadySignedIn), binding: binding)
        }
        // As Auth0 does: when the browser has a session of another user, a valid token and that session end each other
        // and the browser goes to the sign-in page, so that no link can silently swap the account that a user works in
        // (login CSRF). No policy keeps the token.
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

    /// What the operator's rules may know of the token and of the session that it was minted from.
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
    /// - Parameter certificate: What the client proves now; nil: nothing.
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
    /// Whether the provider says that the user is signed in to this organization, by Auth0's claims (`org_id`,
    /// `org_name`). Like the names of organizations there, they are compared exactly.
    package func belongs(to organization: String) -> Bool {
        ["org_id", "org_name"].contains { self.traitsDocument[$0]?.string == organization }
    }
}

extension ClientSettings {
    /// Whether a token in this place is tried at all. One in another place is removed and not burned.
    package func takes(_ transport: HandoffTransport) -> Bool {
        switch transport {
        case .cookie: self.allowsCookie
        case .query: self.allowsQuery
        }
    }

    /// Whether a token is tried in any place.
    package var takesTokens: Bool { HandoffTransport.allCases.contains(where: self.takes) }
}

extension Session {
    /// How long a session lives at most in which somebody acts for the user: as at Auth0.
    package static let longestDelegation = Duration.seconds(7200)

    /// Whether this session of the browser is better than `other`, which a token would put in its place for the same
    /// user: it has the higher assurance level, or the same level and no earlier `expiresAt` (both are in use, so idle
    /// time does not count). A handoff never weakens or shortens what the user has. A session in which somebody else acts is
    /// not the user's.
    package func outranks(_ other: Session) -> Bool {
        if self.actor != other.actor { return false }
        return self.aal == other.aal ? self.expiresAt >= other.expiresAt : self.aal > other.aal
    }

    /// The web session that a consumed transfer token makes: the user and the authentication come from the native
    /// session, everything else is new. It never outlives its parent and has none of the parent's scopes, which were
    /// granted to the native client.
    ///
    /// - Parameter parent: With the actor of a delegated token (`TransferToken.source`).
    package static func transferred(
        from parent: Session,
        through token: RecordKey,
        id: String,
        client: String,
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
            clientID: client,
            host: host,
            aal: parent.aal,
            methods: parent.methods,
            authenticatedAt: parent.authenticatedAt,
            issuedAt: now,
            expiresAt: min(now.advanced(by: lifetime), parent.expiresAt),
            idleLifetime: lifetimes.idle,
            device: device,
            bornOf: token,
            epoch: parent.epoch,
            actor: parent.actor,
            isPersistent: parent.actor == nil && lifetimes.persistence == .always
        )
    }
}
