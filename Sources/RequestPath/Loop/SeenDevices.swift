package import AddressIntelligence
package import Sessions

/// A session and the address from which it is used.
package struct PresentedDevice: Hashable, Sendable {
    package let session: RecordKey
    package let address: IPAddress
}

/// The devices that a dry run of the live binding has reported: each counts once on a loop, however many requests it sends.
struct SeenDevices {
    /// A device that is forgotten because another one takes its slot is reported once more.
    private static let slots = 4096
    private var hashes: [Int] = []

    /// Whether the device has not been reported.
    mutating func isNew(_ device: PresentedDevice) -> Bool {
        if self.hashes.isEmpty { self.hashes = Array(repeating: 0, count: Self.slots) }
        let hash = device.hashValue
        let slot = Int(UInt(bitPattern: hash) % UInt(Self.slots))
        guard self.hashes[slot] != hash else { return false }
        self.hashes[slot] = hash
        return true
    }
}
