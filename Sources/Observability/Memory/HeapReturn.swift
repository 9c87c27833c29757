import CLinux

/// Decides when the memory that was freed after a burst is given back to the system: once after each burst, when the
/// process has been quiet for some seconds.
///
/// The C library keeps what is freed, because the next burst will need it: after two hundred slow readers a gateway keeps
/// the buffers of all of them. `malloc_trim` gives every whole page of it back. That takes a moment in which the threads
/// that use the same heap wait, so it is never done on behalf of a request, nor while there are many.
package struct HeapReturn: Sendable {
    /// How often `look` is to be called.
    package static let interval: Duration = .seconds(5)
    /// A process that uses less of a core than this is quiet.
    private static let quietShare = 0.1
    /// So much more than before in use is a burst.
    private static let burstBytes = 16.0 * 1024 * 1024

    private var cpuSeconds: Double
    /// The least resident memory since memory was last given back.
    private var leastBytes: Double

    /// - Parameters:
    ///   - cpuSeconds: The time that the process has used of all cores.
    ///   - residentBytes: Its resident memory.
    package init(cpuSeconds: Double, residentBytes: Double) {
        self.cpuSeconds = cpuSeconds
        self.leastBytes = residentBytes
    }

    /// Whether memory is to be given back now. Called every `interval`.
    package mutating func look(cpuSeconds: Double, residentBytes: Double) -> Bool {
        let used = cpuSeconds - self.cpuSeconds
        self.cpuSeconds = cpuSeconds
        // Where the memory was not known before, it is from now on.
        if !(self.leastBytes <= residentBytes), residentBytes.isFinite { self.leastBytes = residentBytes }
        let isQuiet = used < Self.quietShare * (Self.interval / .seconds(1))
        return isQuiet && residentBytes >= self.leastBytes + Self.burstBytes
    }

    /// Notes that memory was given back. What is still resident is in use, and will not be looked at again.
    package mutating func returned(residentBytes: Double) {
        self.leastBytes = residentBytes
    }

    /// Looks at this process, and gives its memory back if it is time. Blocks for some milliseconds then.
    ///
    /// - Returns: The resident bytes before and afterwards; nil: it is not time yet.
    package mutating func lookAtProcess() -> (before: Int, after: Int)? {
        let before = ProcessMetrics.residentBytes()
        guard self.look(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: before) else { return nil }
        malloc_trim(0)
        let after = ProcessMetrics.residentBytes()
        self.returned(residentBytes: after)
        return (Int(before), after.isFinite ? Int(after) : 0)
    }

    /// For this process as it is now.
    package static func ofProcess() -> HeapReturn {
        HeapReturn(cpuSeconds: ProcessMetrics.cpuSeconds(), residentBytes: ProcessMetrics.residentBytes())
    }
}
