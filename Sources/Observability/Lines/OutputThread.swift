import Glibc
import Vocabulary

/// Starts threads that read or write lines. Event loops never wait for an output.
enum OutputThread {
    /// Runs `body` on a new thread that blocks all signals. Without that, SIGPIPE would end the process when a thread
    /// writes to a closed pipe.
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
