internal import Cryptography
internal import NIOCore
internal import Vocabulary

/// Foreign tokens that their provider did not know a moment ago, so that whoever repeats one does not have the provider
/// asked each time. Bounded; the oldest are forgotten first. Confined to its loop.
struct UnknownTokens {
    /// For how long the provider's "unknown" is believed: a token that is good from now on waits no longer than this.
    static let lifetime = Duration.seconds(2)

    private let capacity: Int
    private var since: [Digest256: UnixTime] = [:]
    /// In the order in which they came.
    private var order = CircularBuffer<Digest256>()

    init(capacity: Int = 4096) {
        self.capacity = capacity
    }

    /// Whether the token was unknown less than `lifetime` ago. A clock that was set back makes the provider be asked again.
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
