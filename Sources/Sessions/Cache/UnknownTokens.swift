internal import Cryptography
internal import NIOCore
internal import Vocabulary

/// Foreign tokens that their provider recently did not know, so that a client which repeats one does not make the
/// gateway ask the provider each time. Bounded; the oldest are forgotten first. Confined to its loop.
struct UnknownTokens {
    /// How long the provider's "unknown" is used: a token that becomes valid is accepted after this time at the latest.
    static let lifetime = Duration.seconds(2)

    private let capacity: Int
    private var since: [Digest256: UnixTime] = [:]
    /// The tokens in the order in which they were added.
    private var order = CircularBuffer<Digest256>()

    init(capacity: Int = 4096) {
        self.capacity = capacity
    }

    /// Whether the token was unknown less than `lifetime` ago. After the clock was set back, the provider is asked
    /// again.
    func contains(_ token: Digest256, now: UnixTime) -> Bool {
        guard let since = self.since[token] else { return false }
        return now >= since && now < since.advanced(by: Self.lifetime)
    }

    /// Notes that the provider did not know the token.
    mutating func insert(_ token: Digest256, now: UnixTime) {
        if self.since.updateValue(now, forKey: token) == nil { self.order.append(token) }
        while self.order.count > self.capacity, let oldest = self.order.popFirst() { self.since[oldest] = nil }
    }
}
