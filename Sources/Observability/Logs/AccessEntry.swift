package import Vocabulary

/// The facts about one request in the access log, except strings, which `AccessLog.record` takes separately. Therefore
/// the entry holds no objects and needs no reference counting. It points to bytes without copying them, and must be
/// recorded while they are valid.
///
/// Members that are `nil` are left out of the line.
package struct AccessEntry {
    /// The start time of the request, so that its line sorts before the events that it caused.
    package var time: UnixTime
    package var requestID: UnsafeRawBufferPointer
    /// The trace that the request belongs to; `nil` if no trace is known.
    package var trace: TraceID?
    /// The client's address as text: the peer's, or the one that trusted proxies report (`trusted_proxies`).
    package var client: UnsafeRawBufferPointer
    /// The method; `nil` if the head could not be parsed.
    package var method: UnsafeRawBufferPointer?
    /// The requested `Host`.
    package var host: UnsafeRawBufferPointer?
    /// The request target as it came; `nil` if the head could not be parsed. The log omits its query, fragment and
    /// userinfo.
    package var target: UnsafeRawBufferPointer?
    /// The version, such as `HTTP/1.1`; `nil` if the head could not be parsed.
    package var version: StaticString?
    /// The status; 0 if no response was begun.
    package var status = 0
    package var reason: Reason?
    /// The decision, e.g. `allow`, `deny`, `login`, `handoff`, `local`.
    package var decision: StaticString?
    /// The fingerprint of the session's token, even if the session does not exist.
    package var fingerprint: Fingerprint?
    /// The fingerprint of the session-transfer token.
    package var tokenFingerprint: Fingerprint?
    /// True if the connection to the app existed before the request; `nil` if the request was not forwarded.
    package var upstreamReused: Bool?
    /// The number of body bytes from the client. `bytesOut` is the number of body bytes sent to the client.
    package var bytesIn: Int64 = 0
    package var bytesOut: Int64 = 0
    /// The microseconds from the first byte of the request to the last byte of the response.
    package var duration: Int64 = 0
    /// The microseconds from sending the request's head to the app until the response's head.
    package var upstreamDuration: Int64?
    package var userAgent: UnsafeRawBufferPointer?
    /// The `Referer` as it came. The log omits its query, fragment and userinfo.
    package var referer: UnsafeRawBufferPointer?

    package init(time: UnixTime, requestID: UnsafeRawBufferPointer, client: UnsafeRawBufferPointer) {
        self.time = time
        self.requestID = requestID
        self.client = client
    }
}
