import Dispatch
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A network namespace for one test: a loopback interface that nobody else uses, and few local ports.
package enum OwnNetwork {
    private static let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET

    /// Runs `body` on a thread of its own in a new network. The threads and processes that `body` starts are in the same
    /// network. Ends the test as skipped where this is not allowed.
    ///
    /// - Parameters:
    ///     - ports: The local ports of connections and of listeners without a given port.
    ///     - body: Returns what the test then checks, because an expectation in it belongs to no test.
    package static func run<Value: Sendable>(
        ports: ClosedRange<Int>,
        _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        guard getuid() == 0, let program = Servers.find(["/usr/sbin/ip", "/sbin/ip"]),
            try Servers.run("/usr/bin/unshare", ["--net", "true"]).status == 0
        else { try Servers.missing("a namespace for a network", isOptional: true) }
        let result = Mutex<Result<Value, any Error>?>(nil)
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let own = Result {
                try Self.enter(ports, program)
                return try body()
            }
            result.withLock { $0 = own }
            end.signal()
        }
        end.wait()
        guard let own = result.withLock({ $0 }) else { throw BenchFailure("no result") }
        return try own.get()
    }

    /// Moves the thread into a new network.
    private static func enter(_ ports: ClosedRange<Int>, _ program: String) throws {
        // Glibc's module lacks it.
        guard let symbol = dlsym(nil, "unshare") else { throw BenchFailure("no unshare") }
        let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
        guard unshare(self.newNetwork) == 0 else { throw BenchFailure("unshare: \(errno)") }
        let result = try Servers.run(program, ["link", "set", "lo", "up"])
        guard result.status == 0 else { throw BenchFailure(result.output) }
        try "\(ports.lowerBound) \(ports.upperBound)".write(
            toFile: "/proc/sys/net/ipv4/ip_local_port_range",
            atomically: false,
            encoding: .utf8
        )
    }
}
