/// How a transfer token or a live session is bound to its device: Auth0's `none`, `ip` and `asn`, and two combinations.
package enum BindingMode: String, Sendable, CaseIterable {
    case none, ip, asn
    /// The same address key; when the address family changed, the same ASN.
    case ipDualStack = "ip_dual_stack"
    /// The same address key, or the same ASN.
    case ipOrASN = "ip_or_asn"

    /// The modes by which something is judged.
    package static let judged = Self.allCases.filter { $0 != .none }

    /// Whether the mode compares autonomous system numbers, so that a source of them must be configured.
    package var comparesNetworks: Bool {
        switch self {
        case .none, .ip: false
        case .asn, .ipDualStack, .ipOrASN: true
        }
    }
}
