package import AddressIntelligence

/// Determines the facts of the device that sent a request.
package struct DeviceObserver: Sendable {
    /// The maximum length of a recorded `User-Agent` in bytes of UTF-8.
    package static let userAgentLimit = 512

    private let directory: ASNDirectory?

    /// - Parameter directory: The source of ASNs; `nil` if none is configured, so every ASN is unknown.
    package init(directory: ASNDirectory?) {
        self.directory = directory
    }

    /// Returns the facts of a request from `address`. The user agent is cut to `userAgentLimit`.
    package func facts(address: IPAddress, userAgent: String?) -> DeviceFacts {
        DeviceFacts(
            address: address,
            asn: self.directory?.asn(of: address),
            userAgent: userAgent.map { Self.cut($0, to: Self.userAgentLimit) }
        )
    }

    /// Returns `device` with its ASN looked up if it has none.
    package func completed(_ device: DeviceFacts) -> DeviceFacts {
        guard device.asn == nil else { return device }
        return self.facts(address: device.address, userAgent: device.userAgent)
    }

    /// Returns `text` cut to at most `limit` bytes, at the boundary of a Unicode scalar.
    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
        while String.Index(end, within: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
