import AddressIntelligence
import Handoff
import Observability
import Sessions
import Settings
import Vocabulary

/// What the request path refuses because somebody may be using a session that is not theirs, or be making a browser use it:
/// an event each, with the user whose session it is. The audit stream bounds them; the refusal stands in any case.
extension Exchange {
    /// Records a denial, if it is one of these: the session at another device, or used by another site.
    func audit(_ denial: Denial, of session: CachedSession?, _ head: RequestHead, _ base: Bytes) {
        switch denial {
        case .forbidden(.requestCrossSite):
            self.emit(.sessionDenied, .requestCrossSite, session, head, base)
        case .unauthenticated(let reason) where BindingReasons.all.contains(reason):
            self.emit(.bindingMismatch, reason, session, head, base)
        case .forbidden, .unauthenticated:
            break
        }
    }

    /// Records two session cookies with different values, of which another site of the domain may have planted one: with the
    /// user, if all that this loop knows of them are one user's.
    func auditAmbiguousCookies(_ head: RequestHead, _ base: Bytes, _ host: HostEntry) {
        guard let line = head.line(.cookie) else { return }
        var known: [CachedSession] = []
        self.configuration.cookies(of: host).forEachSession(in: head.fields[line].value, base) { value in
            let token = UnsafeRawBufferPointer(value.bytes(in: base))
            guard let session = self.loop.sessions.cache.lookup(token, now: self.loop.sessionNow),
                session.session.kind == .web, session.session.host == host.publicURL.authority
            else { return }
            known.append(session)
        }
        let isOneUser = Set(known.map(\.session.subject)).count == 1
        self.emit(.sessionDenied, .credentialAmbiguousCookie, isOneUser ? known.first : nil, head, base)
    }

    private func emit(
        _ kind: AuditEvent.Kind,
        _ reason: Reason,
        _ session: CachedSession?,
        _ head: RequestHead,
        _ base: Bytes
    ) {
        let device = self.configuration.devices.facts(
            address: self.facts.clientAddress ?? self.peer,
            userAgent: head.value(.userAgent, in: base).map { String(decoding: $0, as: UTF8.self) }
        )
        var event = AuditEvent(
            kind,
            code: .warning,
            reason: reason,
            subject: session?.session.subject,
            session: session?.session.id,
            host: self.facts.host?.publicURL.authority,
            address: device.address.description,
            asn: device.asn,
            userAgent: device.userAgent,
            requestID: self.facts.requestID.text,
            details: self.facts.route.map { [("route", $0.name)] } ?? []
        )
        if kind == .bindingMismatch {
            event.boundAddress = session?.session.device?.address.description
            event.boundASN = session?.session.device?.asn
        }
        self.configuration.audit.emit(event)
    }
}

/// The refusals of a live binding.
private enum BindingReasons {
    static let all: Set<Reason> = [.bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown]
}
