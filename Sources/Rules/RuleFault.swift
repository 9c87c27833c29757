/// Why a condition cannot be used, in words for the operator who wrote it.
package struct RuleFault: Error, Sendable, Equatable {
    /// Unicode scalars of the condition before the place of the fault.
    package var offset: Int
    package var found: String
    package var allowed: String
    /// What to do.
    package var mend: String
}
