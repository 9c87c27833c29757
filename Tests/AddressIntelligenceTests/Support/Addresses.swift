import AddressIntelligence
import Testing

/// The address that a test names.
func address(_ text: String) throws -> IPAddress {
    try #require(IPAddress(text), "\(text)")
}

/// The block that a test names.
func block(_ text: String) throws -> CIDRBlock {
    try #require(CIDRBlock(text), "\(text)")
}
