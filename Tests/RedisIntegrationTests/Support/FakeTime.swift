import Foundation
import GatewayBench
import RedisServers

/// A machine's clock that is wrong, by libfaketime.
enum FakeTime {
    /// What makes a process take the time for so much later than it is. What measures intervals goes right.
    ///
    /// - Throws: `BenchFailure` when the library is not installed.
    static func environment(aheadBy skew: Duration) throws -> [String: String] {
        let libraries = URL(filePath: "/usr/lib")
        let folders = try FileManager.default.contentsOfDirectory(at: libraries, includingPropertiesForKeys: nil)
        let paths = folders.map { $0.appending(path: "faketime/libfaketimeMT.so.1").path }
        guard let library = paths.first(where: FileManager.default.fileExists) else {
            throw BenchFailure("libfaketime is missing: install the package faketime")
        }
        let seconds = skew.components.seconds
        // Names for its own memory. When it has to choose them, it sets a variable, which moves the environment away from
        // the arguments, and Swift finds those by where it lies.
        let name = "/sallyport-\(UUID())"
        return [
            "LD_PRELOAD": library, "FAKETIME_SHARED": "\(name)-semaphore \(name)-memory",
            "FAKETIME": "\(seconds < 0 ? "" : "+")\(seconds)s", "DONT_FAKE_MONOTONIC": "1",
        ]
    }
}
