package import AddressIntelligence

/// The facts of the device that a token or session is bound to, recorded when the token or session was created.
package struct DeviceFacts: Sendable, Hashable {
    package var address: IPAddress
    /// The autonomous system number; `nil` if it is unknown. An unknown ASN never matches.
    package var asn: UInt32?
    /// The client's `User-Agent`, cut to 512 bytes.
    package var userAgent: String?

    package init(address: IPAddress, asn: UInt32?, userAgent: String?) {
        self.address = address
        self.asn = asn
        self.userAgent = userAgent
    }
}
