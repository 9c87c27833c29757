import Glibc

/// The standard process metrics, read from the system at each scrape, and the build information.
package enum ProcessMetrics {
    /// The Swift release that compiled this program.
    package static var swiftVersion: String {
        #if compiler(>=6.5)
        "6.5 or later"
        #elseif compiler(>=6.4)
        "6.4"
        #else
        "6.3"
        #endif
    }

    /// Registers all metrics of the process.
    ///
    /// - Parameter version: The gateway's version.
    package static func register(in registry: MetricsRegistry, version: String) {
        registry.read(MetricNames.buildInfo, version, self.swiftVersion) { 1 }
        let start = self.startTime()
        registry.read(MetricNames.processStartTime) { start }
        registry.read(MetricNames.processOpenFiles) { self.openFiles() }
        registry.read(MetricNames.processMaxFiles) { self.maxFiles() }
        registry.read(MetricNames.processResidentMemory) { self.residentBytes() }
        registry.read(MetricNames.processCPU) { self.cpuSeconds() }
    }

    /// Returns the start time in seconds since the epoch. Field 22 of `/proc/self/stat` is in clock ticks since boot.
    static func startTime() -> Double {
        var now = timespec()
        var sinceBoot = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
        // The program's name is in brackets and may contain brackets and spaces. The other fields follow the last
        // bracket.
        let fields = self.text(of: "/proc/self/stat")
        guard let name = fields.lastIndex(of: ")") else { return .nan }
        let rest = fields[name...].split(separator: " ")
        guard rest.count > 20, let ticks = Double(rest[20]) else { return .nan }
        let boot = Double(now.tv_sec - sinceBoot.tv_sec) + Double(now.tv_nsec - sinceBoot.tv_nsec) / 1e9
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    static func residentBytes() -> Double {
        let fields = self.text(of: "/proc/self/statm").split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return .nan }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func openFiles() -> Double {
        guard let directory = opendir("/proc/self/fd") else { return .nan }
        defer { closedir(directory) }
        // Does not count ".", ".." and the descriptor of the directory itself.
        var count = -3
        while readdir(directory) != nil {
            count += 1
        }
        return Double(count)
    }

    static func maxFiles() -> Double {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .nan }
        return Double(limit.rlim_cur)
    }

    static func cpuSeconds() -> Double {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .nan }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Returns up to the first 4 KiB of a file; empty if it cannot be read.
    private static func text(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        // One `read` returns a whole `/proc` file of this size.
        return String(unsafeUninitializedCapacity: 4096) { bytes in
            max(0, Glibc.read(descriptor, bytes.baseAddress, bytes.count))
        }
    }
}
