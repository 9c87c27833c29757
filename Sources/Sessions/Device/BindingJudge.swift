internal import AddressIntelligence
package import Vocabulary

/// Whether a token or a live session is presented by the device that it is tied to.
package enum BindingJudge {
    /// Judges the facts of the device that presents against those of the device that minted; nil when they match.
    ///
    /// - `none` matches everything.
    /// - `ip` compares address keys (v4 /32, v6 /64, v4-mapped folded), nothing else.
    /// - `asn` compares ASNs. One that is not known, on either side, never matches, not even itself: otherwise every
    ///   network that the database lacks would be one network.
    /// - `ip_dual_stack` is `ip` while the address family stays. Only when it changed, as it does when Happy Eyeballs
    ///   (RFC 8305) picks v4 for one connection and v6 for the next, does the same known ASN do.
    /// - `ip_or_asn` takes the same address key, or the same known ASN.
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
            if minted.address.isV4 == presented.address.isV4 { return .bindingIPMismatch }
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
