import Dispatch
import Glibc
import Vocabulary

/// A low-priority thread that ends with its work.
///
/// A password hash takes a core for tens of milliseconds. At low priority, it yields the core to an event loop with
/// work at once. Under constant load, a hash still gets a tenth of a core.
///
/// Swift's and Dispatch's threads are shared, and an unprivileged thread cannot raise its priority again. So `run`
/// prefers a thread of its own.
enum BackgroundThread {
    /// The niceness. A higher value or `SCHED_IDLE` would delay sign-ins too long while the loops are busy.
    private static let niceness: Int32 = 10

    /// Runs `body` on a new thread, or on a thread of Dispatch if the system provides no new one.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let code = SystemThread.start {
            // On Linux, this sets the priority of the calling thread, not of the process.
            _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
            body()
        }
        if code != 0 { DispatchQueue.global().async(execute: body) }
    }
}
