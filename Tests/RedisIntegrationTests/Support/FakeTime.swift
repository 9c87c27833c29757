import Foundation
import GatewayBench
import RedisServers

/// A machine with a wrong clock, simulated by libfaketime.
enum FakeTime {
    /// Variables that put a process's wall clock ahead by `skew`. Its monotonic clock is not changed.
    ///
    /// - Throws: `BenchFailure` if the library is not installed.
    static func environment(aheadBy skew: Duration) throws -> [String: String] {
        let libraries = URL(filePath: "/usr/lib")
        let folders = try FileManager.default.contentsOfDirectory(at: libraries, includingPropertiesForKeys: nil)
        let paths = folders.map { $0.appending(path: "faketime/libfaketimeMT.so.1").path }
        guard let library = paths.first(where: FileManager.default.fileExists) else {
            throw BenchFailure("libfaketime is missing: install the package faketime")
        }
        let seconds = skew.components.seconds
        // These are names for libfaketime's shared memory. If it has to choose them itself, it sets a variable. That
        // moves the environment away from the arguments, and Swift relies on its place to find the arguments.
        let name = "/sallyport-\(UUID())"
        return [
            "LD_PRELOAD": library, "FAKETIME_SHARED": "\(name)-semaphore \(name)-memory",
            "FAKETIME": "\(seconds < 0 ? "" : "+")\(seconds)s", "DONT_FAKE_MONOTONIC": "1",
        ]
    }
}
