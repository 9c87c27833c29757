package import Vocabulary

/// A binary min-heap of what is due when: finding what has expired costs the logarithm of what has not.
package struct DeadlineQueue<Element: Sendable>: Sendable {
    private var heap: [(due: UnixTime, element: Element)] = []

    package init() {}

    package var count: Int { self.heap.count }

    /// Adds `element`, due at `due`.
    package mutating func push(_ element: Element, due: UnixTime) {
        self.heap.append((due, element))
        self.rise(from: self.heap.count - 1)
    }

    /// Takes out the earliest element if it is due at `now`.
    package mutating func popDue(at now: UnixTime) -> Element? {
        guard let first = self.heap.first, first.due <= now else { return nil }
        let last = self.heap.removeLast()
        if !self.heap.isEmpty {
            self.heap[0] = last
            self.sink(from: 0)
        }
        return first.element
    }

    /// Drops every element for which `isWanted` is false.
    package mutating func compact(keeping isWanted: (Element) -> Bool) {
        self.heap.removeAll { !isWanted($0.element) }
        for index in stride(from: self.heap.count / 2 - 1, through: 0, by: -1) {
            self.sink(from: index)
        }
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard self.heap[index].due < self.heap[parent].due else { return }
            self.heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func sink(from start: Int) {
        var index = start
        while true {
            var least = index
            let left = 2 * index + 1
            if left < self.heap.count, self.heap[left].due < self.heap[least].due { least = left }
            if left + 1 < self.heap.count, self.heap[left + 1].due < self.heap[least].due { least = left + 1 }
            guard least != index else { return }
            self.heap.swapAt(index, least)
            index = least
        }
    }
}
