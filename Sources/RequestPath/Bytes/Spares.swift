/// A pool of objects for reuse.
package struct Spares<Element> {
    private var elements: [Element] = []
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    package var count: Int { self.elements.count }

    /// Removes and returns the most recently kept element. Returns `nil` if the pool is empty.
    @inline(__always)
    package mutating func take() -> Element? { self.elements.popLast() }

    @inline(__always)
    package mutating func keep(_ element: Element) {
        if self.elements.count < self.limit { self.elements.append(element) }
    }

    /// Frees the objects beyond `count`.
    package mutating func shrink(to count: Int) {
        self.elements.removeLast(max(0, self.elements.count - count))
    }
}
