/// The error for a request that was rejected or could not be served. All layers throw it unchanged, and each protocol
/// renders it in its own format.
///
/// The reason says whether the request was rejected or cannot be served now. Do not confuse the two: an outage must not
/// make a client discard a valid credential.
package struct NotDone: Error, Sendable, Hashable {
    package var reason: Reason
    /// A rule's message to the user; `nil` for the gateway's standard message.
    package var text: String?
    /// The time after which the rate limit allows a retry; `nil` if the reason is not a rate limit.
    package var retryAfter: Duration?
    /// The failed check or a provider's error code, for logs. Never contains a token or user input.
    package var detail: String?

    package init(_ reason: Reason, text: String? = nil, retryAfter: Duration? = nil, detail: String? = nil) {
        self.reason = reason
        self.text = text
        self.retryAfter = retryAfter
        self.detail = detail
    }

    /// True if the request was not rejected, but the store, the provider or the gateway itself cannot answer.
    package var isUnavailable: Bool { self.reason.status == 503 }

    /// True if the store is unavailable or full.
    package var isOfStore: Bool { self.reason == .storeUnavailable || self.reason == .storeFull }

    /// True if a retry may succeed: the reason is an outage or a rate limit.
    package var mayPass: Bool { self.reason.refusal?.retryAfter != nil }
}
