/// A large value that few requests have. Stored out of line, because it would enlarge the actions of all requests.
package final class OutOfLine<Value: Sendable>: Sendable {
    package let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
