import Glibc
import Vocabulary

/// One event loop's counts of all metrics. Only the loop uses this memory: counting needs no lock, atomic or shared
/// cache line. The system assigns no pages to slots that were never used.
///
/// Confined to its loop (`MetricsRegistry.makeShard`), and deliberately not `Sendable`.
@usableFromInline
package final class MetricsShard {
    @usableFromInline package private(set) var slots: UnsafeMutablePointer<UInt64>
    /// The number of slots. `bounds` has the bounds of all their histograms.
    @usableFromInline package private(set) var capacity: Int
    @usableFromInline package private(set) var bounds: UnsafeMutablePointer<Int64>
    /// The last exemplar of each bucket, by slot; `nil` until the first exemplar.
    @usableFromInline private(set) var traced: UnsafeMutablePointer<Exemplar>?
    /// Retains this shard and outlives it.
    private unowned let registry: MetricsRegistry

    init(registry: MetricsRegistry) {
        self.registry = registry
        self.slots = Self.zeroes(0)
        self.bounds = .allocate(capacity: 0)
        self.capacity = 0
        self.grow()
    }

    deinit {
        free(self.slots)
        free(self.traced)
        self.bounds.deallocate()
    }

    /// Adds `amount` to a counter.
    @inlinable @inline(__always)
    package func increment(_ id: CounterID, by amount: UInt64 = 1) {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        self.slots[slot] &+= amount
    }

    /// Changes a gauge by `delta`, which may be negative. A scrape shows the sum over all loops.
    @inlinable @inline(__always)
    package func add(_ id: GaugeID, _ delta: Int64) {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        self.slots[slot] &+= UInt64(bitPattern: delta)
    }

    /// Records a duration in nanoseconds. A negative duration is recorded as 0.
    ///
    /// - Returns: The slot of the duration's bucket.
    @inlinable @inline(__always) @discardableResult
    package func observe(_ id: HistogramID, nanoseconds: Int64) -> Int {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        let value = max(nanoseconds, 0)
        let bounds = self.bounds + Int(id.bound)
        let count = Int(id.boundCount)
        var bucket = 0
        // Summing the comparisons has no branches that could be mispredicted. A binary search has.
        for index in 0..<count {
            bucket &+= value > bounds[index] ? 1 : 0
        }
        self.slots[slot &+ bucket] &+= 1
        self.slots[slot &+ count &+ 1] &+= UInt64(bitPattern: value)
        return slot &+ bucket
    }

    /// Replaces the exemplar of a bucket.
    ///
    /// - Parameter slot: The bucket's slot, as returned by `observe`.
    @inlinable @inline(__always)
    package func note(_ exemplar: Exemplar, at slot: Int) {
        guard slot >= 0, slot < self.capacity else { return }
        (self.traced ?? self.makeTraced())[slot] = exemplar
    }

    /// Returns the exemplars of the counted buckets, by slot.
    ///
    /// - Parameter counted: The result of `counted`.
    func exemplars(in counted: [(slot: Int, value: UInt64)]) -> [Int: Exemplar] {
        guard let traced = self.traced else { return [:] }
        return counted.reduce(into: [:]) { found, counted in
            let exemplar = traced[counted.slot]
            if exemplar.at.milliseconds > 0 { found[counted.slot] = exemplar }
        }
    }

    @usableFromInline @inline(never)
    func makeTraced() -> UnsafeMutablePointer<Exemplar> {
        guard let memory = calloc(max(self.capacity, 1), MemoryLayout<Exemplar>.stride) else {
            preconditionFailure("no memory")
        }
        // The memory is zero. An exemplar with the time 0 is treated as missing.
        let traced = memory.bindMemory(to: Exemplar.self, capacity: self.capacity)
        self.traced = traced
        return traced
    }

    /// Returns all slots whose value is not 0.
    func counted() -> [(slot: Int, value: UInt64)] {
        var counted: [(slot: Int, value: UInt64)] = []
        for first in stride(from: 0, to: self.capacity, by: 64) {
            let block = UnsafeBufferPointer(start: self.slots + first, count: min(64, self.capacity - first))
            // Most blocks are all zeros. The reduction reads many words at a time.
            guard block.reduce(0, |) != 0 else { continue }
            for (index, value) in block.enumerated() where value != 0 { counted.append((first + index, value)) }
        }
        return counted
    }

    private static func zeroes(_ count: Int) -> UnsafeMutablePointer<UInt64> {
        guard let memory = calloc(max(count, 1), MemoryLayout<UInt64>.stride) else { preconditionFailure("no memory") }
        return memory.bindMemory(to: UInt64.self, capacity: count)
    }

    /// Grows to all slots that are registered now.
    ///
    /// - Precondition: `slot` belongs to this shard's registry.
    @usableFromInline @inline(never)
    package func grow(to slot: Int = -1) {
        let (slotCount, allBounds) = self.registry.layout
        precondition(slot < slotCount, "this metric belongs to another registry")
        let slots = Self.zeroes(slotCount)
        let counted = self.counted()
        let exemplars = self.exemplars(in: counted)
        for (slot, value) in counted { slots[slot] = value }
        let bounds = UnsafeMutablePointer<Int64>.allocate(capacity: allBounds.count)
        for (index, bound) in allBounds.enumerated() {
            (bounds + index).initialize(to: bound)
        }
        free(self.slots)
        self.bounds.deallocate()
        self.slots = slots
        self.bounds = bounds
        self.capacity = slotCount
        free(self.traced)
        self.traced = nil
        if !exemplars.isEmpty {
            let traced = self.makeTraced()
            for (slot, exemplar) in exemplars { traced[slot] = exemplar }
        }
    }
}
