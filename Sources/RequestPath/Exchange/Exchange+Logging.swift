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
        let reason = self.facts.reason ?? self.facts.note ?? self.facts.absence
        // Nothing here copies the facts or makes a `String`: most requests are logged.
        bytes.withUnsafeReadableBytes { base in
            self.facts.requestID.withBytes { requestID in
                self.clientText.withUnsafeBytes { client in
                    var entry = AccessEntry(time: self.facts.wallStartedAt, requestID: requestID, client: client)
                    self.describeHead(in: base, &entry)
                    self.describeAnswer(&entry)
                    entry.reason = reason
                    entry.duration = nanoseconds / 1000
                    accessLog.record(
                        entry,
                        route: self.facts.route?.name ?? self.facts.endpointPath,
                        session: self.facts.session?.session.id,
                        origin: self.facts.session?.session.origin.rawValue,
                        cache: self.facts.sessionSource == .none ? nil : self.facts.sessionSource.rawValue,
                        upstream: self.facts.isForwarded ? self.facts.route?.settings.upstream : nil,
                        handoff: self.facts.handoff?.rawValue ?? reason.flatMap(Self.handoffWord),
                        binding: (self.facts.binding ?? self.liveBinding)?.text
                    )
                }
            }
        }
    }

    @inline(__always)
    private func describeHead(in base: UnsafeRawBufferPointer, _ entry: inout AccessEntry) {
        // Nothing of a refused head is logged, because it may hold arbitrary bytes.
        guard let base = base.baseAddress, !self.facts.logMethod.isEmpty else { return }
        func run(_ slice: Slice) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: base + slice.start, count: slice.length)
        }
        entry.method = run(self.facts.logMethod)
        entry.host = run(self.facts.logAuthority)
        entry.target = run(self.facts.logPath)
        entry.version = self.stream?.version
        entry.userAgent = self.facts.logUserAgent.map(run)
        entry.referer = self.facts.logReferer.map(run)
    }

    @inline(__always)
    private func describeAnswer(_ entry: inout AccessEntry) {
        entry.status = self.facts.status
        switch self.decision {
        case .allowed: entry.decision = "allowed"
        case .denied: entry.decision = "denied"
        case nil: break
        }
        entry.fingerprint = self.facts.fingerprint
        entry.tokenFingerprint = self.facts.tokenFingerprint
        if self.facts.isForwarded {
            entry.upstreamReused = self.facts.upstreamReused
            entry.upstreamDuration = self.facts.upstreamTime.map { $0.nanoseconds / 1000 }
        }
        entry.bytesIn = Int64(self.facts.bytesIn)
        entry.bytesOut = Int64(self.facts.bytesOut)
    }

    /// The client's address as text: the peer's, or the one that trusted proxies report.
    var clientText: [UInt8] {
        guard let client = self.facts.clientAddress, client != self.peer else { return self.peerText }
        return Array(client.description.utf8)
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
