/// The gateway's secrets: one signs and seals, and all are accepted, so that a change of secret ends no session.
package struct SecretRing: Sendable, Hashable {
    /// The secret that signs, seals and names what is made now.
    package let current: Secret
    /// The others, each once, in the order in which they were given.
    package let accepted: [Secret]

    /// - Parameter accepted: Secrets whose tokens and records are also accepted. Repeated ones, and the current one,
    ///   count once.
    package init(current: Secret, accepted: [Secret] = []) {
        self.current = current
        var seen: Set<Secret> = [current]
        self.accepted = accepted.filter { seen.insert($0).inserted }
    }

    /// Every secret, the current one first.
    package var all: [Secret] { [self.current] + self.accepted }
}
