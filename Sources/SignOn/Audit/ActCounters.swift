package import Observability
import Rules
import Sessions
import Settings
import Vocabulary

/// Counts audit records of one kind and their rule results.
package struct ActCounters: Sendable {
    private let metrics: MetricsRegistry
    private let countAct: @Sendable (AuditRecord) -> Void

    func count(_ record: AuditRecord) {
        for finding in record.rules { self.metrics.countRule(finding.rule, finding.result.rawValue) }
        self.countAct(record)
    }

    /// Counts sign-ins.
    package static func signIns(_ metrics: MetricsRegistry) -> ActCounters {
        let refusals = Reason.allCases.filter { reason in
            ["signin.", "exchange."].contains(where: reason.rawValue.hasPrefix)
                || [.providerUnavailable, .ruleDenied, .sessionLimit].contains(reason)
        }
        let kinds = [Session.Kind.web, .native].map(\.rawValue)
        let increment = Self.counters(of: MetricNames.signIns, in: metrics, acts: kinds, refusals)
        return ActCounters(metrics: metrics) { record in
            switch record.act {
            case .session(.signedIn, let kind):
                increment(kind.rawValue, nil)
                if let realm = record.realm { metrics.countSignIn(at: realm, "ok") }
            case .session(.refused(let reason), let kind):
                increment(kind.rawValue, reason)
                if let realm = record.realm { metrics.countSignIn(at: realm, reason.rawValue) }
            default: break
            }
        }
    }

    /// Counts tokens of OAuth clients.
    package static func tokens(_ metrics: MetricsRegistry) -> ActCounters {
        let refusals: [Reason] = [
            .codeMismatch, .codeOtherClient, .codeReplayed, .codeUnknown, .refreshOtherClient, .refreshReplayed,
            .refreshUnconfirmed, .refreshUnknown, .refreshUserGone, .sessionClientGone, .sessionLimit, .sessionUnknown,
            .sessionOtherClient,
            .credentialExpired, .credentialInvalidToken, .credentialMalformed, .credentialOtherAudience,
            .credentialOtherKey, .oauthInvalidTarget, .oauthThrottled, .oauthUnauthorizedClient, .handoffNotPermitted,
            .socialRefused, .socialReplayed, .signInBlocked, .signInNotAllowed, .proofMissing, .proofOtherKey,
            .ruleDenied,
        ]
        // `authorized` is left out. Its code is counted when the client redeems it.
        let acts = TokenAct.allCases.filter { $0 != .authorized }.map(\.rawValue)
        let increment = Self.counters(of: MetricNames.tokens, in: metrics, acts: acts, refusals)
        return ActCounters(metrics: metrics) { record in
            guard case .token(let act, let refusal) = record.act else { return }
            increment(act.rawValue, refusal)
            // A sign-in with a provider's native SDK has no other audit record.
            guard act == .socialExchanged, let realm = record.realm else { return }
            metrics.countSignIn(at: realm, refusal?.rawValue ?? "ok")
        }
    }

    /// Counts tickets between hosts.
    package static func tickets(_ metrics: MetricsRegistry) -> ActCounters {
        let counters = Dictionary(
            uniqueKeysWithValues: HostTicketResult.allCases.map { result in
                (result, metrics.counter(MetricNames.hostTickets, result.rawValue))
            }
        )
        return ActCounters(metrics: metrics) { record in
            if case .ticket(let act) = record.act, let id = counters[act.result] { metrics.increment(id) }
        }
    }

    /// Counts session-transfer tokens.
    package static func handoffs(_ metrics: MetricsRegistry) -> ActCounters {
        let counters = HandoffCounters(metrics)
        return ActCounters(metrics: metrics) { record in
            if case .handoff(let act) = record.act { counters.count(act, record) }
        }
    }

    /// Returns a function that counts an act by its result (`ok` or one of `refusals`). It ignores other refusals.
    private static func counters(
        of family: MetricFamily,
        in metrics: MetricsRegistry,
        acts: [String],
        _ refusals: [Reason]
    ) -> @Sendable (_ act: String, _ refusal: Reason?) -> Void {
        let success = "ok"
        var counters: [String: CounterID] = [:]
        for act in acts {
            for result in [success] + refusals.map(\.rawValue) {
                counters["\(act) \(result)"] = metrics.counter(family, act, result)
            }
        }
        return { [counters] act, refusal in
            if let id = counters["\(act) \(refusal?.rawValue ?? success)"] { metrics.increment(id) }
        }
    }
}
