import Glibc
import Vocabulary

/// The access log of one event loop. Lines are collected in the loop's own buffer and passed on in batches, without an
/// allocation or lock for each request.
///
/// Confined to its loop, and deliberately not `Sendable`.
package final class AccessLog {
    /// The number of bytes at which a batch is passed to the queue.
    private static let batch = 16_384

    private let queue: LineQueue
    private var buffer = LineBuffer(capacity: AccessLog.batch + 8192)

    package init(queue: LineQueue) {
        self.queue = queue
    }

    /// Adds a request's line to the batch. `nil` values are left out.
    ///
    /// - Parameters:
    ///   - route: The route's name, or the path of the gateway's own endpoint.
    ///   - session: The session's public id (`ses_...`).
    ///   - origin: How the session began.
    ///   - cache: Where the session was found: `l1` or `store`; `nil` if no session was found.
    ///   - upstream: The app to which the request was or should have been forwarded; `nil` for other requests.
    ///   - server: The server of the app that was tried last, if the app has several.
    ///   - handoff: The result for a session-transfer token in this request, as in `sallyport_transfer_tokens_total`.
    ///   - binding: The mode and result of the device binding, e.g. `ip/match`, `asn/unknown`.
    ///   - authorization: The dialect of a forward-auth check; `nil` if the client itself sent the request.
    ///   - connection: The members that all requests of the connection share.
    package func record(
        _ entry: AccessEntry,
        route: String? = nil,
        session: String? = nil,
        origin: String? = nil,
        cache: String? = nil,
        upstream: String? = nil,
        server: String? = nil,
        handoff: String? = nil,
        binding: String? = nil,
        authorization: String? = nil,
        connection: AccessMembers? = nil
    ) {
        self.buffer.begin("access", entry.time)
        self.buffer.member("request_id", entry.requestID)
        if let trace = entry.trace { self.buffer.member("trace_id", trace) }
        self.buffer.member("client", entry.client)
        if let method = entry.method { self.buffer.member("method", method) }
        if let host = entry.host { self.buffer.member("host", host) }
        if let target = entry.target { self.buffer.member("path", Self.publicPart(of: target)) }
        if let version = entry.version { self.buffer.member("protocol", version) }
        self.buffer.member("status", Int64(entry.status))
        self.buffer.member("reason", entry.reason?.rawValue)
        self.buffer.member("route", route)
        if let decision = entry.decision { self.buffer.member("decision", decision) }
        self.buffer.member("session", session)
        self.buffer.member("fingerprint", entry.fingerprint)
        self.buffer.member("token_fingerprint", entry.tokenFingerprint)
        self.buffer.member("origin", origin)
        self.buffer.member("cache", cache)
        self.buffer.member("upstream", upstream)
        self.buffer.member("server", server)
        if let reused = entry.upstreamReused { self.buffer.member("upstream_reused", reused) }
        self.buffer.member("bytes_in", entry.bytesIn)
        self.buffer.member("bytes_out", entry.bytesOut)
        self.buffer.member("duration_us", entry.duration)
        if let duration = entry.upstreamDuration { self.buffer.member("upstream_us", duration) }
        if let userAgent = entry.userAgent { self.buffer.member("user_agent", userAgent) }
        if let referer = entry.referer { self.buffer.member("referer", Self.publicPart(of: referer)) }
        self.buffer.member("handoff", handoff)
        self.buffer.member("binding", binding)
        self.buffer.member("authz", authorization)
        if let connection { connection.bytes.withUnsafeBytes { self.buffer.append($0) } }
        self.buffer.end()
        if self.buffer.count >= Self.batch { self.flush() }
    }

    /// Passes the batch to the queue. Called at the end of each turn in which a request was recorded.
    package func flushIfNeeded() {
        if self.buffer.count > 0 { self.flush() }
    }

    private func flush() {
        self.queue.append(self.buffer.bytes)
        self.buffer.removeAll()
    }

    /// Returns a URL or request target without query, fragment and userinfo: they may contain tokens or passwords.
    static func publicPart(of url: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let part = self.prefix(of: self.prefix(of: url, before: UInt8(ascii: "?")), before: UInt8(ascii: "#"))
        guard let first = part.first, first != UInt8(ascii: "/") else { return part }
        // In an absolute URL, the text before "@" in the authority is userinfo.
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

    private static func prefix(of bytes: UnsafeRawBufferPointer, before byte: UInt8) -> UnsafeRawBufferPointer {
        guard let start = bytes.baseAddress, let end = memchr(start, Int32(byte), bytes.count) else { return bytes }
        return UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start)
    }
}
