import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// Starts threads that write or read lines, so that no event loop waits for an output.
enum OutputThread {
    /// Runs `body` on a new thread on which every signal is blocked. A reader that disappears raises SIGPIPE on the
    /// writing thread, and this must never end the process, however the process handles SIGPIPE elsewhere. Other
    /// threads handle all other signals.
    ///
    /// - Returns: 0, or the system's error number if no thread could be started.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        SystemThread.start {
            var signals = sigset_t()
            sigfillset(&signals)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            body()
        }
    }
}
