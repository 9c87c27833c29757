/// An uncounted reference to a part of a request's configuration (such as its route) or of its event loop.
///
/// Counting references to objects that all loops share would cost two atomic operations per use. The part must outlive
/// the reference: a request holds its configuration and loop until it ends.
package struct Pinned<Part: AnyObject> {
    private let part: Unmanaged<Part>

    @inline(__always)
    package init(_ part: Part) {
        self.part = .passUnretained(part)
    }

    /// The part as a counted reference.
    package var counted: Part { self.part.takeUnretainedValue() }

    /// Passes the part to `body` without counting the reference.
    @inline(__always)
    func use<Value>(_ body: (Part) -> Value) -> Value { self.part._withUnsafeGuaranteedRef { body($0) } }

    /// Passes the part to `body`. Unlike `_withUnsafeGuaranteedRef`, allows `body` to return a noncopyable value.
    @inline(__always)
    func lend<Value: ~Copyable>(_ body: (Part) -> Value) -> Value {
        var value: Value?
        self.part._withUnsafeGuaranteedRef { value = body($0) }
        guard let value = value.take() else { preconditionFailure("a closure that was called has returned nothing") }
        return value
    }
}

extension Pinned: Sendable where Part: Sendable {}
