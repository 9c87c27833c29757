import Dispatch
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A thread of a low priority that ends with its work.
///
/// At the same priority, a hash that takes tens of milliseconds keeps a core for some of them while a request waits for
/// it. At a low one, an event loop that has work gets the core at once. Hashes still advance when the loops never rest:
/// then a thread gets a tenth of a core.
///
/// The threads of Swift and Dispatch are shared, and without privileges no thread can get its priority back, so the
/// work has threads of its own.
enum BackgroundThread {
    /// Not more, nor `SCHED_IDLE`: beside busy loops a sign-in would take so long that its client gives up.
    private static let niceness: Int32 = 10

    /// Runs `body` on a new thread. If the system gives none, one of Dispatch's threads runs it.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let code = SystemThread.start {
            // On Linux, this is the priority of the calling thread, not of the process.
            _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
            body()
        }
        if code != 0 { DispatchQueue.global().async(execute: body) }
    }
}
