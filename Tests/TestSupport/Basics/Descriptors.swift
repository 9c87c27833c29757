import Glibc

/// The open descriptors of the test process.
package enum Descriptors {
    /// Foundation's `Process.run` copies the entries of `/proc/self/fd` whole. With more than about 1,300 of them it reads
    /// past the end of the list, which can end the process.
    private static let most = 900

    /// Waits until there are few enough to start a process, for at most 20 seconds.
    package static func awaitFew() async throws {
        for _ in 0..<1000 where self.count() > self.most { try await Task.sleep(for: .milliseconds(20)) }
    }

    private static func count() -> Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}
