import AddressIntelligence
package import Observability
import Rules
import Sessions
import Settings
import Vocabulary

extension AuditRecord {
    /// The audit events of the record, with the act itself last. A `judged` act has only events of dry runs. Empty if
    /// the store could not answer.
    package var auditEvents: [AuditEvent] {
        guard let act = self.auditEvent else { return [] }
        var events: [AuditEvent] = []
        if let passed = self.passedInDryRun {
            var mismatch = act
            (mismatch.kind, mismatch.code, mismatch.reason) = (.bindingMismatch, nil, passed)
            mismatch.details = [("dry_run", "true")]
            events.append(mismatch)
        }
        for finding in self.rules where finding.result.isDryRun {
            events.append(act.ofDryRun(rule: finding.rule, reason: finding.reason))
        }
        if case .session(.judged, _) = self.act { return events }
        if self.cascaded > 0 { events.append(act.ofCascade(self.cascaded, by: self.cascadeCause)) }
        return events + [act]
    }

    private var cascadeCause: String {
        guard case .token(let act, let refusal) = self.act else { return self.detail ?? "sign-out" }
        return refusal?.rawValue ?? act.rawValue
    }

    /// The event of the act. `nil` if the store could not answer.
    package var auditEvent: AuditEvent? {
        guard let kind = self.kind else { return nil }
        var event = AuditEvent(
            kind,
            code: self.code,
            reason: self.reason,
            subject: self.subject,
            session: self.sessionID,
            fingerprint: self.fingerprint,
            clientID: self.clientID,
            host: self.host,
            address: self.device.address.description,
            asn: self.device.asn,
            userAgent: self.device.userAgent,
            requestID: self.requestID,
            details: self.details
        )
        event.realm = self.realm
        event.account = self.account
        event.tokenFingerprint = self.tokenFingerprint
        event.description = self.description
        event.audience = self.reason == nil ? self.audience : self.wantedAudience ?? self.audience
        event.boundAddress = self.mintedDevice?.address.description
        event.boundASN = self.mintedDevice?.asn
        event.country = self.country
        event.boundCountry = self.mintedCountry
        event.isTriggeredByTransferToken = self.transport != nil
        return event
    }

    private var kind: AuditEvent.Kind? {
        switch self.act {
        case .session(.signedIn, _), .session(.judged, _): .sessionCreated
        case .session(.refused, _): .signInFailed
        case .session(.signedOut, _): .sessionEnded
        case .session(.denied, _): .sessionDenied
        case .handoff(.minted): .transferTokenMinted
        case .handoff(.mintRefused): .transferTokenMintRefused
        case .handoff(.signedIn), .handoff(.sessionStays): .transferTokenConsumed
        case .handoff(.asked): .transferTokenAsked
        case .handoff(.repeated): .transferTokenRepeated
        case .handoff(.refused(.handoffReplayed)): .transferTokenReplayed
        case .handoff(.refused): .transferTokenRejected
        case .handoff(.mintUnavailable), .handoff(.unavailable), .ticket(.unavailable): nil
        case .ticket(.issued): .hostTicketIssued
        case .ticket(.used), .ticket(.sessionStays): .hostTicketUsed
        case .ticket(.refused): .hostTicketRefused
        case .token(_, refusal: .codeReplayed): .codeReplayed
        case .token(_, refusal: .refreshReplayed): .refreshTokenReplayed
        case .token(.revoked, refusal: nil): .tokenRevoked
        case .token(.authorized, refusal: let refusal): refusal == nil ? .authorizationGranted : .authorizationRefused
        case .token(_, refusal: let refusal): refusal == nil ? .tokenIssued : .tokenRefused
        }
    }

    /// Auth0's log event code. `nil` if Auth0 has no such event.
    package var code: AuditEvent.Code? {
        switch self.act {
        case .session(.signedIn, let kind), .session(.judged, let kind):
            kind == .web ? .signedIn : .silentlySignedIn
        case .session(.refused, let kind): kind == .web ? .signInFailed : .silentSignInFailed
        case .session(.signedOut, _): .loggedOut
        case .session(.denied, _), .handoff(.refused), .ticket(.refused): .warning
        case .handoff(.minted): .minted
        case .handoff(.mintRefused): .mintFailed
        case .handoff(.signedIn) where self.actor != nil: .delegatedSignedIn
        case .handoff(.signedIn): self.hadSession ? .silentlySignedIn : .signedIn
        case .handoff(.sessionStays), .ticket(.used), .ticket(.sessionStays): .silentlySignedIn
        case .handoff(.mintUnavailable), .handoff(.asked), .handoff(.repeated), .handoff(.unavailable),
            .ticket(.issued), .ticket(.unavailable):
            nil
        case .token(let act, let refusal): self.code(of: act, isDone: refusal == nil)
        }
    }

    private func code(of act: TokenAct, isDone: Bool) -> AuditEvent.Code? {
        switch (act, isDone) {
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

    /// Auth0's log sentence for a refused transfer token, because log filters search for it. `nil` if Auth0 has none
    /// (auth0/docs-v2, native-to-web/configure-implement-native-to-web.mdx, "Session transfer validation warning
    /// logs").
    private var description: String? {
        guard case .handoff(.refused(let reason)) = self.act else { return nil }
        switch reason {
        case .handoffUnknown, .handoffMalformed, .handoffExpired, .handoffReplayed, .handoffBurned,
            .handoffQuarantined:
            return "Single Sign-On failed: Session Transfer Token not found or expired. "
                + "This may indicate token reuse or expiration."
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown:
            return
                "Single Sign-On failed: Session Transfer Token device binding validation failed due to IP/ASN mismatch."
        case .handoffOtherOrganization:
            return "Single Sign-On failed: Session Transfer Token organization mismatch detected."
        case .handoffOtherUser:
            return "Single Sign-On failed: Session Transfer Token user mismatch detected."
        case .sessionRevoked:
            return "Single Sign-On failed: Parent refresh token not found. "
                + "Session Transfer Token won't be used for session establishment."
        default:
            return nil
        }
    }

    private var details: [(String, String)] {
        let details: [(String, String?)] =
            switch self.act {
            case .session(_, let kind):
                [
                    ("kind", kind.rawValue), ("expires_at", self.expiresAt?.rfc3339),
                    ("idle_seconds", self.idleLifetime.map { String($0.components.seconds) }),
                    ("ended_session", self.endedSessionID), ("provider", self.provider), ("detail", self.detail),
                    ("rule", self.rules.objecting),
                ]
            case .handoff(let act):
                [
                    ("requested_audience", self.audience), ("transport", self.transport?.rawValue),
                    ("binding", self.binding?.rawValue), ("minted_client_id", self.mintedClientID),
                    ("minted_host", self.validHost), ("minted_user_agent", self.mintedDevice?.userAgent),
                    ("parent_session", self.parentSessionID), ("actor", self.actor),
                    ("first_address", self.firstDevice?.address.description),
                    ("first_asn", self.firstDevice?.asn.map(String.init)),
                    ("confirmed", self.isConfirmed ? "true" : nil), ("rule", self.rules.objecting),
                    ("burned", self.burns ? "true" : nil), ("burned_for", self.burnedFor?.rawValue),
                    ("ended_session", self.endedSessionID),
                    ("session_stays", act == .sessionStays ? "true" : nil),
                    ("revoked_derived", self.revokedDerived ? "true" : nil),
                ]
            case .ticket(let act):
                [
                    ("audience", self.validHost), ("parent_session", self.parentSessionID),
                    ("ended_session", self.endedSessionID),
                    ("session_stays", act == .sessionStays ? "true" : nil),
                ]
            case .token(let act, _):
                [
                    ("act", act.rawValue), ("actor", self.actor), ("detail", self.detail),
                    ("rule", self.rules.objecting),
                    ("scope_rules", self.rules.limiting.isEmpty ? nil : self.rules.limiting.joined(separator: ",")),
                    ("scope", self.scopes.isEmpty ? nil : self.scopes.joined(separator: " ")),
                ]
            }
        return details.compactMap { name, value in value.map { (name, $0) } }
    }
}
