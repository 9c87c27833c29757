package import AddressIntelligence
package import Sessions

/// A session and the address of a device that uses it.
package struct PresentedDevice: Hashable, Sendable {
    package let session: RecordKey
    package let address: IPAddress
}

/// The devices that a dry run of the live binding has reported. Each loop reports a device once, until another device
/// takes its slot.
struct SeenDevices {
    /// The number of slots. A device whose slot another device has overwritten is reported again.
    private static let slots = 4096
    private var hashes: [Int] = []

    /// Returns whether the device has not been reported, and records it.
    mutating func isNew(_ device: PresentedDevice) -> Bool {
        if self.hashes.isEmpty { self.hashes = Array(repeating: 0, count: Self.slots) }
        let hash = device.hashValue
        let slot = Int(UInt(bitPattern: hash) % UInt(Self.slots))
        guard self.hashes[slot] != hash else { return false }
        self.hashes[slot] = hash
        return true
    }
}
