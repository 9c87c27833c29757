package import Vocabulary

/// The result of a check of a device binding, for the access log and the metrics.
package struct JudgedBinding: Equatable, Sendable {
    /// The result of the comparison.
    package enum Outcome: String, CaseIterable, Sendable {
        case match, mismatch, unknown
        /// A mismatch or unknown ASN that was accepted, because the operator only tries the binding (dry run).
        case dryRun = "dry_run"

        /// Returns `nil` if the reason is not about a binding.
        package init?(_ reason: Reason?) {
            switch reason {
            case .bindingIPMismatch, .bindingASNMismatch: self = .mismatch
            case .bindingASNUnknown: self = .unknown
            default: return nil
            }
        }
    }

    /// The properties of the device that were compared.
    package var mode: BindingMode
    /// The result of the comparison.
    package var outcome: Outcome

    package init(mode: BindingMode, outcome: Outcome) {
        self.mode = mode
        self.outcome = outcome
    }

    /// The text for the access log, such as `ip/mismatch`.
    package var text: String { "\(self.mode.rawValue)/\(self.outcome.rawValue)" }
}
