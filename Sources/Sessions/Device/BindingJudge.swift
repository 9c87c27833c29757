import AddressIntelligence
package import Vocabulary

/// Judges whether a token or a live session is presented by the device that it is bound to.
package enum BindingJudge {
    /// Returns why the presenting device does not match the device that the token was minted for, or `nil` if it does.
    ///
    /// - `none` matches everything.
    /// - `ip` compares address keys (v4 /32, v6 /64, v4-mapped and NAT64 folded), nothing else.
    /// - `asn` compares ASNs. An unknown ASN never matches, not even another unknown one: otherwise all networks that
    ///   the database lacks would be treated as one network.
    /// - `ip_dual_stack` works like `ip` while the address family stays the same. If the family changes, as it does
    ///   when Happy Eyeballs (RFC 8305) picks v4 for one connection and v6 for the next, the same known ASN suffices.
    /// - `ip_or_asn` accepts the same address key, or the same known ASN.
    package static func judge(_ mode: BindingMode, minted: DeviceFacts, presented: DeviceFacts) -> Reason? {
        switch mode {
        case .none:
            return nil
        case .ip:
            return minted.address.key == presented.address.key ? nil : .bindingIPMismatch
        case .asn:
            return Self.compareASN(minted, presented)
        case .ipDualStack:
            if minted.address.key == presented.address.key { return nil }
            if minted.address.key.isV4 == presented.address.key.isV4 { return .bindingIPMismatch }
            return Self.compareASN(minted, presented)
        case .ipOrASN:
            if minted.address.key == presented.address.key { return nil }
            return Self.compareASN(minted, presented)
        }
    }

    private static func compareASN(_ minted: DeviceFacts, _ presented: DeviceFacts) -> Reason? {
        guard let expected = minted.asn, let actual = presented.asn else { return .bindingASNUnknown }
        return expected == actual ? nil : .bindingASNMismatch
    }
}
