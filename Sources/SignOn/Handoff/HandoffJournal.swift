package import AddressIntelligence
package import Observability
internal import Rules
internal import Sessions
internal import Settings
internal import Vocabulary

/// Records what happens to session-transfer tokens: counts it and writes it to the audit stream.
package struct HandoffJournal: Sendable {
    private let take: @Sendable (HandoffRecord) -> Bool

    /// A journal that passes every record to `take`, which returns whether it was kept.
    package init(_ take: @escaping @Sendable (HandoffRecord) -> Bool) {
        self.take = take
    }

    /// A journal that counts in `metrics` and writes to `audit`.
    ///
    /// - Parameter places: Tells the countries of addresses; nil: they are unknown.
    package init(audit: AuditStream, metrics: MetricsRegistry, places: GeoDirectory? = nil) {
        let counters = HandoffCounters(metrics)
        self.take = { record in
            counters.count(record)
            let record = record.locating(places)
            // The last event is the act itself: if it cannot be written, the act must not happen.
            return record.auditEvents.reduce(true) { _, event in audit.emit(event) }
        }
    }

    /// Keeps a record; never waits.
    ///
    /// - Returns: false when it could not be kept and the configuration forbids unrecorded acts (`log.audit_on_full:
    ///   refuse`).
    @discardableResult
    package func record(_ record: HandoffRecord) -> Bool {
        self.take(record)
    }
}

extension HandoffRecord {
    /// This record with the countries of its devices. Both come from the same database, as those that rules see.
    ///
    /// - Parameter places: nil: nothing is looked up.
    package func locating(_ places: GeoDirectory?) -> HandoffRecord {
        guard let places else { return self }
        var record = self
        record.country = places.place(of: self.device.address)?.countryCode
        record.mintedCountry = self.mintedDevice.flatMap { places.place(of: $0.address)?.countryCode }
        return record
    }
}

/// The counters of the handoff, each registered once.
private struct HandoffCounters: Sendable {
    /// The values of `sallyport_binding_checks_total{result}`.
    private enum BindingResult: String, CaseIterable {
        case match, mismatch, unknown
        case dryRun = "dry_run"
    }

    private let metrics: MetricsRegistry
    private let results: [TransferTokenResult: CounterID]
    private let bindings: [BindingMode: [BindingResult: CounterID]]
    private let wouldReject: [BindingMode: CounterID]
    private let redeemed: [HandoffTransport: CounterID]
    private let age: HistogramID
    /// By client, and by reason: only those that have occurred are shown.
    private let minted: CounterMemory<String>
    private let rejected: CounterMemory<Reason>

    init(_ metrics: MetricsRegistry) {
        self.metrics = metrics
        self.results = Dictionary(
            uniqueKeysWithValues: TransferTokenResult.allCases.map { result in
                (result, metrics.counter(MetricNames.transferTokens, result.rawValue))
            }
        )
        self.bindings = Dictionary(
            uniqueKeysWithValues: BindingMode.judged.map { mode in
                let results = BindingResult.allCases.map { result in
                    (result, metrics.counter(MetricNames.bindingChecks, mode.rawValue, result.rawValue))
                }
                return (mode, Dictionary(uniqueKeysWithValues: results))
            }
        )
        self.wouldReject = Dictionary(
            uniqueKeysWithValues: BindingMode.judged.map {
                ($0, metrics.counter(MetricNames.bindingWouldReject, $0.rawValue, "token"))
            }
        )
        self.redeemed = Dictionary(
            uniqueKeysWithValues: HandoffTransport.allCases.map {
                ($0, metrics.counter(MetricNames.handoffRedeemed, $0.rawValue))
            }
        )
        self.age = metrics.histogram(MetricNames.handoffAge, buckets: MetricNames.handoffAgeBuckets)
        self.minted = CounterMemory { metrics.counter(MetricNames.handoffMinted, $0) }
        self.rejected = CounterMemory { metrics.counter(MetricNames.handoffRejected, $0.rawValue) }
    }

    func count(_ record: HandoffRecord) {
        if let id = self.results[record.result] { self.metrics.increment(id) }
        self.countOutcome(of: record)
        for finding in record.rules { self.metrics.countRule(finding.rule, finding.result.rawValue) }
        guard let mode = record.binding else { return }
        let result: BindingResult =
            switch record.passedInDryRun ?? record.reason {
            case .bindingASNUnknown: .unknown
            case _ where record.passedInDryRun != nil: .dryRun
            case .bindingIPMismatch, .bindingASNMismatch: .mismatch
            default: .match
            }
        if let id = self.bindings[mode]?[result] { self.metrics.increment(id) }
        if record.passedInDryRun != nil, let id = self.wouldReject[mode] { self.metrics.increment(id) }
    }

    /// Which clients mint, how tokens arrive and how old they are then, and why they are refused.
    private func countOutcome(of record: HandoffRecord) {
        switch record.outcome {
        case .minted:
            self.metrics.increment(self.minted[record.clientID])
        case .signedIn, .sessionStays:
            if let id = record.transport.flatMap({ self.redeemed[$0] }) { self.metrics.increment(id) }
            if let age = record.age {
                let nanoseconds = age.wholeMilliseconds.multipliedWithinBounds(by: 1_000_000)
                self.metrics.observe(self.age, nanoseconds: nanoseconds)
            }
        case .refused(let reason):
            self.metrics.increment(self.rejected[reason])
        case .mintRefused, .mintUnavailable, .asked, .repeated, .unavailable:
            break
        }
    }
}

extension HandoffRecord {
    /// The audit events of this record, the act itself last; none when the store could not answer.
    package var auditEvents: [AuditEvent] {
        guard let kind = self.auditKind else { return [] }
        var events: [AuditEvent] = []
        if let passed = self.passedInDryRun {
            events.append(self.auditEvent(.bindingMismatch, code: nil, reason: passed, details: [("dry_run", "true")]))
        }
        let act = self.auditEvent(kind, code: self.code, reason: self.reason, details: self.auditDetails)
        for finding in self.rules where finding.result.isDryRun {
            events.append(act.ofDryRun(rule: finding.rule, reason: finding.reason))
        }
        return events + [act]
    }

    private var auditKind: AuditEvent.Kind? {
        switch self.outcome {
        case .minted: .transferTokenMinted
        case .mintRefused: .transferTokenMintRefused
        case .signedIn, .sessionStays: .transferTokenConsumed
        case .asked: .transferTokenAsked
        case .repeated: .transferTokenRepeated
        case .refused(.handoffReplayed): .transferTokenReplayed
        case .refused: .transferTokenRejected
        case .mintUnavailable, .unavailable: nil
        }
    }

    private func auditEvent(
        _ kind: AuditEvent.Kind,
        code: AuditEvent.Code?,
        reason: Reason?,
        details: [(String, String)]
    ) -> AuditEvent {
        var event = AuditEvent(
            kind,
            code: code,
            reason: reason,
            subject: self.subject,
            session: self.sessionID,
            clientID: self.clientID,
            host: self.host,
            address: self.device.address.description,
            asn: self.device.asn,
            userAgent: self.device.userAgent,
            requestID: self.requestID,
            details: details
        )
        event.fingerprint = self.fingerprint
        event.tokenFingerprint = self.tokenFingerprint
        event.description = self.description
        event.audience = self.audience
        event.boundAddress = self.mintedDevice?.address.description
        event.boundASN = self.mintedDevice?.asn
        event.country = self.country
        event.boundCountry = self.mintedCountry
        event.isTriggeredByTransferToken = self.transport != nil
        return event
    }

    private var auditDetails: [(String, String)] {
        let details: [(String, String?)] = [
            ("requested_audience", self.audience),
            ("transport", self.transport?.rawValue),
            ("binding", self.binding?.rawValue),
            ("minted_client_id", self.mintedClientID),
            ("minted_host", self.mintedHost),
            ("minted_user_agent", self.mintedDevice?.userAgent),
            ("parent_session", self.parentSessionID),
            ("actor", self.actor),
            ("first_address", self.firstDevice?.address.description),
            ("first_asn", self.firstDevice?.asn.map(String.init)),
            ("confirmed", self.isConfirmed ? "true" : nil),
            ("rule", self.rules.objecting),
            ("burned", self.burns ? "true" : nil),
            ("burned_for", self.burnedFor?.rawValue),
            ("ended_session", self.endedSessionID),
            ("session_stays", self.outcome == .sessionStays ? "true" : nil),
            ("revoked_derived", self.revokedDerived ? "true" : nil),
        ]
        return details.compactMap { name, value in value.map { (name, $0) } }
    }
}
