import JOSE
import Vocabulary

/// The keys of id_tokens, and when each signs. A value without I/O.
///
/// ```
/// old key   signs -------------------------|  published until its tokens have ended --|
/// new key          published, waits -------|  signs -----------------------------------
///                 rotation             signsFrom                      signsFrom + afterlife
/// ```
///
/// Nothing has to be written for a key to begin or to end: every gateway reads it from the clock.
struct KeyPlan: Sendable {
    struct Planned: Sendable {
        let key: SigningKey
        let signsFrom: UnixTime

        var keyID: String { self.key.publicKey.thumbprint }
    }

    /// How long a key is published after it last signed: the longest life of an id_token, and an hour for clocks that
    /// differ and for gateways that learned late of the next key.
    static let afterlife = IDToken.longestLifetime + .seconds(3600)

    /// In the order in which they sign; at least one.
    let keys: [Planned]

    /// nil if there are no keys.
    init?(_ keys: [Planned]) {
        guard !keys.isEmpty else { return nil }
        self.keys = keys.sorted { $0.signsFrom < $1.signsFrom }
    }

    /// A first key, which signs at once.
    init(first key: SigningKey, now: UnixTime) {
        self.keys = [Planned(key: key, signsFrom: now)]
    }

    var newest: Planned? { self.keys.last }

    private func signerIndex(_ now: UnixTime) -> Int {
        // Clocks may differ: where none signs yet, the first does.
        self.keys.lastIndex { $0.signsFrom <= now } ?? 0
    }

    func signer(_ now: UnixTime) -> SigningKey { self.keys[self.signerIndex(now)].key }

    /// The key that is published and does not sign yet; nil if none waits.
    func waiting(_ now: UnixTime) -> Planned? {
        self.keys.dropFirst(self.signerIndex(now) + 1).last
    }

    /// The keys that are published: the one that signs, then the one that waits, then those whose tokens may still be
    /// valid.
    func published(_ now: UnixTime) -> JWKSet {
        let index = self.signerIndex(now)
        let former = zip(self.keys, self.keys.dropFirst()).prefix(index).filter { _, next in
            now < next.signsFrom.advanced(by: Self.afterlife)
        }
        let shown = [self.keys[index]] + self.keys.dropFirst(index + 1) + former.map { $0.0 }.reversed()
        return JWKSet(keys: shown.map(\.key.publicKey))
    }

    /// With a new key that signs after `settling`, and without keys that are not published any more.
    func rotated(to key: SigningKey, after settling: Duration, now: UnixTime) -> KeyPlan {
        let shown = self.published(now)
        let kept = self.keys.filter { shown.holds($0.key.publicKey.thumbprint) }
        return KeyPlan(kept + [Planned(key: key, signsFrom: now.advanced(by: settling))]) ?? self
    }
}
