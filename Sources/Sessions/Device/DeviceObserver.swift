package import AddressIntelligence

/// Records the facts of the device behind a request, identically when a token is minted and when it is presented.
package struct DeviceObserver: Sendable {
    /// The maximum length of a recorded `User-Agent` in bytes of UTF-8.
    package static let userAgentLimit = 512

    private let directory: ASNDirectory?

    /// - Parameter directory: `nil` if the configuration names no source of ASNs; every ASN is then unknown.
    package init(directory: ASNDirectory?) {
        self.directory = directory
    }

    /// Returns the facts of a request from `address`, with the address's ASN if it is known.
    package func facts(address: IPAddress, userAgent: String?) -> DeviceFacts {
        DeviceFacts(
            address: address,
            asn: self.directory?.asn(of: address),
            userAgent: userAgent.map { Self.cut($0, to: Self.userAgentLimit) }
        )
    }

    /// Returns `device` with its ASN looked up, unless it already has one.
    package func completed(_ device: DeviceFacts) -> DeviceFacts {
        guard device.asn == nil else { return device }
        return self.facts(address: device.address, userAgent: device.userAgent)
    }

    /// Returns `text` cut to at most `limit` bytes, never in the middle of a character.
    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        while String.Index(end, within: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
