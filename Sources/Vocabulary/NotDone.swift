/// The error for a request that was rejected or could not be served. Each protocol renders its reason in its own
/// format, and every layer in between throws it unchanged.
///
/// The reason alone determines whether the request was rejected or cannot be answered now. The two must not be mixed
/// up, because an outage must not make a client discard a valid credential.
package struct NotDone: Error, Sendable, Hashable {
    package var reason: Reason
    /// A rule's message to the user; `nil` for the gateway's standard message.
    package var text: String?
    /// The time after which the rate limit allows a retry; `nil` if the reason is not a rate limit.
    package var retryAfter: Duration?
    /// The failed check or the error code of a provider, for logs; never a token or a text that a user wrote.
    package var detail: String?

    package init(_ reason: Reason, text: String? = nil, retryAfter: Duration? = nil, detail: String? = nil) {
        self.reason = reason
        self.text = text
        self.retryAfter = retryAfter
        self.detail = detail
    }

    /// True if the store, the provider or the gateway itself cannot answer. The request was then not rejected.
    package var isUnavailable: Bool { self.reason.status == 503 }

    /// True if the store is unavailable or full.
    package var isOfStore: Bool { self.reason == .storeUnavailable || self.reason == .storeFull }

    /// True if a later retry may succeed, because the reason is an outage or a rate limit.
    package var mayPass: Bool { self.reason.refusal?.retryAfter != nil }
}
