import Cryptography
import Vocabulary

/// Foreign tokens that their provider recently rejected as unknown. If such a token is presented again, the provider is
/// not asked. The number is limited; the oldest are forgotten first. Confined to its loop.
struct UnknownTokens {
    /// The time for which the provider's "unknown" is used. A token that becomes valid is accepted within this time.
    static let lifetime = Duration.seconds(2)

    private var entries = RecentValues<Digest256, (since: UnixTime, reason: Reason)>(capacity: 4096)

    /// Returns the reason if the token was unknown less than `lifetime` ago. `now` may be a little earlier than the
    /// time of `insert`, because the loop's time does not advance while the loop works. If the clock was set back
    /// further, the provider is asked again.
    func reason(of token: Digest256, now: UnixTime) -> Reason? {
        guard let entry = self.entries[token], now > entry.since.advanced(by: .zero - Self.lifetime),
            now < entry.since.advanced(by: Self.lifetime)
        else { return nil }
        return entry.reason
    }

    /// Records that the provider did not know the token, and why the token was rejected.
    mutating func insert(_ token: Digest256, for reason: Reason, now: UnixTime) {
        self.entries.insert((now, reason), for: token)
    }
}
