internal import AddressIntelligence
package import Observability
package import Rules
package import Sessions
package import Vocabulary

/// A sign-in, a sign-out or a refusal of one, for the audit stream. It contains neither a token nor the user's input:
/// users type passwords into the wrong field.
package struct SignInRecord: Sendable, Equatable {
    package enum Event: Sendable, Equatable {
        case signedIn
        /// The rules let a sign-in pass whose session begins later, with a record of its own.
        case judged
        case refused(Reason)
        case signedOut
        /// A request that another site may have caused, or cookies that another site may have planted.
        case denied(Reason)
    }

    package var event: Event
    /// What presents the session: a browser or a native app.
    package var kind: Session.Kind
    package var requestID: String
    package var host: String
    package var device: DeviceFacts
    package var subject: String?
    /// The account that was tried (`AccountNames`), whether or not it exists; in the record of a successful sign-in
    /// beside the subject.
    package var account: String?
    /// The public id of the session that began or ended.
    package var sessionID: String?
    /// The name of that session's token in the logs.
    package var fingerprint: Fingerprint?
    /// When the session that began ends at the latest.
    package var expiresAt: UnixTime?
    /// After which time without use it ends before.
    package var idleLifetime: Duration?
    /// Who ended the session, if it is about a sign-out.
    package var cause = Reason.sessionSignedOut
    /// The public id of the browser's former session, which the new one replaced.
    package var endedSessionID: String?
    /// The name of the provider at which the user signed in with the browser.
    package var provider: String?
    /// An error code of the provider, or the check that failed.
    package var detail: String?
    /// How many other sessions ended with it.
    package var cascaded = 0
    /// What the operator's rules said.
    package var rules: [RuleFinding] = []

    package init(event: Event, kind: Session.Kind, requestID: String, host: String, device: DeviceFacts) {
        self.event = event
        self.kind = kind
        self.requestID = requestID
        self.host = host
        self.device = device
    }

    /// Records whose session it is about.
    package mutating func note(_ session: Session, _ key: RecordKey) {
        self.subject = session.subject
        self.sessionID = session.id
        self.fingerprint = key.fingerprint
        guard self.event == .signedIn else { return }
        self.expiresAt = session.expiresAt
        self.idleLifetime = session.idleLifetime
    }

    /// Auth0's code: `s`/`f` in a browser, `ssa`/`fsa` for native apps, `slo` for a sign-out, `w` for a warning.
    package var code: AuditEvent.Code {
        switch (self.event, self.kind) {
        case (.signedIn, .web), (.judged, .web): .signedIn
        case (.signedIn, .native), (.judged, .native): .silentlySignedIn
        case (.refused, .web): .signInFailed
        case (.refused, .native): .silentSignInFailed
        case (.signedOut, _): .loggedOut
        case (.denied, _): .warning
        }
    }

    /// The reason of a refusal or of an end; nil if it was neither.
    package var reason: Reason? {
        switch self.event {
        case .refused(let reason), .denied(let reason): reason
        case .signedOut: self.cause
        case .signedIn, .judged: nil
        }
    }

    /// The record as lines of the audit stream, the act itself last.
    package var auditEvents: [AuditEvent] {
        let act = self.auditEvent
        let dryRuns = self.rules.filter(\.result.isDryRun).map { act.ofDryRun(rule: $0.rule, reason: $0.reason) }
        let cascade = self.cascaded > 0 ? [act.ofCascade(self.cascaded, by: self.detail ?? "sign-out")] : []
        return self.event == .judged ? dryRuns : dryRuns + cascade + [act]
    }

    /// The act itself.
    package var auditEvent: AuditEvent {
        let kind: AuditEvent.Kind =
            switch self.event {
            case .signedIn, .judged: .sessionCreated
            case .refused: .signInFailed
            case .signedOut: .sessionEnded
            case .denied: .sessionDenied
            }
        var details = [("kind", self.kind.rawValue)]
        if let expiresAt = self.expiresAt { details.append(("expires_at", expiresAt.rfc3339)) }
        if let idle = self.idleLifetime { details.append(("idle_seconds", String(idle.components.seconds))) }
        if let ended = self.endedSessionID { details.append(("ended_session", ended)) }
        if let provider = self.provider { details.append(("provider", provider)) }
        if let detail = self.detail { details.append(("detail", detail)) }
        if let rule = self.rules.objecting { details.append(("rule", rule)) }
        var event = AuditEvent(
            kind,
            code: self.code,
            reason: self.reason,
            subject: self.subject,
            session: self.sessionID,
            fingerprint: self.fingerprint,
            host: self.host,
            address: self.device.address.description,
            asn: self.device.asn,
            userAgent: self.device.userAgent,
            requestID: self.requestID,
            details: details
        )
        event.account = self.account
        return event
    }
}
