import Glibc

/// A mutex with two conditions: one wakes the writer thread, the other wakes a flush. `Synchronization.Mutex` has no
/// conditions.
///
/// Callers must access the guarded state only between `lock` and `unlock`.
final class Monitor: @unchecked Sendable {
    enum Condition {
        /// There is work for the writer thread.
        case work
        /// Lines have been written.
        case progress
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let work = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let progress = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        self.mutex.initialize(to: pthread_mutex_t())
        self.work.initialize(to: pthread_cond_t())
        self.progress.initialize(to: pthread_cond_t())
        pthread_mutex_init(self.mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // With the monotonic clock, a change of the system's time does not move deadlines.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(self.work, &attributes)
        pthread_cond_init(self.progress, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(self.progress)
        pthread_cond_destroy(self.work)
        pthread_mutex_destroy(self.mutex)
        self.progress.deallocate()
        self.work.deallocate()
        self.mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(self.mutex) }
    func unlock() { pthread_mutex_unlock(self.mutex) }

    func withLock<Result>(_ body: () -> Result) -> Result {
        self.lock()
        defer { self.unlock() }
        return body()
    }

    /// Sleeps until the condition is signalled. The caller must hold the lock, and holds it again on return.
    func wait(for condition: Condition) {
        pthread_cond_wait(self.pointer(condition), self.mutex)
    }

    /// Sleeps until the condition is signalled or the deadline passes. Returns false if the deadline has passed.
    func wait(for condition: Condition, until deadline: Deadline) -> Bool {
        var time = deadline.time
        return pthread_cond_timedwait(self.pointer(condition), self.mutex, &time) != ETIMEDOUT
    }

    func signal(_ condition: Condition) {
        pthread_cond_signal(self.pointer(condition))
    }

    func broadcast(_ condition: Condition) {
        pthread_cond_broadcast(self.pointer(condition))
    }

    private func pointer(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
        switch condition {
        case .work: self.work
        case .progress: self.progress
        }
    }
}

/// A point on the monotonic clock.
struct Deadline: Comparable {
    private let nanoseconds: Int

    /// Makes a deadline `duration` from now.
    init(in duration: Duration) {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let (seconds, attoseconds) = duration.components
        let whole = now.tv_sec + Int(seconds)
        self.nanoseconds = whole * 1_000_000_000 + now.tv_nsec + Int(attoseconds / 1_000_000_000)
    }

    fileprivate var time: timespec {
        timespec(tv_sec: self.nanoseconds / 1_000_000_000, tv_nsec: self.nanoseconds % 1_000_000_000)
    }

    static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }
}
