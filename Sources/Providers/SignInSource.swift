package import AddressIntelligence

/// The source of a sign-in attempt, for sharing limited capacity.
package struct SignInSource: Sendable, Hashable {
    /// The addresses that share one part of the capacity: a network, or a single familiar address.
    package let share: CIDRBlock
    /// True if a user has signed in from this address before.
    package let isFamiliar: Bool

    /// Creates a source. An unfamiliar address shares capacity with its network: an IPv6 /48, the largest usual
    /// assignment to one site (RFC 6177 2), or an IPv4 /24. A familiar address has its own share (`AddressKey`).
    package init(_ address: IPAddress, isFamiliar: Bool) {
        self.share = isFamiliar ? address.key.block : CIDRBlock(networkOf: address, v4: 24, v6: 48)
        self.isFamiliar = isFamiliar
    }
}
