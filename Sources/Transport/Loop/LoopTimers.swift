import HeapModule
import NIOCore

/// A task that runs at a deadline, unless it is cancelled. Used on its loop only.
final class LoopTimer: @unchecked Sendable {
    let deadline: NIODeadline
    /// The task; `nil` once it has run or has been cancelled.
    private var work: (() -> Void)?
    private var fail: ((any Error) -> Void)?

    init(_ deadline: NIODeadline, work: @escaping () -> Void, fail: @escaping (any Error) -> Void) {
        self.deadline = deadline
        self.work = work
        self.fail = fail
    }

    var isCancelled: Bool { self.work == nil }

    func run() {
        let work = self.work
        self.cancel()
        work?()
    }

    func cancel() {
        self.work = nil
        self.fail = nil
    }

    /// Cancels the task and fails its future with the error.
    func end(_ error: any Error) {
        let fail = self.fail
        self.cancel()
        fail?(error)
    }
}

/// The timers of one loop, ordered by deadline. Cancelled timers are removed when they are due, or all at once when
/// more than 32 timers and more than half of all timers are cancelled.
struct LoopTimers {
    private struct Entry: Comparable {
        let timer: LoopTimer
        /// Timers with equal deadlines run in the order in which they were added.
        let order: UInt64

        static func == (left: Entry, right: Entry) -> Bool { left.order == right.order }
        static func < (left: Entry, right: Entry) -> Bool {
            (left.timer.deadline, left.order) < (right.timer.deadline, right.order)
        }
    }

    private var heap = Heap<Entry>()
    private var order: UInt64 = 0
    private var cancelledCount = 0

    mutating func add(_ timer: LoopTimer) {
        self.order += 1
        self.heap.insert(Entry(timer: timer, order: self.order))
    }

    mutating func cancel(_ timer: LoopTimer) {
        guard !timer.isCancelled else { return }
        timer.cancel()
        self.cancelledCount += 1
        guard self.cancelledCount > 32, self.cancelledCount > self.heap.count / 2 else { return }
        self.heap = Heap(self.heap.unordered.filter { !$0.timer.isCancelled })
        self.cancelledCount = 0
    }

    /// The deadline of the next timer; `nil` if there are no timers.
    var next: NIODeadline? { self.heap.min?.timer.deadline }

    mutating func popDue(_ now: NIODeadline) -> LoopTimer? {
        while let entry = self.heap.min, entry.timer.deadline <= now {
            self.heap.removeMin()
            if !entry.timer.isCancelled { return entry.timer }
            self.cancelledCount -= 1
        }
        return nil
    }

    mutating func removeAll() -> [LoopTimer] {
        defer { self.heap = Heap() }
        return self.heap.unordered.map(\.timer)
    }
}
