import CLinux
import Glibc
import Synchronization

/// A queue of tasks for a loop from other threads. Only the first task since the loop's last `take` wakes the loop.
final class LoopMail: Sendable {
    private struct Box {
        var tasks: [@Sendable () -> Void] = []
        var isOpen = true
    }

    private let box = Mutex(Box())
    private let hasTasks = Atomic<Bool>(false)
    /// An eventfd(2) that wakes the loop. It is never read, because the loop polls it edge-triggered.
    let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Adds a task, and returns false if the loop has ended.
    func post(_ task: @escaping @Sendable () -> Void) -> Bool {
        let (isOpen, wakes) = self.box.withLock { box in
            guard box.isOpen else { return (false, false) }
            box.tasks.append(task)
            return (true, !self.hasTasks.exchange(true, ordering: .relaxed))
        }
        if wakes { eventfd_write(self.descriptor, 1) }
        return isOpen
    }

    /// True unless tasks have been added since the last `take`.
    @inline(__always) var isEmpty: Bool { !self.hasTasks.load(ordering: .relaxed) }

    /// Removes the added tasks and returns them.
    func take() -> [@Sendable () -> Void] {
        self.box.withLock { box in
            self.hasTasks.store(false, ordering: .relaxed)
            defer { box.tasks = [] }
            return box.tasks
        }
    }

    /// Rejects further tasks. Returns the tasks that have been added.
    func close() -> [@Sendable () -> Void] {
        self.box.withLock { box in
            box.isOpen = false
            defer { box.tasks = [] }
            return box.tasks
        }
    }
}
