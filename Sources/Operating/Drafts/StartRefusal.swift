/// The gateway cannot start with these settings.
package struct StartRefusal: Error, CustomStringConvertible {
    /// The setting, and what is wrong with it.
    package let description: String

    package init(description: String) {
        self.description = description
    }

    /// Returns the result of `make`. Turns any error into a `StartRefusal`.
    ///
    /// - Parameter setting: The text to put before the error.
    package static func naming<Value>(_ setting: String, _ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch {
            throw StartRefusal(description: "\(setting)\(error)")
        }
    }
}
