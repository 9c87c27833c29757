package import AddressIntelligence

/// Where a try to sign in comes from, for what cannot be done for everybody at once.
package struct SignInSource: Sendable, Hashable {
    /// Those who share it share one part: a network, or one address in it that is familiar.
    package let share: CIDRBlock
    /// Somebody has signed in from this address before.
    package let isFamiliar: Bool

    /// A stranger shares with their whole network: an IPv6 /48, which is what one site may have (RFC 6177 2), or an IPv4
    /// /24. Who is familiar shares with their address alone: an IPv6 /64, or an IPv4 address.
    package init(_ address: IPAddress, isFamiliar: Bool) {
        self.share = isFamiliar ? CIDRBlock(of: address, v4: 32, v6: 64) : CIDRBlock(of: address, v4: 24, v6: 48)
        self.isFamiliar = isFamiliar
    }
}
