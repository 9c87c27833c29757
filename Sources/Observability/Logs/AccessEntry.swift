package import Vocabulary

/// What the access log says about one request, but for texts. Bytes are referenced, not copied: the entry must be
/// recorded while they are valid.
///
/// It holds no reference, and texts are passed beside it: an entry costs no counting of references.
///
/// Members that are nil are left out of the line.
package struct AccessEntry {
    /// When the request began, so that its line sorts before the events that it caused.
    package var time: UnixTime
    package var requestID: UnsafeRawBufferPointer
    /// The trace that the request belongs to; nil: none that is known.
    package var trace: TraceID?
    /// The client's address after `trusted_proxies`, as text.
    package var client: UnsafeRawBufferPointer
    /// nil: the head could not be parsed.
    package var method: UnsafeRawBufferPointer?
    /// The requested `Host`.
    package var host: UnsafeRawBufferPointer?
    /// The request target as it came. The log cuts it at its query, which is never written. nil: the head could
    /// not be parsed.
    package var target: UnsafeRawBufferPointer?
    /// `HTTP/1.1`. nil: the head could not be parsed.
    package var version: StaticString?
    /// The status; 0 when no response was begun.
    package var status = 0
    package var reason: Reason?
    /// The decision, e.g. `allow`, `deny`, `login`, `handoff`, `local`.
    package var decision: StaticString?
    /// The name of the session's token, also where there is no such session.
    package var fingerprint: Fingerprint?
    /// The name of the session-transfer token.
    package var tokenFingerprint: Fingerprint?
    /// Whether the connection to the app existed before the request; nil when the request was not forwarded.
    package var upstreamReused: Bool?
    /// Bytes of the body.
    package var bytesIn: Int64 = 0
    package var bytesOut: Int64 = 0
    /// Microseconds from the first byte of the request to the last byte of the response.
    package var duration: Int64 = 0
    /// Microseconds from sending the request's head to the app until the response's head.
    package var upstreamDuration: Int64?
    package var userAgent: UnsafeRawBufferPointer?
    /// `Referer` as it came; cut like the target.
    package var referer: UnsafeRawBufferPointer?

    package init(time: UnixTime, requestID: UnsafeRawBufferPointer, client: UnsafeRawBufferPointer) {
        self.time = time
        self.requestID = requestID
        self.client = client
    }
}
