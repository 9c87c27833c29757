/// The error for settings that keep the gateway from starting.
package struct StartRefusal: Error, CustomStringConvertible {
    /// The setting, and why the gateway cannot start with it.
    package let description: String

    package init(description: String) {
        self.description = description
    }

    /// Returns the result of `make`, and turns its error into a `StartRefusal`.
    ///
    /// - Parameter setting: The beginning of the description, placed before the error.
    package static func naming<Value>(_ setting: String, _ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch {
            throw StartRefusal(description: "\(setting)\(error)")
        }
    }
}
