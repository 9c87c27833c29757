import HeapModule
import NIOCore

/// A task that runs at a time, unless it is cancelled. Used on its loop.
final class LoopTimer: @unchecked Sendable {
    let deadline: NIODeadline
    /// nil: it has run or is cancelled.
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

    /// Tells the owner that the task will not run.
    func end(_ error: any Error) {
        let fail = self.fail
        self.cancel()
        fail?(error)
    }
}

/// The timers of one loop, the earliest first. Cancelled ones are removed when their time comes, or together when they
/// are more than half.
struct LoopTimers {
    private struct Entry: Comparable {
        let timer: LoopTimer
        /// Timers of the same time run in the order in which they were added.
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

    /// When the next timer is due; nil: there is none.
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
