package import Vocabulary

/// The facts about one request in the access log. Strings are not included: they are arguments of `AccessLog.record`,
/// so that entries need no reference counting. An entry points to bytes of the request: record it while they are valid.
///
/// `nil` members are left out of the line.
package struct AccessEntry {
    /// The start of the request. Lines of the events that it caused sort after it.
    package var time: UnixTime
    package var requestID: UnsafeRawBufferPointer
    /// The request's trace; `nil` if it has none.
    package var trace: TraceID?
    /// The client's address as text: the peer's address, or the one reported by a trusted proxy (`trusted_proxies`).
    package var client: UnsafeRawBufferPointer
    /// The method; `nil` if the head could not be parsed.
    package var method: UnsafeRawBufferPointer?
    /// The value of `Host`.
    package var host: UnsafeRawBufferPointer?
    /// The request target as received; `nil` if the head could not be parsed. The log omits its query, fragment and
    /// userinfo.
    package var target: UnsafeRawBufferPointer?
    /// The HTTP version, e.g. `HTTP/1.1`; `nil` if the head could not be parsed.
    package var version: StaticString?
    /// The status; 0 if no response was started.
    package var status = 0
    package var reason: Reason?
    /// The decision: `allowed` or `denied`; `nil` if there was none.
    package var decision: StaticString?
    /// The fingerprint of the presented session token, even if no such session exists.
    package var fingerprint: Fingerprint?
    /// The fingerprint of the session-transfer token.
    package var tokenFingerprint: Fingerprint?
    /// True if the request was forwarded on an existing connection; `nil` if it was not forwarded.
    package var upstreamReused: Bool?
    /// The number of body bytes received from the client (`bytesIn`) and sent to it (`bytesOut`).
    package var bytesIn: Int64 = 0
    package var bytesOut: Int64 = 0
    /// The microseconds from the first byte of the request to the last byte of the response.
    package var duration: Int64 = 0
    /// The microseconds from sending the request's head to the app until receiving the response's head.
    package var upstreamDuration: Int64?
    package var userAgent: UnsafeRawBufferPointer?
    /// The `Referer` as received. The log omits its query, fragment and userinfo.
    package var referer: UnsafeRawBufferPointer?

    package init(time: UnixTime, requestID: UnsafeRawBufferPointer, client: UnsafeRawBufferPointer) {
        self.time = time
        self.requestID = requestID
        self.client = client
    }
}
