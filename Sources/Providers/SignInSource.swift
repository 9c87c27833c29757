package import AddressIntelligence

/// Where a try to sign in comes from, for sharing limited capacity.
package struct SignInSource: Sendable, Hashable {
    /// Sources with the same block share one part of the capacity: a network, or one familiar address in it.
    package let share: CIDRBlock
    /// Whether a user has signed in from this address before.
    package let isFamiliar: Bool

    /// A stranger shares with the whole network: an IPv6 /48, the largest usual assignment to one site (RFC 6177 2), or
    /// an IPv4 /24. A familiar source has the share of its address alone: its `AddressKey`.
    package init(_ address: IPAddress, isFamiliar: Bool) {
        self.share = isFamiliar ? address.key.block : CIDRBlock(networkOf: address, v4: 24, v6: 48)
        self.isFamiliar = isFamiliar
    }
}
