import AddressIntelligence
import Testing

/// SplitMix64: the same numbers in every run.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// The address that a test names.
func address(_ text: String) throws -> IPAddress {
    try #require(IPAddress(text), "\(text)")
}

/// The block that a test names.
func block(_ text: String) throws -> CIDRBlock {
    try #require(CIDRBlock(text), "\(text)")
}
