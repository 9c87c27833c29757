/// How a transfer token or a live session is tied to its device: Auth0's `none`, `ip` and `asn`, and two that mix them.
package enum BindingMode: String, Sendable, CaseIterable {
    case none, ip, asn
    /// The same address key; when the address family changed, the same ASN.
    case ipDualStack = "ip_dual_stack"
    /// The same address key, or the same ASN.
    case ipOrASN = "ip_or_asn"

    /// The mode compares autonomous system numbers, so a source of them must be configured.
    package var comparesNetworks: Bool {
        switch self {
        case .none, .ip: false
        case .asn, .ipDualStack, .ipOrASN: true
        }
    }
}
