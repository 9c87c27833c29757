package import Vocabulary

/// Writes audit events as JSON lines. They have their own queue: access lines cannot displace them.
package struct AuditStream: Sendable {
    /// What happens if an event does not fit into the queue (`log.audit_on_full`).
    package enum WhenFull: Sendable {
        /// The act continues, and the lost event is counted.
        case drop
        /// The act is rejected, because it must not happen unrecorded.
        case refuse
    }

    /// The queue; `nil` if audit events are disabled.
    private let queue: LineQueue?
    private let whenFull: WhenFull
    private let clock: Clock

    /// - Parameter queue: The queue; `nil` to write nothing (`log.audit: false`).
    package init(queue: LineQueue?, whenFull: WhenFull = .drop, clock: Clock = .system) {
        self.queue = queue
        self.whenFull = whenFull
        self.clock = clock
    }

    /// Records an event. Never waits.
    ///
    /// Events that any client can cause may fill only half of the queue. A flood of rejections therefore cannot block
    /// acts such as sign-ins.
    ///
    /// - Returns: False if the event does not fit and the policy is `refuse`. The caller must then reject the act,
    ///   unless it has happened or ends a session.
    @discardableResult
    package func emit(_ event: AuditEvent) -> Bool {
        guard let queue = self.queue else { return true }
        var line = LineBuffer(capacity: 1024)
        Self.write(event, self.clock.now(), to: &line)
        let bytes = line.bytes
        let spared = event.kind.canBeCausedByAnyone ? queue.capacity / 2 : 0
        return queue.append(bytes, sparing: spared) == bytes.count || self.whenFull == .drop
    }

    private static func write(_ event: AuditEvent, _ time: UnixTime, to line: inout LineBuffer) {
        line.begin("audit", time)
        line.member("event", event.kind.rawValue)
        line.member("code", event.code?.rawValue)
        line.member("reason", event.reason?.rawValue)
        line.member("description", event.description)
        line.member("audience", event.audience)
        if let user = event.subject.map(Realm.user(of:)) {
            line.member("subject", user.id)
            // A linked account has one subject at all providers, so `realm` names the provider.
            let realm = AccountID.isOne(user.id) ? event.realm ?? user.realm : user.realm
            if realm != Realm.default.name { line.member("provider", realm) }
        }
        line.member("account", event.account)
        line.member("session", event.session)
        line.member("fingerprint", event.fingerprint)
        line.member("token_fingerprint", event.tokenFingerprint)
        line.member("client_id", event.clientID)
        line.member("host", event.host)
        line.member("address", event.address)
        if let asn = event.asn { line.member("asn", Int64(asn)) }
        line.member("country", event.country)
        line.member("bound_address", event.boundAddress)
        if let asn = event.boundASN { line.member("bound_asn", Int64(asn)) }
        line.member("bound_country", event.boundCountry)
        line.member("user_agent", event.userAgent)
        line.member("request_id", event.requestID)
        self.writeDetails(of: event, to: &line)
        line.end()
    }

    private static func writeDetails(of event: AuditEvent, to line: inout LineBuffer) {
        guard event.isTriggeredByTransferToken || !event.details.isEmpty else { return }
        line.key("details")
        line.byte(UInt8(ascii: "{"))
        var isFirst = true
        if event.isTriggeredByTransferToken {
            line.literal("\"triggered_by_session_transfer_token\":true")
            isFirst = false
        }
        for (name, value) in event.details {
            if !isFirst { line.byte(UInt8(ascii: ",")) }
            isFirst = false
            line.string(name)
            line.byte(UInt8(ascii: ":"))
            line.string(value)
        }
        line.byte(UInt8(ascii: "}"))
    }
}
