import Glibc

/// Starts threads for work that blocks, never ends, or changes the state of its thread. Such work must not run on the
/// threads of Swift or Dispatch.
package enum SystemThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a new thread. The thread ends when `body` returns.
    ///
    /// - Returns: 0, or the system's error number if no thread could be created and `body` does not run.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        if code == 0 { pthread_detach(thread) } else { work.release() }
        return code
    }
}
