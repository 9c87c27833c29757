/// The reason why a condition cannot be used, in words for the operator who wrote it.
package struct RuleFault: Error, Sendable, Equatable {
    /// The number of Unicode scalars before the fault.
    package var offset: Int
    package var found: String
    package var allowed: String
    /// The advice to the operator.
    package var fix: String
}
