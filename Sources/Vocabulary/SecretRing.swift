/// The gateway's secrets. The current one signs and seals, and all are accepted, so that a rotation ends no session.
package struct SecretRing: Sendable, Hashable {
    /// The secret that signs, seals and names new tokens and records.
    package let current: Secret
    /// The additional accepted secrets, each once, in the given order.
    package let accepted: [Secret]

    /// - Parameter accepted: Secrets whose tokens and records are also accepted. Repeated secrets and the current one
    ///   are dropped.
    package init(current: Secret, accepted: [Secret] = []) {
        self.current = current
        var seen: Set<Secret> = [current]
        self.accepted = accepted.filter { seen.insert($0).inserted }
    }

    /// Every secret, the current one first.
    package var all: [Secret] { [self.current] + self.accepted }
}
