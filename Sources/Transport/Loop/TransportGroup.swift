import CLinux
package import Dispatch
import Glibc
package import NIOCore
import Synchronization
import Vocabulary

/// A group of event loops, each on its own thread.
package final class TransportGroup: EventLoopGroup {
    package let loops: [TransportLoop]
    private let turn = Atomic<Int>(0)

    /// Starts the threads.
    ///
    /// - Throws: `IOError` if the system has no descriptors or threads left.
    package init(count: Int) throws {
        self.loops = try (0..<count).map { _ in try TransportLoop() }
        for (index, loop) in self.loops.enumerated() { try Self.start(loop, name: "loop-\(index)") }
    }

    private static func start(_ loop: TransportLoop, name: String) throws {
        let code = SystemThread.start {
            pthread_setname_np(pthread_self(), name)
            sallyport_use_signal_stack()
            loop.run()
        }
        guard code == 0 else { throw IOError(errnoCode: code, reason: "pthread_create") }
    }

    /// Returns the next loop, in rotation.
    package func next() -> any EventLoop {
        let turn = UInt(bitPattern: self.turn.wrappingAdd(1, ordering: .relaxed).oldValue)
        return self.loops[Int(turn % UInt(self.loops.count))]
    }

    /// Returns the current loop, so that work stays on its thread. Returns `next()` if the caller is not on a loop.
    package func any() -> any EventLoop {
        self.loops.first { $0.inEventLoop } ?? self.next()
    }

    package func makeIterator() -> EventLoopIterator { EventLoopIterator(self.loops) }

    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        let left = Mutex(self.loops.count)
        for loop in self.loops {
            loop.shutdownGracefully(queue: queue) { _ in
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { callback(nil) }
            }
        }
    }
}
