import Glibc
import Synchronization
import Testing

/// Blocks a thread until it is opened.
final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)

    func open() { self.isOpen.store(true, ordering: .releasing) }

    /// Waits far longer than a test may take, but not forever: the thread belongs to all tests.
    func wait() {
        let end = ContinuousClock.now + .seconds(60)
        while !self.isOpen.load(ordering: .acquiring) {
            guard ContinuousClock.now < end else {
                Issue.record("a gate that is not opened")
                return
            }
            sched_yield()
        }
    }
}

/// An event that has happened or not.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { self.value.load(ordering: .acquiring) }

    func raise() { self.value.store(true, ordering: .releasing) }
}
