import Glibc
import Synchronization

/// Blocks a thread until it is opened.
final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)

    func open() { self.isOpen.store(true, ordering: .releasing) }

    func wait() {
        while !self.isOpen.load(ordering: .acquiring) { sched_yield() }
    }
}

/// An event that has happened or not.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { self.value.load(ordering: .acquiring) }

    func raise() { self.value.store(true, ordering: .releasing) }
}
