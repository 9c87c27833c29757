#if canImport(Glibc)
import Glibc
#endif

/// Starts threads that write or read lines, so that no event loop waits for an output.
enum OutputThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a new thread, on which every signal is blocked: a reader that goes away raises SIGPIPE on the writing
    /// thread, and it must never end the process, whatever the process does with the signal elsewhere. Other threads
    /// handle the other signals.
    ///
    /// - Returns: The system's error number if it gives no thread, else 0.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                var signals = sigset_t()
                sigfillset(&signals)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        if code == 0 { pthread_detach(thread) } else { work.release() }
        return code
    }
}
