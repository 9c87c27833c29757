/// Why what somebody asked for did not take place. Each protocol renders it in its own envelope; nothing on the way there
/// gives it another name.
///
/// Whether it is refused or cannot be answered now is a property of the reason alone, so that nobody can mix them up: an
/// outage must not make a client discard what is still good.
package struct NotDone: Error, Sendable, Hashable {
    package var reason: Reason
    /// What a rule tells the user; nil: the gateway's own words.
    package var text: String?
    /// The remaining time of a rate limit.
    package var retryAfter: Duration?
    /// For logs: which check failed, or an error code of a provider; never a token nor text that a user wrote.
    package var detail: String?

    package init(_ reason: Reason, text: String? = nil, retryAfter: Duration? = nil, detail: String? = nil) {
        self.reason = reason
        self.text = text
        self.retryAfter = retryAfter
        self.detail = detail
    }

    /// Whether nobody was refused: the store, the provider or the gateway itself cannot answer.
    package var isUnavailable: Bool { self.reason.status == 503 }

    /// Whether it is the store that cannot answer.
    package var isOfStore: Bool { self.reason == .storeUnavailable || self.reason == .storeFull }

    /// Whether the same request may have another answer later: an outage or a rate limit.
    package var mayPass: Bool { self.reason.refusal?.retryAfter != nil }
}
