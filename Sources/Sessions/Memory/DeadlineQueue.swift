internal import HeapModule
package import Vocabulary

/// What is due when: finding what has expired costs the logarithm of what has not.
///
/// Nothing is taken out of the middle: what has gone before its time comes out when it is due, or is dropped by `compact`.
package struct DeadlineQueue<Element: Sendable>: Sendable {
    private struct Entry: Comparable {
        let due: UnixTime
        let element: Element

        // Only times are compared: what is due at the same time comes in any order.
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

    /// Takes out the earliest element if it is due at `now`.
    package mutating func popDue(at now: UnixTime) -> Element? {
        guard let first = self.heap.min, first.due <= now else { return nil }
        return self.heap.removeMin().element
    }

    /// Drops every element for which `isWanted` is false.
    package mutating func compact(keeping isWanted: (Element) -> Bool) {
        self.heap = Heap(self.heap.unordered.filter { isWanted($0.element) })
    }
}
