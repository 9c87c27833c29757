import Glibc

/// An immutable hash table from configured byte strings, such as host names, to integers. A look-up allocates nothing.
///
/// The hash needs no secret key, because only the operator chooses the keys.
final class ByteTable: @unchecked Sendable {
    private struct Slot {
        var hash: UInt64 = 0
        var value: Int32 = 0
        var count: Int32 = -1
        var start = 0
    }

    // Immutable after init. The memory is freed in deinit.
    private let slots: UnsafeMutablePointer<Slot>
    private let bytes: UnsafeMutablePointer<UInt8>
    private let mask: Int

    /// - Parameter keys: The keys and their values. Of equal keys, the first applies.
    init(_ keys: some Collection<(key: [UInt8], value: Int)>) {
        var capacity = 8
        while capacity < keys.count * 2 { capacity *= 2 }
        self.slots = .allocate(capacity: capacity)
        self.slots.initialize(repeating: Slot(), count: capacity)
        self.mask = capacity - 1
        self.bytes = .allocate(capacity: max(1, keys.reduce(0) { $0 + $1.key.count }))
        var start = 0
        for (key, value) in keys {
            key.withUnsafeBufferPointer { key in
                guard self[key] == nil else { return }
                let hash = Self.hash(key)
                var index = Int(truncatingIfNeeded: hash) & self.mask
                while self.slots[index].count >= 0 { index = (index + 1) & self.mask }
                self.slots[index] = Slot(hash: hash, value: Int32(value), count: Int32(key.count), start: start)
                _ = UnsafeMutableBufferPointer(start: self.bytes + start, count: key.count).initialize(from: key)
                start += key.count
            }
        }
    }

    deinit {
        self.slots.deallocate()
        self.bytes.deallocate()
    }

    /// The value of `key`. `nil` if the table does not contain `key`.
    @inline(__always)
    subscript(key: UnsafeBufferPointer<UInt8>) -> Int? {
        let hash = Self.hash(key)
        var index = Int(truncatingIfNeeded: hash) & self.mask
        while self.slots[index].count >= 0 {
            let slot = self.slots[index]
            if slot.hash == hash, Int(slot.count) == key.count, let start = key.baseAddress,
                memcmp(self.bytes + slot.start, start, key.count) == 0
            {
                return Int(slot.value)
            }
            index = (index &+ 1) & self.mask
        }
        return nil
    }

    @inline(__always)
    private static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard let bytes = key.baseAddress else { return 0 }
        let count = key.count
        var hash = UInt64(truncatingIfNeeded: count)
        var index = 0
        while index &+ 8 <= count {
            hash = Self.mix(hash ^ ByteWord.load(bytes + index))
            index &+= 8
        }
        return Self.mix(hash ^ ByteWord.load(bytes + index, count &- index))
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value &* 0x9E37_79B9_7F4A_7C15
        return product ^ product &>> 32
    }
}
