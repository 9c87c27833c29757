import CLinux
import NIOCore

/// The cores that the process may use.
enum Cores {
    /// The lower of the container's CPU limit (cgroup quota and cpuset) and the CPU affinity. Fractions are rounded up.
    static let count = min(System.coreCount, Self.affinity ?? .max)

    /// The number of cores to which the process is bound; `nil` if the kernel's mask has more than 8,192 bits.
    private static var affinity: Int? {
        var mask = [UInt64](repeating: 0, count: 128)
        guard sched_getaffinity(0, mask.count * MemoryLayout<UInt64>.size, &mask) == 0 else { return nil }
        return mask.reduce(0) { $0 + $1.nonzeroBitCount }
    }
}
