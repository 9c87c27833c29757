import CLinux

/// Decides when memory that was freed after a burst is returned to the system: once after each burst, when the process
/// has been quiet for some seconds.
///
/// The C library keeps freed memory for the next burst: after two hundred slow readers a gateway keeps the buffers of
/// all these connections. `malloc_trim` returns every whole free page. Threads that use the heap wait for
/// `malloc_trim`, so it is never called for a request, or while there are many requests.
package struct HeapReturn: Sendable {
    /// The interval at which `look` must be called.
    package static let interval: Duration = .seconds(5)
    /// The share of a core below which a process is quiet.
    private static let quietShare = 0.1
    /// The minimum growth in bytes that is a burst.
    private static let burstBytes = 16.0 * 1024 * 1024

    private var cpuSeconds: Double
    /// The lowest resident memory since memory was last returned.
    private var leastBytes: Double

    /// - Parameters:
    ///   - cpuSeconds: The process's CPU time on all cores.
    ///   - residentBytes: The process's resident memory.
    package init(cpuSeconds: Double, residentBytes: Double) {
        self.cpuSeconds = cpuSeconds
        self.leastBytes = residentBytes
    }

    /// Returns whether memory should be returned now. Called every `interval`.
    package mutating func look(cpuSeconds: Double, residentBytes: Double) -> Bool {
        let used = cpuSeconds - self.cpuSeconds
        self.cpuSeconds = cpuSeconds
        // This also stores the first known value after an unknown one (NaN).
        if !(self.leastBytes <= residentBytes), residentBytes.isFinite { self.leastBytes = residentBytes }
        let isQuiet = used < Self.quietShare * (Self.interval / .seconds(1))
        return isQuiet && residentBytes >= self.leastBytes + Self.burstBytes
    }

    /// Records that memory was returned. The remaining resident memory is in use and becomes the new base.
    package mutating func returned(residentBytes: Double) {
        self.leastBytes = residentBytes
    }

    /// Checks this process, and returns its memory if it is time. Returning it blocks for some milliseconds.
    ///
    /// - Returns: The resident bytes before and after; `nil` if it is not time yet.
    package mutating func lookAtProcess() -> (before: Int, after: Int)? {
        let before = ProcessMetrics.residentBytes()
        guard self.look(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: before) else { return nil }
        malloc_trim(0)
        let after = ProcessMetrics.residentBytes()
        self.returned(residentBytes: after)
        return (Int(before), after.isFinite ? Int(after) : 0)
    }

    /// Makes a value for the current state of this process.
    package static func ofProcess() -> HeapReturn {
        HeapReturn(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: ProcessMetrics.residentBytes())
    }
}
