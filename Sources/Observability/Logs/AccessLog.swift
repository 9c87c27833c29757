internal import Vocabulary

/// The access log of one event loop. It builds lines in its own buffer and passes them on in batches, so that a request
/// costs neither an allocation nor a lock.
///
/// Confined to its loop; not `Sendable` on purpose.
package final class AccessLog {
    /// A batch is passed on when it has this many bytes.
    private static let batch = 16_384

    private let queue: LineQueue
    private var buffer = LineBuffer(capacity: AccessLog.batch + 8192)

    package init(queue: LineQueue) {
        self.queue = queue
    }

    /// Writes a request's line into the batch.
    package func record(_ entry: AccessEntry) {
        Self.write(entry, to: &self.buffer)
        if self.buffer.count >= Self.batch { self.flush() }
    }

    /// Passes the batch on. The loop calls it at the end of a tick in which a request was recorded.
    package func flushIfNeeded() {
        if self.buffer.count > 0 { self.flush() }
    }

    private func flush() {
        self.queue.append(self.buffer.bytes)
        self.buffer.removeAll()
    }

    private static func write(_ entry: AccessEntry, to line: inout LineBuffer) {
        line.begin("access", entry.time)
        line.member("request_id", entry.requestID)
        line.member("client", entry.client)
        if let method = entry.method { line.member("method", method) }
        if let host = entry.host { line.member("host", host) }
        if let target = entry.target { line.member("path", self.publicPart(of: target)) }
        line.member("protocol", entry.version)
        line.member("status", Int64(entry.status))
        line.member("reason", entry.reason?.rawValue)
        line.member("route", entry.route)
        line.member("decision", entry.decision)
        line.member("session", entry.session)
        line.member("fingerprint", entry.fingerprint)
        line.member("token_fingerprint", entry.tokenFingerprint)
        line.member("origin", entry.origin)
        line.member("cache", entry.cache)
        line.member("upstream", entry.upstream)
        if let reused = entry.upstreamReused { line.member("upstream_reused", reused) }
        line.member("bytes_in", entry.bytesIn)
        line.member("bytes_out", entry.bytesOut)
        line.member("duration_us", entry.duration)
        if let duration = entry.upstreamDuration { line.member("upstream_us", duration) }
        if let userAgent = entry.userAgent { line.member("user_agent", userAgent) }
        if let referer = entry.referer { line.member("referer", self.publicPart(of: referer)) }
        line.member("handoff", entry.handoff)
        line.member("binding", entry.binding)
        line.end()
    }

    /// A URL or request target without query, fragment and userinfo, each of which may hold a token or a password.
    static func publicPart(of url: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.endIndex
        let part = UnsafeRawBufferPointer(rebasing: url[..<end])
        guard let first = part.first, first != UInt8(ascii: "/") else { return part }
        // In an absolute URL, the text before "@" in the authority names a user, perhaps with a password.
        var authority = 0
        var index = 0
        while index + 2 < part.count {
            if part[index] == UInt8(ascii: ":"), part[index + 1] == 0x2F, part[index + 2] == 0x2F {
                authority = index + 3
                break
            }
            index += 1
        }
        let path = part[authority...].firstIndex(of: UInt8(ascii: "/")) ?? part.endIndex
        guard let at = part[authority..<path].lastIndex(of: UInt8(ascii: "@")) else { return part }
        return UnsafeRawBufferPointer(rebasing: part[(at + 1)...])
    }
}
