/// A large value that few requests have. It is stored out of line because every request pays for the size of its
/// actions.
package final class OutOfLine<Value: Sendable>: Sendable {
    package let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
