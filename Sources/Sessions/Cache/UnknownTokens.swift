import Cryptography
import Vocabulary

/// Foreign tokens that their provider recently did not know, so that a client which repeats one does not make the
/// gateway ask the provider each time. Bounded; the oldest are forgotten first. Confined to its loop.
struct UnknownTokens {
    /// How long the provider's "unknown" is used: a token that becomes valid is accepted after this time at the latest.
    static let lifetime = Duration.seconds(2)

    private var entries = RecentValues<Digest256, (since: UnixTime, reason: Reason)>(capacity: 4096)

    /// The reason if the token was unknown less than `lifetime` ago. `now` may be a little earlier than the note: the
    /// loop's time stands still while it works. After the clock was set back further, the provider is asked again.
    func reason(of token: Digest256, now: UnixTime) -> Reason? {
        guard let entry = self.entries[token], now > entry.since.advanced(by: .zero - Self.lifetime),
            now < entry.since.advanced(by: Self.lifetime)
        else { return nil }
        return entry.reason
    }

    /// Notes that the provider did not know the token, and why it was refused.
    mutating func insert(_ token: Digest256, for reason: Reason, now: UnixTime) {
        self.entries.insert((now, reason), for: token)
    }
}
