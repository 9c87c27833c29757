/// Objects that wait to be used again, so that requests need not make their own.
package struct Spares<Element> {
    private var elements: [Element] = []
    /// The most that are kept.
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    package var count: Int { self.elements.count }

    /// The element that was kept last. `nil` if there is none.
    @inline(__always)
    package mutating func take() -> Element? { self.elements.popLast() }

    @inline(__always)
    package mutating func keep(_ element: Element) {
        if self.elements.count < self.limit { self.elements.append(element) }
    }

    /// Frees the elements beyond `count`, which a burst has left behind.
    package mutating func shrink(to count: Int) {
        self.elements.removeLast(max(0, self.elements.count - count))
    }
}
