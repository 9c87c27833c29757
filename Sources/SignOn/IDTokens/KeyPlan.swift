import JOSE
import Vocabulary

/// The keys of id_tokens, each with the time from which it signs.
///
/// ```
/// old key   signs -------------------------|  published until its tokens have ended --|
/// new key          published, waits -------|  signs -----------------------------------
///                 rotation             signsFrom                      signsFrom + afterlife
/// ```
///
/// Nothing is written when a key begins or stops signing. Every gateway computes both times from the clock.
struct KeyPlan: Sendable {
    struct Planned: Sendable {
        let key: SigningKey
        let signsFrom: UnixTime

        var keyID: String { self.key.publicKey.thumbprint }
    }

    /// How long a key stays published after it stopped signing: the maximum lifetime of an id_token, and an hour for
    /// differing clocks and gateways that read the new key late.
    static let afterlife = IDToken.longestLifetime + .seconds(3600)

    /// The keys in the order in which they sign. Never empty.
    let keys: [Planned]

    /// Creates a plan with keys in any order. `nil` if `keys` is empty.
    init?(_ keys: [Planned]) {
        guard !keys.isEmpty else { return nil }
        self.keys = keys.sorted { $0.signsFrom < $1.signsFrom }
    }

    /// Creates a plan with one key that signs at once.
    init(first key: SigningKey, now: UnixTime) {
        self.keys = [Planned(key: key, signsFrom: now)]
    }

    var newest: Planned? { self.keys.last }

    private func signerIndex(_ now: UnixTime) -> Int {
        // Clocks may differ. If no key signs yet, the first key does.
        self.keys.lastIndex { $0.signsFrom <= now } ?? 0
    }

    func signer(_ now: UnixTime) -> SigningKey { self.keys[self.signerIndex(now)].key }

    /// Returns the key that is published but does not sign yet. `nil` if no key waits.
    func waiting(_ now: UnixTime) -> Planned? {
        self.keys.dropFirst(self.signerIndex(now) + 1).last
    }

    /// Returns the published keys: the signing key, then the waiting key, then keys whose tokens may still be valid.
    func published(_ now: UnixTime) -> JWKSet {
        let index = self.signerIndex(now)
        let former = zip(self.keys, self.keys.dropFirst()).prefix(index).filter { _, next in
            now < next.signsFrom.advanced(by: Self.afterlife)
        }
        let shown = [self.keys[index]] + self.keys.dropFirst(index + 1) + former.map { $0.0 }.reversed()
        return JWKSet(keys: shown.map(\.key.publicKey))
    }

    /// Returns a plan with a new key that signs after `settling`, and without keys that are no longer published.
    func rotated(to key: SigningKey, after settling: Duration, now: UnixTime) -> KeyPlan {
        let shown = self.published(now)
        let kept = self.keys.filter { shown.holds($0.key.publicKey.thumbprint) }
        return KeyPlan(kept + [Planned(key: key, signsFrom: now.advanced(by: settling))]) ?? self
    }
}
