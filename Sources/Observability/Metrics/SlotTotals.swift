/// The sum over all loops for each slot. Zeros are not stored.
struct SlotTotals {
    /// The values in ascending order of slots.
    private let counted: [(slot: Int, value: UInt64)]

    init(_ values: [Int: UInt64]) {
        self.counted = values.filter { $0.value != 0 }.map { ($0.key, $0.value) }.sorted { $0.slot < $1.slot }
    }

    subscript(slot: Int) -> UInt64 {
        let place = self.place(of: slot)
        return place < self.counted.count && self.counted[place].slot == slot ? self.counted[place].value : 0
    }

    /// Returns whether all of these slots are 0.
    func areZero(_ slots: Range<Int>) -> Bool {
        let place = self.place(of: slots.lowerBound)
        return place == self.counted.count || self.counted[place].slot >= slots.upperBound
    }

    /// Returns the index of the first entry whose slot is at least `slot`.
    private func place(of slot: Int) -> Int {
        var (low, high) = (0, self.counted.count)
        while low < high {
            let middle = (low + high) / 2
            if self.counted[middle].slot < slot { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
