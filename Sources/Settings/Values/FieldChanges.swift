import Vocabulary

/// The changes of a route to the header fields of requests or of answers.
package struct FieldChanges: Sendable, Equatable {
    /// The name and value of a field, as written.
    package struct Field: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// The name alone, because the value may be a secret.
        package var description: String { "\(self.name): <redacted>" }
        package var debugDescription: String { self.description }

        /// True if the field is set to the client's address.
        package var isClientAddress: Bool { self.value == FieldChanges.clientAddress }
    }

    /// The placeholder for the address of the request's client.
    package static let clientAddress = "{client_address}"

    /// Fields that replace existing fields of the same name.
    package var set: [Field]
    /// Names of fields that are removed.
    package var remove: [String]

    package init(set: [Field] = [], remove: [String] = []) {
        self.set = set
        self.remove = remove
    }

    package var isEmpty: Bool { self.set.isEmpty && self.remove.isEmpty }

    /// Returns one spelling for all names that CGI apps cannot distinguish: lower case, `-` for all but letters and
    /// digits.
    package static func normalized(_ name: String) -> String {
        let bytes = name.utf8.map { $0.isAlphanumeric ? ($0 &- 0x41 < 26 ? $0 | 0x20 : $0) : UInt8(ascii: "-") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names of all fields that are set or removed.
    package var names: [String] { self.set.map(\.name) + self.remove }
}

/// One change of a header field, for `SettingsJudges.routeField`.
package struct FieldChange: Sendable {
    /// The name of the field, as written.
    package var name: String
    package var isSet: Bool
    /// True for a field of requests, false for a field of answers.
    package var isOfRequest: Bool

    package init(name: String, isSet: Bool, isOfRequest: Bool) {
        self.name = name
        self.isSet = isSet
        self.isOfRequest = isOfRequest
    }
}
