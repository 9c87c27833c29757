/// The reason why a request for something was not carried out. Each protocol renders it in its own envelope, and no
/// layer in between renames it.
///
/// The reason alone determines whether the request was rejected or cannot be answered now. They must not be mixed up:
/// an outage must not make a client discard a valid credential.
package struct NotDone: Error, Sendable, Hashable {
    package var reason: Reason
    /// A rule's message to the user; `nil` for the gateway's standard message.
    package var text: String?
    /// The remaining time of a rate limit.
    package var retryAfter: Duration?
    /// The failed check or the error code of a provider, for logs; never a token or a text that a user wrote.
    package var detail: String?

    package init(_ reason: Reason, text: String? = nil, retryAfter: Duration? = nil, detail: String? = nil) {
        self.reason = reason
        self.text = text
        self.retryAfter = retryAfter
        self.detail = detail
    }

    /// Whether the store, the provider or the gateway itself cannot answer, so that nobody was rejected.
    package var isUnavailable: Bool { self.reason.status == 503 }

    /// Whether the store cannot answer.
    package var isOfStore: Bool { self.reason == .storeUnavailable || self.reason == .storeFull }

    /// Whether a retry may succeed later: after an outage or a rate limit.
    package var mayPass: Bool { self.reason.refusal?.retryAfter != nil }
}
