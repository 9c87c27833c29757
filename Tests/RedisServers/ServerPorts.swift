import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// The loopback address of every server of the tests.
package let loopback = "127.0.0.1"

/// Ports for servers that are stopped and started again.
///
/// They are below the range from which the system takes the ports of outgoing connections. Otherwise a client that
/// tries to connect while the server is down could be given the server's own port, and connect to itself.
package enum ServerPorts {
    private static let range = 11_000..<21_000
    private static let next = Mutex(Int.random(in: range))

    /// What Redis Cluster adds to a port for its bus.
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
        throw ServerFailure("no port is free")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr(loopback)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

/// A server that does not do what a test expects of it.
package struct ServerFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
