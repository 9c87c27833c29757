/// What one tick of an event loop collects and then does together. Its room is kept from tick to tick: an allocation of
/// this size has the system's allocator tidy up, which costs more than what is collected. Confined to its loop.
///
/// Inlinable, or it would not be specialised in other modules; for `package` types Swift takes heed of that only when they
/// are usable from inline themselves.
@usableFromInline
package final class Batch<Element> {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var spare: [Element] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { self.elements.isEmpty }

    @inlinable package func append(_ element: Element) { self.elements.append(element) }

    /// Takes out all that is there and calls `body` with each; what is added meanwhile is for the next time.
    @inlinable package func drain(_ body: (Element) -> Void) {
        var taken = self.spare
        self.spare = []
        swap(&taken, &self.elements)
        for element in taken { body(element) }
        taken.removeAll(keepingCapacity: true)
        self.spare = taken
    }
}
