package import Sessions
import Vocabulary

/// What of a session cannot be in the field that the settings give it.
package struct UnfitValue: Sendable, Hashable {
    package enum Fault: Sendable, Hashable {
        /// An object has no text: the user has no such field.
        case object
        /// A list has objects among its elements: the user's requests are refused (`identity.unsafe_value`).
        case listOfObjects
        /// A text has what the field could not give back, such as a line break, or an element of a list has the delimiter:
        /// the user's requests are refused (`identity.unsafe_value`).
        case unsafe
        /// All fields together are larger than `identity.max_size`: the user's requests are refused
        /// (`identity.too_large`).
        case size
    }

    /// nil: all fields.
    package let field: String?
    /// The path to the value, as `identity.headers` has it; empty for all fields.
    package let path: String
    package let fault: Fault

    package init(field: String?, path: String, fault: Fault) {
        self.field = field
        self.path = path
        self.fault = fault
    }
}

extension IdentityProfile {
    /// What of this session cannot be in its field, with the first fault of each.
    package func unfit(_ session: Session) -> [UnfitValue] {
        var unfit: [UnfitValue] = []
        for source in self.sources where !source.path.isToken {
            guard let fault = self.fault(of: source.path, session) else { continue }
            unfit.append(UnfitValue(field: source.name, path: source.pathText, fault: fault))
        }
        guard unfit.isEmpty else { return unfit }
        do throws(IdentityRefusal) {
            _ = try self.render(session)
            return []
        } catch {
            return error.reason == .identityTooLarge ? [UnfitValue(field: nil, path: "", fault: .size)] : []
        }
    }

    private func fault(of path: IdentityPath, _ session: Session) -> UnfitValue.Fault? {
        guard let value = path.value(of: session) else { return nil }
        switch value {
        case .object: return .object
        case .array(let elements) where elements.contains(where: { if case .object = $0 { true } else { false } }):
            return .listOfObjects
        default: return self.canWrite(value, isList: path.isList) ? nil : .unsafe
        }
    }
}
