/// Collects elements during one turn of an event loop, to process them together. The memory is reused in the next turn,
/// because the system's allocator is slow for allocations of this size. Confined to its loop.
///
/// The class is inlinable, because other modules would otherwise not specialise it. Swift specialises `package` types
/// only if they are usable from inline.
@usableFromInline
package final class Batch<Element> {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var spare: [Element] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { self.elements.isEmpty }

    @inlinable package func append(_ element: Element) { self.elements.append(element) }

    /// Removes all elements and calls `body` with each. Elements that `body` adds wait for the next call.
    @inlinable package func drain(_ body: (Element) -> Void) {
        if self.elements.isEmpty { return }
        var taken: [Element] = []
        swap(&taken, &self.elements)
        swap(&self.elements, &self.spare)
        // Popped one by one, because iterating would retain each element, and then emptying the array would cost more.
        taken.reverse()
        while let element = taken.popLast() { body(element) }
        self.spare = taken
    }
}
