import AddressIntelligence
import Sessions
import Vocabulary

/// Where a device is, and what a list of networks knows of its address.
package enum Place: String, CaseIterable, Sendable {
    case home = "1.128.0.1"
    case neighbour = "1.128.0.2"
    case homeV6 = "2001:8000::1"
    case elsewhere = "12.0.0.1"
    case unlisted = "10.0.0.1"

    /// The list of networks: `prefix,asn` lines.
    package static let networks = "1.128.0.0/11,1221\n2001:8000::/19,1221\n12.0.0.0/8,7018\n"

    var network: Int? {
        switch self {
        case .home, .neighbour, .homeV6: 1221
        case .elsewhere: 7018
        case .unlisted: nil
        }
    }

    var isV4: Bool { self != .homeV6 }

    func device(_ agent: String) throws -> DeviceFacts {
        guard let address = IPAddress(self.rawValue) else { throw Difference("\(self.rawValue) is no address") }
        return DeviceFacts(address: address, asn: nil, userAgent: agent)
    }
}

extension BindingMode {
    /// Whether a token that was minted at one place may be used at another: DESIGN's sentence, in other words than the
    /// code's.
    func accepts(_ minted: Place, _ presented: Place) -> Bool {
        let isSamePlace = minted == presented
        let isSameNetwork = minted.network != nil && minted.network == presented.network
        return switch self {
        case .none: true
        case .ip: isSamePlace
        case .asn: isSameNetwork
        case .ipDualStack: isSamePlace || (minted.isV4 != presented.isV4 && isSameNetwork)
        case .ipOrASN: isSamePlace || isSameNetwork
        }
    }
}

/// The gateway did something else than the model.
package struct Difference: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
