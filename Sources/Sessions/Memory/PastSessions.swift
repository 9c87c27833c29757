internal import Cryptography
internal import NIOCore
internal import Vocabulary

/// Why the last sessions of a shard have ended, by the digests of their tokens. Bounded; the oldest are forgotten first.
struct PastSessions {
    private let capacity: Int
    private var reasons: [Digest256: Reason] = [:]
    /// The keys of `reasons` in the order in which they were added.
    private var order = CircularBuffer<Digest256>()

    init(capacity: Int = 2048) {
        self.capacity = capacity
    }

    /// Why the session under `key` has ended; nil if that is not known.
    func reason(of key: RecordKey) -> Reason? { self.reasons[key.digest] }

    /// Notes why a session has ended.
    mutating func note(_ key: RecordKey, _ reason: Reason) {
        if self.reasons.updateValue(reason, forKey: key.digest) == nil { self.order.append(key.digest) }
        while self.order.count > self.capacity, let oldest = self.order.popFirst() { self.reasons[oldest] = nil }
    }
}
