package import AddressIntelligence

/// What the gateway knows of a client's device: address, ASN and user agent. A device binding compares the address or
/// the ASN (`BindingJudge`).
package struct DeviceFacts: Sendable, Hashable {
    package var address: IPAddress
    /// The autonomous system number; `nil` if unknown.
    package var asn: UInt32?
    /// The client's `User-Agent`, cut to 512 bytes.
    package var userAgent: String?

    package init(address: IPAddress, asn: UInt32?, userAgent: String?) {
        self.address = address
        self.asn = asn
        self.userAgent = userAgent
    }
}
