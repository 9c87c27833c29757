import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Ports for servers that are stopped and started again.
///
/// They are below the range from which the system takes the ports of outgoing connections. Otherwise a client that
/// tries to connect while the server is down could be given the server's own port, and connect to itself.
package enum ServerPorts {
    private static let range = 11_000..<21_000
    private static let next = Mutex(Int.random(in: range))

    /// The distance from a port to that of Redis Cluster's bus.
    private static let busOffset = 10_000

    /// A free port whose port for the cluster bus is also free. It is never returned twice.
    package static func take() throws -> Int {
        for _ in self.range {
            let port = self.next.withLock { next in
                next = next + 1 < self.range.upperBound ? next + 1 : self.range.lowerBound
                return next
            }
            if Self.isFree(port), Self.isFree(port + self.busOffset) { return port }
        }
        throw BenchFailure("no port is free")
    }

    /// The first of `count` consecutive free ports. None of them is returned again.
    package static func take(inRow count: Int) throws -> Int {
        for _ in self.range {
            let first = self.next.withLock { next in
                let first = next + count < self.range.upperBound ? next + 1 : self.range.lowerBound
                next = first + count - 1
                return first
            }
            if (first..<first + count).allSatisfy(Self.isFree) { return first }
        }
        throw BenchFailure("no \(count) ports in a row are free")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        return Wire.withAddress("127.0.0.1", port) { bind(descriptor, $0, $1) } == 0
    }
}
