import Cryptography
import Vocabulary

/// Foreign tokens that their provider has just rejected, so that it is not asked about them again. When the table is
/// full, the oldest are removed. Used only on one loop.
struct UnknownTokens {
    /// The time for which a rejection is repeated. A token that becomes valid is accepted after this time.
    static let lifetime = Duration.seconds(2)

    private var entries = RecentValues<Digest256, (since: UnixTime, reason: Reason)>(capacity: 4096)

    /// Returns the reason if the token was rejected less than `lifetime` ago; otherwise `nil`. `now` may be a little
    /// before the rejection, because the loop's time stands still while the loop works.
    func reason(of token: Digest256, now: UnixTime) -> Reason? {
        guard let entry = self.entries[token], now > entry.since.advanced(by: .zero - Self.lifetime),
            now < entry.since.advanced(by: Self.lifetime)
        else { return nil }
        return entry.reason
    }

    /// Records that the provider rejected the token, and the reason.
    mutating func insert(_ token: Digest256, for reason: Reason, now: UnixTime) {
        self.entries.insert((now, reason), for: token)
    }
}
