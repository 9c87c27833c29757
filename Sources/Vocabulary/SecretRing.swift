/// The gateway's secrets. A rotation replaces the current secret and ends no session, because old secrets stay
/// accepted.
package struct SecretRing: Sendable, Hashable {
    /// The secret for new tokens and records.
    package let current: Secret
    /// The additional accepted secrets, each once, in the given order.
    package let accepted: [Secret]

    /// - Parameter accepted: Further secrets whose tokens and records are accepted. Duplicates are dropped.
    package init(current: Secret, accepted: [Secret] = []) {
        self.current = current
        var seen: Set<Secret> = [current]
        self.accepted = accepted.filter { seen.insert($0).inserted }
    }

    /// Every secret, the current one first.
    package var all: [Secret] { [self.current] + self.accepted }
}
