import AddressIntelligence
import Cryptography
package import Observability
package import Sessions
import Settings
import SignOn
import Vocabulary

/// Records refusals that may show the misuse of a session as audit events.
extension RequestJudge {
    /// Records a denial for a cross-site request, another device, or a missing, wrong or replayed proof or certificate.
    mutating func audit(_ denial: Denial, of session: CachedSession?, _ given: borrowing RoutedRequest) {
        let kind: AuditEvent.Kind
        let cause: Reason
        switch denial {
        case .forbidden(.requestCrossSite):
            (kind, cause) = (.sessionDenied, .requestCrossSite)
        case .unauthenticated(.credentialBoundToCertificate), .unauthenticated(.credentialBoundToKey),
            .unauthenticated(.proofOtherKey), .unauthenticated(.proofReplayed):
            (kind, cause) = (.sessionDenied, denial.reason)
        case .unauthenticated(let reason) where JudgedBinding.Outcome(reason) != nil:
            (kind, cause) = (.bindingMismatch, reason)
        case .forbidden, .unauthenticated:
            return
        }
        var event = self.event(kind, cause, session, given)
        if kind == .bindingMismatch { self.noteDevices(in: &event, of: session, given) }
        self.findings.events.append(.audit(event))
    }

    /// Records that another device presents a session, on a route that only logs mismatches.
    mutating func noteWouldReject(
        _ binding: BindingMode,
        _ mismatch: Reason,
        _ session: CachedSession,
        _ given: borrowing RoutedRequest
    ) {
        self.findings.binding = JudgedBinding(mode: binding, outcome: .dryRun)
        var event = self.event(.bindingMismatch, mismatch, session, given)
        self.noteDevices(in: &event, of: session, given)
        event.details.append(("dry_run", "true"))
        let device = PresentedDevice(session: session.key, address: self.address(given))
        self.findings.events.append(.wouldReject(binding, device, event))
    }

    /// Adds the address, ASN and country of the session's device, and the country of the presenting device.
    private func noteDevices(in event: inout AuditEvent, of session: CachedSession?, _ given: borrowing RoutedRequest) {
        let places = given.judging.places
        let device = session?.session.device
        event.boundAddress = device?.address.description
        event.boundASN = device?.asn
        event.boundCountry = device.flatMap { places?.place(of: $0.address)?.countryCode }
        event.country = places?.place(of: self.address(given))?.countryCode
    }

    /// Records session cookies with different values. Another site of the domain may have planted one of them.
    mutating func auditAmbiguousCookies(_ given: borrowing RoutedRequest) {
        guard let line = given.head.line(.cookie) else { return }
        var values: [Slice] = []
        given.cookies.forEachValue(of: .session, in: given.head.fields[line].value, given.base) { values.append($0) }
        let event = self.event(.sessionDenied, .credentialAmbiguousCookie, nil, given)
        self.findings.events.append(.ambiguousCookies(values, event))
    }

    private func event(
        _ kind: AuditEvent.Kind,
        _ reason: Reason,
        _ session: CachedSession?,
        _ given: borrowing RoutedRequest
    ) -> AuditEvent {
        let device = given.judging.devices.facts(address: self.address(given), userAgent: given.text(.userAgent))
        return AuditEvent(
            kind,
            code: .warning,
            reason: reason,
            subject: session?.session.subject,
            session: session?.session.id,
            fingerprint: session?.key.fingerprint,
            host: given.host.publicURL.authority,
            address: device.address.description,
            asn: device.asn,
            userAgent: device.userAgent,
            requestID: self.findings.requestID.text,
            details: [("route", given.route.name)]
                + (self.findings.certificate.map { [("client_certificate", $0.sha256.hexadecimal)] } ?? [])
        )
    }
}

extension AuditEvent {
    /// Adds the user to the event, if all web sessions of `host` in `known` belong to one user.
    package func naming(_ known: [CachedSession], on host: String?) -> AuditEvent {
        let sessions = known.filter { $0.session.kind == .web && $0.session.host == host }
        guard Set(sessions.map(\.session.subject)).count == 1 else { return self }
        var event = self
        event.subject = sessions.first?.session.subject
        event.session = sessions.first?.session.id
        event.fingerprint = sessions.first?.key.fingerprint
        return event
    }
}
