package import Sessions
import Vocabulary

/// A value of a session that its configured field cannot hold.
package struct UnfitValue: Sendable, Hashable {
    package enum Fault: Sendable, Hashable {
        /// The value is an object. The user's requests lack the field.
        case object
        /// A list contains objects. The user's requests are refused (`identity.unsafe_value`).
        case listOfObjects
        /// A text contains something that an app could misread, such as a line break, or a list element contains the
        /// delimiter. The user's requests are refused (`identity.unsafe_value`).
        case unsafe
        /// All fields together exceed `identity.max_size`. The user's requests are refused (`identity.too_large`).
        case size
    }

    /// The name of the field. `nil` if all fields together are too large.
    package let field: String?
    /// The path to the value as in `identity.headers`. Empty if all fields together are too large.
    package let path: String
    package let fault: Fault

    package init(field: String?, path: String, fault: Fault) {
        self.field = field
        self.path = path
        self.fault = fault
    }
}

extension IdentityProfile {
    /// Returns the values of this session that their fields cannot hold.
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
