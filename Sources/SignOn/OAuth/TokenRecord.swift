internal import AddressIntelligence
package import Observability
package import Rules
package import Sessions
internal import Settings
package import Vocabulary

/// Tokens that were issued, refused or revoked, for the audit stream. It contains no token.
package struct TokenRecord: Sendable {
    /// What the client presented, or did.
    package enum Act: String, Sendable, CaseIterable {
        case redeemed = "authorization_code"
        case refreshed = "refresh_token"
        case exchanged = "token_exchange"
        case socialExchanged = "native_social"
        case revoked
        /// The browser's own session answers an authorization request, without asking the user.
        case authorized = "authorization_request"
    }

    package var act: Act
    package var clientID: String
    package var device: DeviceFacts
    package var requestID: String
    /// Why nothing was done; nil if it was.
    package var reason: Reason?
    /// The audience of what was issued, or of what the client presented.
    package var audience: String?
    /// The one that the client asked for.
    package var wantedAudience: String?
    package var subject: String?
    package var sessionID: String?
    /// The name of that session in the logs.
    package var fingerprint: Fingerprint?
    /// The name of the code, or of the family of the refresh token, that the client presented.
    package var tokenFingerprint: Fingerprint?
    /// The subject of whoever acts for the user.
    package var actor: String?
    package var scopes: [String] = []
    /// The check that failed.
    package var detail: String?
    /// How many sessions ended with the one that it is about.
    package var cascaded = 0
    /// What the operator's rules said.
    package var rules: [RuleFinding] = []
    /// Whether the access token is only made for a session-transfer token, which is judged by rules of its own, and the client
    /// does not get it.
    var isForTransfer = false

    init(_ act: Act, _ requester: TokenRequester, _ devices: DeviceObserver) {
        self.act = act
        self.clientID = requester.client.clientID
        self.device = devices.facts(address: requester.address, userAgent: requester.userAgent)
        self.requestID = requester.requestID
        self.wantedAudience = requester.audience
    }

    /// Records whose session it is about.
    mutating func note(_ session: Session, audience: String?) {
        self.subject = session.subject
        self.sessionID = session.id
        self.actor = session.actor
        self.audience = audience
    }

    /// The same for a session that the store has.
    mutating func note(_ stored: NewSession, audience: String?) {
        self.note(stored.session, audience: audience)
        self.fingerprint = stored.key.fingerprint
    }

    /// The record as lines of the audit stream, the act itself last.
    package var auditEvents: [AuditEvent] {
        let act = self.auditEvent
        let dryRuns = self.rules.filter(\.result.isDryRun).map { act.ofDryRun(rule: $0.rule, reason: $0.reason) }
        let cause = self.reason?.rawValue ?? self.act.rawValue
        return dryRuns + (self.cascaded > 0 ? [act.ofCascade(self.cascaded, by: cause)] : []) + [act]
    }

    /// The act itself.
    package var auditEvent: AuditEvent {
        let kind: AuditEvent.Kind =
            switch (self.act, self.reason) {
            case (_, .codeReplayed): .codeReplayed
            case (_, .refreshReplayed): .refreshTokenReplayed
            case (.revoked, nil): .tokenRevoked
            case (.authorized, nil): .authorizationGranted
            case (.authorized, _): .authorizationRefused
            case (_, nil): .tokenIssued
            default: .tokenRefused
            }
        var event = AuditEvent(
            kind,
            code: self.code,
            reason: self.reason,
            subject: self.subject,
            session: self.sessionID,
            fingerprint: self.fingerprint,
            clientID: self.clientID,
            address: self.device.address.description,
            asn: self.device.asn,
            userAgent: self.device.userAgent,
            requestID: self.requestID,
            details: self.details
        )
        event.audience = self.reason == nil ? self.audience : self.wantedAudience ?? self.audience
        event.tokenFingerprint = self.tokenFingerprint
        return event
    }

    private var details: [(String, String)] {
        let details: [(String, String?)] = [
            ("act", self.act.rawValue), ("actor", self.actor), ("detail", self.detail),
            ("rule", self.rules.objecting),
            ("scope_rules", self.rules.limiting.isEmpty ? nil : self.rules.limiting.joined(separator: ",")),
            ("scope", self.scopes.isEmpty ? nil : self.scopes.joined(separator: " ")),
        ]
        return details.compactMap { name, value in value.map { (name, $0) } }
    }

    private var code: AuditEvent.Code? {
        switch (self.act, self.reason == nil) {
        case (.redeemed, true): self.actor == nil ? .codeRedeemed : .delegatedCodeRedeemed
        case (.redeemed, false): self.actor == nil ? .codeRefused : .delegatedCodeRefused
        case (.refreshed, true): .minted
        case (.refreshed, false): .mintFailed
        case (.socialExchanged, true): .socialExchanged
        case (.socialExchanged, false): .socialRefused
        case (.exchanged, true): .exchanged
        case (.exchanged, false): .exchangeFailed
        case (.revoked, true): .refreshTokenRevoked
        case (.revoked, false): nil
        case (.authorized, true): self.actor == nil ? .silentlySignedIn : .delegatedSilentlySignedIn
        case (.authorized, false): self.actor == nil ? .silentSignInFailed : .delegatedSilentSignInFailed
        }
    }
}

/// Records what happens to the tokens of clients: counts it and writes it to the audit stream.
package struct TokenJournal: Sendable {
    private let keep: @Sendable (TokenRecord) -> Bool

    /// A journal that passes every record to `keep`, which returns whether it was kept.
    package init(_ keep: @escaping @Sendable (TokenRecord) -> Bool) {
        self.keep = keep
    }

    /// A journal that counts in `metrics` and writes to `audit`.
    package init(audit: AuditStream, metrics: MetricsRegistry) {
        let counters = TokenCounters(metrics)
        self.keep = { record in
            counters.count(record)
            // The last event is the act itself: if it cannot be written, the act must not happen.
            return record.auditEvents.reduce(true) { _, event in audit.emit(event) }
        }
    }

    /// Keeps a record; never waits.
    ///
    /// - Returns: false when it could not be kept and the configuration forbids unrecorded acts (`log.audit_on_full:
    ///   refuse`).
    @discardableResult
    func record(_ record: TokenRecord) -> Bool { self.keep(record) }

    /// Records an outcome, and returns the one to answer with: tokens whose issue cannot be recorded are not handed out.
    func take(_ outcome: TokenOutcome, _ record: TokenRecord) -> TokenOutcome {
        var record = record
        switch outcome {
        case .issued(let tokens):
            record.scopes = tokens.scopes
            record.fingerprint = tokens.root.fingerprint
            return self.keep(record) ? outcome : .unavailable(.gatewayOverloaded)
        case .refused(let reason):
            record.reason = reason
            _ = self.keep(record)
        case .denied:
            record.reason = .ruleDenied
            _ = self.keep(record)
        case .throttled:
            record.reason = .oauthThrottled
            _ = self.keep(record)
        case .unavailable: break
        }
        return outcome
    }
}

/// The counters of tokens, registered once. They are rare enough for the registry's own lock.
private struct TokenCounters: Sendable {
    private static let success = "ok"
    private static let refusals = Reason.allCases.filter { reason in
        switch reason {
        case .codeMismatch, .codeOtherClient, .codeReplayed, .codeUnknown, .refreshOtherClient, .refreshReplayed,
            .refreshUnknown, .refreshUserGone, .sessionClientGone, .sessionUnknown, .sessionOtherClient,
            .credentialExpired, .credentialInvalidToken, .credentialMalformed, .credentialOtherAudience,
            .credentialOtherKey, .oauthInvalidTarget, .oauthThrottled, .oauthUnauthorizedClient, .handoffNotPermitted,
            .socialRefused,
            .socialReplayed, .signInNotAllowed, .proofMissing, .proofOtherKey, .ruleDenied:
            true
        default: false
        }
    }

    private let metrics: MetricsRegistry
    private let counters: [String: CounterID]

    init(_ metrics: MetricsRegistry) {
        self.metrics = metrics
        var counters: [String: CounterID] = [:]
        // A code is counted when it is redeemed.
        for act in TokenRecord.Act.allCases where act != .authorized {
            for result in [Self.success] + Self.refusals.map(\.rawValue) {
                counters[Self.key(act, result)] = metrics.counter(MetricNames.tokens, act.rawValue, result)
            }
        }
        self.counters = counters
    }

    func count(_ record: TokenRecord) {
        for finding in record.rules { self.metrics.countRule(finding.rule, finding.result.rawValue) }
        if let id = self.counters[Self.key(record.act, record.reason?.rawValue ?? Self.success)] {
            self.metrics.increment(id)
        }
    }

    private static func key(_ act: TokenRecord.Act, _ result: String) -> String { "\(act.rawValue) \(result)" }
}
