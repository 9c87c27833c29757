import Dispatch
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A low-priority thread that ends with its work.
///
/// At normal priority, a hash that takes tens of milliseconds keeps a core busy while a request waits. At low priority,
/// an event loop that has work gets the core at once. Hashes still advance when the loops are always busy: a thread
/// then gets a tenth of a core.
///
/// The threads of Swift and Dispatch are shared, and without privileges no thread can raise its priority again. So the
/// work has its own threads.
enum BackgroundThread {
    /// The niceness. At a higher value, or with `SCHED_IDLE`, busy loops would delay sign-ins until clients give up.
    private static let niceness: Int32 = 10

    /// Runs `body` on a new thread. If the system provides no thread, one of Dispatch's threads runs `body`.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let code = SystemThread.start {
            // On Linux, this is the priority of the calling thread, not of the process.
            _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
            body()
        }
        if code != 0 { DispatchQueue.global().async(execute: body) }
    }
}
