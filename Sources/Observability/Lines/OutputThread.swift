import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// Starts threads that write or read lines, so that no event loop waits for an output.
enum OutputThread {
    /// Runs `body` on a new thread, on which every signal is blocked: a reader that goes away raises SIGPIPE on the writing
    /// thread, and it must never end the process, whatever the process does with the signal elsewhere. Other threads
    /// handle the other signals.
    ///
    /// - Returns: 0, or the system's error number if it has no thread left.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        SystemThread.start {
            var signals = sigset_t()
            sigfillset(&signals)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            body()
        }
    }
}
