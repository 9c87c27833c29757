import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// The access log line of an exchange.
extension DownstreamConnection {
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
            entry.upstream = facts.route?.settings.upstream
            entry.upstreamReused = facts.upstreamReused
            entry.bytesIn = Int64(self.body.byteCount)
            entry.bytesOut = Int64(facts.bytesOut)
            entry.duration = nanoseconds
            entry.userAgent = facts.logUserAgent.map(run)
            entry.referer = facts.logReferer.map(run)
            accessLog.record(entry)
        }
    }
}
