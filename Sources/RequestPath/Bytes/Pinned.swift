/// A reference, without a reference count, to a part of a request's configuration (such as its route) or of its loop.
///
/// A request uses these parts many times. With a counted reference, each use would retain and release an object that
/// all loops share: two atomic operations. The configuration and the loop keep their parts alive, and the code that
/// judges or forwards a request holds the configuration and the loop until the request has ended.
package struct Pinned<Part: AnyObject> {
    private let part: Unmanaged<Part>

    @inline(__always)
    package init(_ part: Part) {
        self.part = .passUnretained(part)
    }

    /// The part as a counted reference.
    package var counted: Part { self.part.takeUnretainedValue() }

    /// Lends the part to `body`, a closure: a key path of two steps would be created and followed at run time.
    @inline(__always)
    func use<Value>(_ body: (Part) -> Value) -> Value { self.part._withUnsafeGuaranteedRef { body($0) } }

    /// Lends the part to `body`, which may return a noncopyable value. The standard library's function does not allow
    /// noncopyable values.
    @inline(__always)
    func lend<Value: ~Copyable>(_ body: (Part) -> Value) -> Value {
        var value: Value?
        self.part._withUnsafeGuaranteedRef { value = body($0) }
        guard let value = value.take() else { preconditionFailure("a closure that was called has returned nothing") }
        return value
    }
}

extension Pinned: Sendable where Part: Sendable {}
