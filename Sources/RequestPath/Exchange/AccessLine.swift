import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// The access line of an exchange.
extension ExchangeRecord {
    /// Writes the access line. Mutating, because a nonmutating call would copy the large record.
    ///
    /// - Parameters:
    ///   - client: The client's address as text.
    ///   - connection: What is known about the client from the opening of its connection. `nil` if nothing.
    ///   - dialect: The dialect of the check. `nil` if the request is not a check (forward auth).
    mutating func write(
        to accessLog: AccessLog,
        client: [UInt8],
        on connection: ClientFacts?,
        asked dialect: AuthorizationDialect?
    ) {
        let reason = self.reason ?? self.note ?? self.absence
        // Creates no `String`, for speed.
        (self.log.bytes ?? ByteBuffer()).withUnsafeReadableBytes { bytes in
            self.requestID.withBytes { requestID in
                client.withUnsafeBytes { client in
                    var entry = AccessEntry(time: self.log.startedAt, requestID: requestID, client: client)
                    if self.log.bytes != nil { self.describeHead(in: bytes, &entry) }
                    self.describeAnswer(&entry)
                    entry.reason = reason
                    accessLog.record(
                        entry,
                        route: self.route?.name ?? self.endpointPath,
                        session: self.session?.session.id,
                        origin: self.session?.session.origin.rawValue,
                        cache: self.sessionSource == .none ? nil : self.sessionSource.rawValue,
                        upstream: self.isForwarded ? self.route?.settings.upstream : nil,
                        server: self.isForwarded ? self.server?.name : nil,
                        handoff: self.handoff?.rawValue ?? reason.flatMap(Self.handoffWord),
                        binding: (self.binding ?? self.liveBinding)?.text,
                        authorization: dialect?.rawValue,
                        connection: connection?.logged
                    )
                }
            }
        }
    }

    @inline(__always)
    private func describeHead(in bytes: UnsafeRawBufferPointer, _ entry: inout AccessEntry) {
        guard let base = bytes.baseAddress else { return }
        func run(_ slice: Slice) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: base + slice.start, count: slice.length)
        }
        entry.method = run(self.log.method)
        entry.host = run(self.log.authority)
        entry.target = run(self.log.path)
        entry.version = self.log.version
        entry.userAgent = self.log.userAgent.map(run)
        entry.referer = self.log.referer.map(run)
        if let trace = self.trace {
            entry.trace = trace.use { $0.id }
        } else if self.toldTrace == nil, !self.log.traceParent.isEmpty {
            entry.trace = TraceContext(run(self.log.traceParent).bindMemory(to: UInt8.self))?.trace
        }
    }

    @inline(__always)
    private func describeAnswer(_ entry: inout AccessEntry) {
        entry.status = self.status
        switch self.decision {
        case .allowed: entry.decision = "allowed"
        case .denied: entry.decision = "denied"
        case nil: break
        }
        entry.fingerprint = self.log.fingerprint
        entry.tokenFingerprint = self.log.tokenFingerprint
        if self.isForwarded {
            entry.upstreamReused = self.upstreamReused
            entry.upstreamDuration = self.log.upstreamTime.map { $0.nanoseconds / 1000 }
        }
        entry.bytesIn = Int64(self.bytesIn)
        entry.bytesOut = Int64(self.bytesOut)
        entry.duration = self.nanoseconds / 1000
    }

    /// Returns the log's word for a transfer token that was refused before its look-up. `nil` for other reasons.
    private static func handoffWord(_ reason: Reason) -> String? {
        reason.rawValue.hasPrefix("handoff.") ? TransferTokenResult.refused.rawValue : nil
    }

    /// The result of comparing the session with the device. `nil` if they were not compared.
    @inline(__always) private var liveBinding: JudgedBinding? {
        guard let mode = self.route?.settings.liveBinding, mode != .none else { return nil }
        let outcome = JudgedBinding.Outcome(self.reason) ?? (self.session == nil ? nil : .match)
        return outcome.map { JudgedBinding(mode: mode, outcome: $0) }
    }
}
