/// The binding of a transfer token or live session to its device: Auth0's `none`, `ip` and `asn`, and two combinations.
package enum BindingMode: String, Sendable, CaseIterable {
    case none, ip, asn
    /// An equal address (`IPAddress.key`) or, after a change of the address family, an equal ASN.
    case ipDualStack = "ip_dual_stack"
    /// An equal address (`IPAddress.key`) or an equal ASN.
    case ipOrASN = "ip_or_asn"

    /// The modes that compare anything (all except `none`).
    package static let judged = Self.allCases.filter { $0 != .none }

    /// True if the mode compares autonomous system numbers, for which a source must be configured.
    package var comparesNetworks: Bool {
        switch self {
        case .none, .ip: false
        case .asn, .ipDualStack, .ipOrASN: true
        }
    }
}
