/// The hash slot of a key, one of 16,384 in a cluster (Redis Cluster specification, "Hash tags").
package enum HashSlot {
    /// Returns the slot of `key`. Hashes the bytes between its first `{` and the next `}` if there are any, or all
    /// bytes.
    package static func of(_ key: [UInt8]) -> Int { Self.of(key[...]) }

    /// Returns the slot of a key in a slice.
    package static func of(_ key: ArraySlice<UInt8>) -> Int {
        var hashed = key
        if let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            hashed = key[(open + 1)..<close]
        }
        return Int(Self.crc16(hashed)) % Topology.slotCount
    }

    /// Computes CRC-16/XMODEM: polynomial 0x1021, nothing reflected, initial value 0.
    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in
            (crc << 8) ^ Self.table[Int(UInt8(truncatingIfNeeded: crc >> 8) ^ byte)]
        }
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021 }
    }
}
