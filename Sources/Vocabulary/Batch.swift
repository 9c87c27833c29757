/// Collects elements during one tick of an event loop, to process them together. Its memory is kept from tick to tick,
/// because an allocation of this size makes the system's allocator do slow housekeeping. Confined to its loop.
///
/// It is inlinable, because it would not be specialised in other modules otherwise. For `package` types Swift does that
/// only when they are usable from inline themselves.
@usableFromInline
package final class Batch<Element> {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var spare: [Element] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { self.elements.isEmpty }

    @inlinable package func append(_ element: Element) { self.elements.append(element) }

    /// Removes all elements and calls `body` with each. Elements that are added meanwhile are kept for the next call.
    @inlinable package func drain(_ body: (Element) -> Void) {
        if self.elements.isEmpty { return }
        var taken: [Element] = []
        swap(&taken, &self.elements)
        swap(&self.elements, &self.spare)
        // Taken one by one: iterating would count references, and emptying the array afterwards costs more than this.
        taken.reverse()
        while let element = taken.popLast() { body(element) }
        self.spare = taken
    }
}
