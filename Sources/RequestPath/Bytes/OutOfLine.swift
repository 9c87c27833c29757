/// Stores a large value behind a reference, so that an enum with a rarely used large case stays small.
package final class OutOfLine<Value: Sendable>: Sendable {
    package let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
