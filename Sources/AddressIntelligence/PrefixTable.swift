/// Values by address prefix. The longest prefix that contains an address wins.
///
/// Nested prefixes are flattened once into runs of addresses with one value each, and a lookup is a binary search. IPv4
/// and IPv6 have separate tables, because an IPv6 block such as `::/80` contains the bits of every IPv4 address.
struct PrefixTable<Value: Equatable & Sendable>: Sendable {
    private let v4: Runs
    private let v6: Runs

    /// Builds the table. If a block has two values, the later one wins.
    init(_ entries: [(block: CIDRBlock, value: Value)]) {
        self.v4 = Runs(entries.filter { $0.block.network.isV4 })
        self.v6 = Runs(entries.filter { !$0.block.network.isV4 })
    }

    /// Returns the value of the longest prefix that contains `address`; `nil` if no prefix contains it.
    func value(for address: IPAddress) -> Value? {
        address.isV4 ? self.v4.value(at: address.bits) : self.v6.value(at: address.bits)
    }
}

extension PrefixTable {
    /// Runs of consecutive addresses: each run begins at its start and ends before the start of the next run.
    private struct Runs: Sendable {
        private var starts: [UInt128] = []
        private var values: [Value?] = []

        init(_ entries: [(block: CIDRBlock, value: Value)]) {
            // Each block follows the blocks that contain it. The sort is stable: the last value of a repeated block
            // wins.
            let ordered = entries.sorted { left, right in
                let (left, right) = (left.block, right.block)
                return left.network == right.network
                    ? left.prefixLength < right.prefixLength
                    : left.network.bits < right.network.bits
            }
            var open: [(last: UInt128, value: Value)] = []
            for (block, value) in ordered {
                while let innermost = open.last, innermost.last < block.network.bits {
                    self.close(&open)
                }
                self.begin(at: block.network.bits, value)
                open.append((block.last, value))
            }
            while !open.isEmpty {
                self.close(&open)
            }
        }

        var isEmpty: Bool { self.starts.isEmpty }

        func value(at point: UInt128) -> Value? {
            var low = 0
            var high = self.starts.count
            while low < high {
                let middle = (low + high) / 2
                if self.starts[middle] <= point { low = middle + 1 } else { high = middle }
            }
            return low == 0 ? nil : self.values[low - 1]
        }

        /// Ends the innermost open block; the block around it continues.
        private mutating func close(_ open: inout [(last: UInt128, value: Value)]) {
            let ended = open.removeLast()
            guard ended.last < UInt128.max else { return }
            self.begin(at: ended.last + 1, open.last?.value)
        }

        private mutating func begin(at start: UInt128, _ value: Value?) {
            if self.starts.last == start {
                self.values[self.values.count - 1] = value
            } else if self.values.last != .some(value) {
                self.starts.append(start)
                self.values.append(value)
            }
        }
    }
}
