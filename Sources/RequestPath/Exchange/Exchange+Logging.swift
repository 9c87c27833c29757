import AddressIntelligence
import Handoff
import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// The access log line of an exchange.
extension Exchange {
    func log(nanoseconds: Int64) {
        guard let accessLog = self.loop.accessLog, let bytes = self.facts.logBytes else { return }
        let facts = self.facts
        bytes.withUnsafeReadableBytes { base in
            func run(_ slice: Slice) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: base[slice.start..<slice.end])
            }
            var entry = AccessEntry(
                time: self.loop.wallNow,
                requestID: facts.requestID.text,
                client: (facts.clientAddress ?? self.peer).description,
                method: run(facts.logMethod),
                target: run(facts.logPath),
                version: facts.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0"
            )
            entry.host = run(facts.logAuthority)
            entry.status = facts.status
            entry.reason = facts.reason ?? facts.note
            entry.route = facts.route?.name
            entry.decision = facts.reason == nil ? "allowed" : "denied"
            entry.session = facts.session?.session.id
            entry.origin = facts.session?.session.origin.rawValue
            entry.cache = facts.sessionSource == .none ? nil : facts.sessionSource.rawValue
            if facts.isForwarded {
                entry.upstream = facts.route?.settings.upstream
                entry.upstreamReused = facts.upstreamReused
                entry.upstreamDuration = facts.upstreamTime.map { $0.nanoseconds / 1000 }
            }
            entry.bytesIn = Int64(self.body.byteCount)
            entry.bytesOut = Int64(facts.bytesOut)
            entry.duration = nanoseconds / 1000
            entry.userAgent = facts.logUserAgent.map(run)
            entry.referer = facts.logReferer.map(run)
            entry.handoff = facts.handoff?.rawValue ?? (entry.reason.flatMap(Self.handoffWord))
            entry.binding = (facts.binding ?? self.liveBinding)?.text
            accessLog.record(entry)
        }
    }
}

// MARK: Handoff and binding

/// A device binding that was judged, for the log.
struct JudgedBinding {
    enum Outcome: String {
        case match, mismatch, unknown
        /// Judged, and let pass whatever it was.
        case dryRun = "dry_run"

        /// nil: the reason is none of a binding.
        init?(_ reason: Reason?) {
            switch reason {
            case .bindingIPMismatch, .bindingASNMismatch: self = .mismatch
            case .bindingASNUnknown: self = .unknown
            default: return nil
            }
        }
    }

    var mode: BindingMode
    var outcome: Outcome

    /// `ip/mismatch`
    var text: String { "\(self.mode.rawValue)/\(self.outcome.rawValue)" }
}

extension Exchange {
    /// Notes for the log what a transfer token came to.
    func noteHandoff(_ outcome: HandoffOutcome, _ request: HandoffRequest) {
        guard self.loop.accessLog != nil else { return }
        let recorded: HandoffRecord.Outcome
        let binding: JudgedBinding.Outcome?
        switch outcome {
        case .signedIn: (recorded, binding) = (.signedIn, request.client.bindingDryRun ? .dryRun : .match)
        case .alreadySignedIn: (recorded, binding) = (.repeated, nil)
        case .refused(let reason, _): (recorded, binding) = (.refused(reason), JudgedBinding.Outcome(reason))
        case .unavailable: (recorded, binding) = (.unavailable, nil)
        }
        // The words are those of the metrics.
        self.facts.handoff =
            HandoffRecord(outcome: recorded, requestID: "", clientID: "", device: request.device).result
        if request.client.binding != .none, let binding {
            self.facts.binding = JudgedBinding(mode: request.client.binding, outcome: binding)
        }
    }

    /// A token that was refused before it was looked up.
    private static func handoffWord(_ reason: Reason) -> String? {
        reason.rawValue.hasPrefix("handoff.") ? TransferTokenResult.refused.rawValue : nil
    }

    /// What the route's own check of the session's device came to.
    private var liveBinding: JudgedBinding? {
        guard let mode = self.facts.route?.settings.liveBinding, mode != .none else { return nil }
        let outcome = JudgedBinding.Outcome(self.facts.reason) ?? (self.facts.session == nil ? nil : .match)
        return outcome.map { JudgedBinding(mode: mode, outcome: $0) }
    }
}
