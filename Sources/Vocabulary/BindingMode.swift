/// How a transfer token or live session is bound to its device: Auth0's `none`, `ip` and `asn`, and two combinations.
package enum BindingMode: String, Sendable, CaseIterable {
    case none, ip, asn
    /// The addresses must have equal keys (`IPAddress.key`). If the address family changed, the ASNs must be equal
    /// instead.
    case ipDualStack = "ip_dual_stack"
    /// The addresses must have equal keys (`IPAddress.key`), or the ASNs must be equal.
    case ipOrASN = "ip_or_asn"

    /// The modes that compare anything (all except `none`).
    package static let judged = Self.allCases.filter { $0 != .none }

    /// True if the mode compares autonomous system numbers. A source of ASNs must then be configured.
    package var comparesNetworks: Bool {
        switch self {
        case .none, .ip: false
        case .asn, .ipDualStack, .ipOrASN: true
        }
    }
}
