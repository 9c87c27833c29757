/// The error for settings that name something with which the gateway cannot start.
package struct StartRefusal: Error, CustomStringConvertible {
    /// Names the setting, and says why the gateway cannot start with it.
    package let description: String

    package init(description: String) {
        self.description = description
    }

    /// Returns the result of `make`, and turns its error into a refusal to start.
    ///
    /// - Parameter setting: The beginning of the description.
    package static func naming<Value>(_ setting: String, _ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch {
            throw StartRefusal(description: "\(setting)\(error)")
        }
    }
}
