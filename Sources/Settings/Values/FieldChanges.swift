import Vocabulary

/// What a route changes in the fields of its requests or answers.
package struct FieldChanges: Sendable, Equatable {
    /// A field with its value, each as it is written.
    package struct Field: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Without the value, which may be a secret.
        package var description: String { "\(self.name): <redacted>" }
        package var debugDescription: String { self.description }

        /// True if the field is set to the address of each request's client.
        package var isClientAddress: Bool { self.value == FieldChanges.clientAddress }
    }

    /// The value that is replaced by the address of each request's client.
    package static let clientAddress = "{client_address}"

    /// Fields that replace those of the same names.
    package var set: [Field]
    /// Names of fields that are removed.
    package var remove: [String]

    package init(set: [Field] = [], remove: [String] = []) {
        self.set = set
        self.remove = remove
    }

    package var isEmpty: Bool { self.set.isEmpty && self.remove.isEmpty }

    /// The one spelling of all names that some app takes for the same: lower case, `-` for every byte that is not a letter
    /// or digit.
    package static func normalized(_ name: String) -> String {
        let bytes = name.utf8.map { $0.isAlphanumeric ? ($0 &- 0x41 < 26 ? $0 | 0x20 : $0) : UInt8(ascii: "-") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names of all fields that are removed before the others are set.
    package var names: [String] { self.set.map(\.name) + self.remove }
}

/// One of a route's changes, for whoever knows which fields are the gateway's own.
package struct FieldChange: Sendable {
    /// As it is written.
    package var name: String
    package var isSet: Bool
    /// Of requests; else of answers.
    package var isOfRequest: Bool

    package init(name: String, isSet: Bool, isOfRequest: Bool) {
        self.name = name
        self.isSet = isSet
        self.isOfRequest = isOfRequest
    }
}
