import HeapModule
package import Vocabulary

/// A queue of elements with due times. Removing an element that is due takes O(log n) time.
///
/// Other elements cannot be removed one by one. An unneeded element stays until it is due or `compact` drops it.
package struct DeadlineQueue<Element: Sendable>: Sendable {
    private struct Entry: Comparable {
        let due: UnixTime
        let element: Element

        // Only times are compared. Elements with equal times are returned in any order.
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

    /// Removes and returns the earliest element if it is due at `now`; otherwise `nil`.
    package mutating func popDue(at now: UnixTime) -> Element? { self.popFirst(dueAt: now)?.element }

    /// Removes and returns the earliest element and its due time, if it is due at `now`; otherwise `nil`.
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
