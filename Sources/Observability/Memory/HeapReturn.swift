import CLinux

/// Decides when to return freed memory to the system: once after each burst, when the process has been quiet for some
/// seconds.
///
/// The C library keeps freed memory, such as the buffers of many slow connections, until `malloc_trim` is called.
/// `malloc_trim` blocks all threads that use the heap, so it must not run under load.
package struct HeapReturn: Sendable {
    /// How often to call `look`.
    package static let interval: Duration = .seconds(5)
    /// A process that uses a smaller share of one core is quiet.
    private static let quietShare = 0.1
    /// The growth in bytes that makes a burst.
    private static let burstBytes = 16.0 * 1024 * 1024

    private var cpuSeconds: Double
    /// The lowest resident memory since memory was last returned, in bytes.
    private var leastBytes: Double

    /// - Parameters:
    ///   - cpuSeconds: The CPU time of the process on all cores.
    ///   - residentBytes: The resident memory of the process.
    package init(cpuSeconds: Double, residentBytes: Double) {
        self.cpuSeconds = cpuSeconds
        self.leastBytes = residentBytes
    }

    /// Returns whether to return memory now. Must be called every `interval`.
    package mutating func look(cpuSeconds: Double, residentBytes: Double) -> Bool {
        let used = cpuSeconds - self.cpuSeconds
        self.cpuSeconds = cpuSeconds
        // NaN means unknown. The negated comparison also replaces a NaN.
        if !(self.leastBytes <= residentBytes), residentBytes.isFinite { self.leastBytes = residentBytes }
        let isQuiet = used < Self.quietShare * (Self.interval / .seconds(1))
        return isQuiet && residentBytes >= self.leastBytes + Self.burstBytes
    }

    /// Records that memory was returned. The remaining resident memory becomes the new base.
    package mutating func returned(residentBytes: Double) {
        self.leastBytes = residentBytes
    }

    /// Measures this process, and returns its memory if it is time. Returning memory blocks for some milliseconds.
    ///
    /// - Returns: The resident bytes before and after; `nil` if no memory was returned.
    package mutating func lookAtProcess() -> (before: Int, after: Int)? {
        let before = ProcessMetrics.residentBytes()
        guard self.look(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: before) else { return nil }
        malloc_trim(0)
        let after = ProcessMetrics.residentBytes()
        self.returned(residentBytes: after)
        return (Int(before), after.isFinite ? Int(after) : 0)
    }

    /// Makes a value with the current measurements of this process.
    package static func ofProcess() -> HeapReturn {
        HeapReturn(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: ProcessMetrics.residentBytes())
    }
}
