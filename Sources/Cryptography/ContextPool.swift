import Synchronization

/// A pool of OpenSSL contexts for reuse, because making a context costs more than using it. One thread uses a context
/// at a time. Threads never wait: if the pool is busy or empty, the thread makes a new context.
final class ContextPool: Sendable {
    /// The maximum number of idle contexts. Further contexts are freed.
    private static let capacity = 32

    private struct Contexts: @unchecked Sendable {
        var idle: [OpaquePointer] = []
    }

    private let contexts = Mutex(Contexts())
    private let make: @Sendable () -> OpaquePointer
    private let free: @Sendable (OpaquePointer) -> Void

    init(make: @escaping @Sendable () -> OpaquePointer, free: @escaping @Sendable (OpaquePointer) -> Void) {
        self.make = make
        self.free = free
    }

    deinit {
        self.contexts.withLock { for context in $0.idle { self.free(context) } }
    }

    /// Runs `body` with a context. The context may have state from its last use.
    func with<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        let context = self.take()
        defer { self.giveBack(context) }
        return body(context)
    }

    private func take() -> OpaquePointer {
        let idle = self.contexts.withLockIfAvailable { Taken(pointer: $0.idle.popLast()) }
        return idle?.pointer ?? self.make()
    }

    private func giveBack(_ context: OpaquePointer) {
        let taken = Taken(pointer: context)
        let isKept = self.contexts.withLockIfAvailable { contexts in
            guard contexts.idle.count < Self.capacity, let pointer = taken.pointer else { return false }
            contexts.idle.append(pointer)
            return true
        }
        if isKept != true { self.free(context) }
    }

    /// Makes a pointer sendable, so that it can go into the mutex and come out.
    private struct Taken: @unchecked Sendable {
        let pointer: OpaquePointer?
    }
}
