/// Collects elements during one turn of an event loop, to process them together. Confined to its loop.
///
/// The arrays are reused, because allocating them in each turn would be slow. Everything is inlinable, so that other
/// modules can specialise the class.
@usableFromInline
package final class Batch<Element> {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var spare: [Element] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { self.elements.isEmpty }

    @inlinable package func append(_ element: Element) { self.elements.append(element) }

    /// Calls `body` with each element and removes all. Elements that `body` appends wait for the next call.
    @inlinable package func drain(_ body: (Element) -> Void) {
        if self.elements.isEmpty { return }
        var taken: [Element] = []
        swap(&taken, &self.elements)
        swap(&self.elements, &self.spare)
        // Popping moves each element out. Iterating would retain each element and leave the array to be emptied.
        taken.reverse()
        while let element = taken.popLast() { body(element) }
        self.spare = taken
    }
}
