/// A reference to a part of a request's configuration, such as its route, or of its loop, that is not counted.
///
/// A request uses these parts many times, and each use would count twice, with atomic operations on objects that all
/// loops share. The configuration and the loop never let go of their parts, and whoever judges or forwards a request keeps
/// both until the request has ended.
package struct Pinned<Part: AnyObject> {
    private let part: Unmanaged<Part>

    @inline(__always)
    package init(_ part: Part) {
        self.part = .passUnretained(part)
    }

    /// The part, as a counted reference.
    package var counted: Part { self.part.takeUnretainedValue() }

    /// Lends the part to `body`. A closure and no key path: one with two steps is made and followed at run time.
    @inline(__always)
    func use<Value>(_ body: (Part) -> Value) -> Value { self.part._withUnsafeGuaranteedRef { body($0) } }

    /// Lends the part to `body`, which may return a value that cannot be copied. The standard library's function does not
    /// allow that.
    @inline(__always)
    func lend<Value: ~Copyable>(_ body: (Part) -> Value) -> Value {
        var value: Value?
        self.part._withUnsafeGuaranteedRef { value = body($0) }
        guard let value = value.take() else { preconditionFailure("a closure that was called has returned nothing") }
        return value
    }
}

extension Pinned: Sendable where Part: Sendable {}
