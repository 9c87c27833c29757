package import Vocabulary

/// A judged device binding, for the access log and the metrics.
package struct JudgedBinding: Equatable, Sendable {
    /// The result of the judgement.
    package enum Outcome: String, CaseIterable, Sendable {
        case match, mismatch, unknown
        /// A mismatch that was accepted because the operator only tries the binding.
        case dryRun = "dry_run"

        /// Returns `nil` if the reason does not concern a binding.
        package init?(_ reason: Reason?) {
            switch reason {
            case .bindingIPMismatch, .bindingASNMismatch: self = .mismatch
            case .bindingASNUnknown: self = .unknown
            default: return nil
            }
        }
    }

    /// The properties that were compared.
    package var mode: BindingMode
    /// The result of the comparison.
    package var outcome: Outcome

    package init(mode: BindingMode, outcome: Outcome) {
        self.mode = mode
        self.outcome = outcome
    }

    /// The text for the log, such as `ip/mismatch`.
    package var text: String { "\(self.mode.rawValue)/\(self.outcome.rawValue)" }
}
