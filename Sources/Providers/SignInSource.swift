package import AddressIntelligence

/// The source of a sign-in attempt, among which a provider's limited capacity is shared.
package struct SignInSource: Sendable, Hashable {
    /// The addresses that use one share: a network, or a single familiar address.
    package let share: CIDRBlock
    /// True if a user has signed in from this address before.
    package let isFamiliar: Bool

    /// Creates a source. A familiar address has a share of its own (`AddressKey`). Other addresses use the share of
    /// their network: an IPv4 /24, or an IPv6 /48 (the largest usual assignment to a site, RFC 6177 2).
    package init(_ address: IPAddress, isFamiliar: Bool) {
        self.share = isFamiliar ? address.key.block : CIDRBlock(networkOf: address, v4: 24, v6: 48)
        self.isFamiliar = isFamiliar
    }
}
