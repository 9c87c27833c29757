import HeapModule
package import Vocabulary

/// A queue of elements by the time when they are due. Removing a due element takes O(log n) time.
///
/// Elements are never removed from the middle. An unneeded element is returned when it is due, or dropped by `compact`.
package struct DeadlineQueue<Element: Sendable>: Sendable {
    private struct Entry: Comparable {
        let due: UnixTime
        let element: Element

        // Only times are compared: elements due at the same time are returned in any order.
        static func < (left: Entry, right: Entry) -> Bool { left.due < right.due }
        static func == (left: Entry, right: Entry) -> Bool { left.due == right.due }
    }

    private var heap = Heap<Entry>()

    package init() {}

    package var count: Int { self.heap.count }

    /// Adds `element`, due at `due`.
    package mutating func push(_ element: Element, due: UnixTime) {
        self.heap.insert(Entry(due: due, element: element))
    }

    /// Removes and returns the earliest element if it is due at `now`.
    package mutating func popDue(at now: UnixTime) -> Element? { self.popFirst(dueAt: now)?.element }

    /// Removes and returns the earliest element with its due time, if it is due at `now`.
    package mutating func popFirst(dueAt now: UnixTime) -> (element: Element, due: UnixTime)? {
        guard let first = self.heap.min, first.due <= now else { return nil }
        let entry = self.heap.removeMin()
        return (entry.element, entry.due)
    }

    /// Drops every element that `isWanted` rejects.
    package mutating func compact(keeping isWanted: (_ element: Element, _ due: UnixTime) -> Bool) {
        self.heap = Heap(self.heap.unordered.filter { isWanted($0.element, $0.due) })
    }
}
