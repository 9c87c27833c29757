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
            // Nothing of a refused head is logged, because it may hold arbitrary bytes.
            let hasHead = !facts.logMethod.isEmpty
            var entry = AccessEntry(
                time: facts.wallStartedAt,
                requestID: facts.requestID.text,
                client: (facts.clientAddress ?? self.peer).description,
                method: hasHead ? run(facts.logMethod) : nil,
                target: hasHead ? run(facts.logPath) : nil,
                version: hasHead ? (facts.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0") : nil
            )
            if hasHead { entry.host = run(facts.logAuthority) }
            entry.status = facts.status
            entry.reason = facts.reason ?? facts.note ?? facts.absence
            entry.route = facts.route?.name ?? facts.endpointPath
            entry.decision = facts.reason == nil ? "allowed" : "denied"
            entry.session = facts.session?.session.id
            entry.fingerprint = facts.fingerprint
            entry.tokenFingerprint = facts.tokenFingerprint
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

extension Exchange {
    /// The log's word for a token that was refused before it was looked up; nil for other reasons.
    private static func handoffWord(_ reason: Reason) -> String? {
        reason.rawValue.hasPrefix("handoff.") ? TransferTokenResult.refused.rawValue : nil
    }

    /// The result of the route's own check of the session's device; nil if it was not checked.
    private var liveBinding: JudgedBinding? {
        guard let mode = self.facts.route?.settings.liveBinding, mode != .none else { return nil }
        let outcome = JudgedBinding.Outcome(self.facts.reason) ?? (self.facts.session == nil ? nil : .match)
        return outcome.map { JudgedBinding(mode: mode, outcome: $0) }
    }
}
