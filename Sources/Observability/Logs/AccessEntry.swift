package import Vocabulary

/// What the access log says of one request. The bytes that came from the client are pointed to, not copied: make the
/// entry, record it and let it go while they are still there.
///
/// Members that are nil do not stand in the line.
package struct AccessEntry {
    /// When the request's first byte came.
    package var time: UnixTime
    package var requestID: String
    /// The client's address after `trusted_proxies`, as text.
    package var client: String
    package var method: UnsafeRawBufferPointer
    /// The `Host` that was asked for.
    package var host: UnsafeRawBufferPointer?
    /// The request target as it came; the log cuts it at its query, which is never written.
    package var target: UnsafeRawBufferPointer
    /// `HTTP/1.1`
    package var version: String
    /// 0 when no answer was begun.
    package var status = 0
    package var reason: Reason?
    /// The route's name.
    package var route: String?
    /// What was decided, e.g. `allow`, `deny`, `login`, `handoff`, `local`.
    package var decision: String?
    /// The session's public id (`ses_...`).
    package var session: String?
    /// How the session began.
    package var origin: String?
    /// Where the session came from: `l1`, `store`, `none`.
    package var cache: String?
    /// The app that the request was passed on to, or that could not be reached; nil when it was answered here.
    package var upstream: String?
    /// Whether the request went over a connection that was there before it; nil when it went nowhere.
    package var upstreamReused: Bool?
    /// Bytes of the body.
    package var bytesIn: Int64 = 0
    package var bytesOut: Int64 = 0
    /// Microseconds from the first byte of the request to the last one of the answer.
    package var duration: Int64 = 0
    /// Microseconds from the request's head to the app until the answer's head.
    package var upstreamDuration: Int64?
    package var userAgent: UnsafeRawBufferPointer?
    /// `Referer` as it came; cut like the target.
    package var referer: UnsafeRawBufferPointer?
    /// What a session-transfer token in this request came to, in the words of `sallyport_transfer_tokens_total`.
    package var handoff: String?
    /// What the check of the device binding came to, behind its mode: `ip/match`, `asn/unknown`.
    package var binding: String?

    package init(
        time: UnixTime,
        requestID: String,
        client: String,
        method: UnsafeRawBufferPointer,
        target: UnsafeRawBufferPointer,
        version: String
    ) {
        self.time = time
        self.requestID = requestID
        self.client = client
        self.method = method
        self.target = target
        self.version = version
    }
}
