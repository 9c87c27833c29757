import AddressIntelligence
package import Vocabulary

/// Compares the device that presents a token or session with the device that it is bound to.
package enum BindingJudge {
    /// Returns why the presenting device does not match the device of the token; `nil` if it matches.
    ///
    /// - `none` matches everything.
    /// - `ip` compares address keys: IPv4 /32 and IPv6 /64. IPv4-mapped and NAT64 addresses are IPv4.
    /// - `asn` compares ASNs. An unknown ASN never matches, not even another unknown ASN.
    /// - `ip_dual_stack` is `ip` while the address family stays the same. If it changes (Happy Eyeballs, RFC 8305),
    ///   equal known ASNs match.
    /// - `ip_or_asn` matches if the address keys or the known ASNs are equal.
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
