package import Vocabulary

/// What a provider says about a user, from one or several documents.
package struct UserClaims: Sendable, Hashable {
    /// JSON objects; where two have a claim, the first one counts.
    private var documents: [JSONValue]

    package init(_ documents: [JSONValue]) {
        self.documents = documents
    }

    package mutating func append(_ document: JSONValue) {
        self.documents.append(document)
    }

    /// The value at a path of members' names; nil if it is absent or null.
    package func value(at path: [String]) -> JSONValue? {
        for document in self.documents {
            if let value = path.reduce(Optional(document), { $0?[$1] }), value != .null { return value }
        }
        return nil
    }

    /// The text at a path.
    package func text(at path: String...) -> String? { self.value(at: path)?.string }

    /// The texts of a list, or the one text, at a path; other elements are left out.
    package func texts(at path: [String]) -> [String] {
        switch self.value(at: path) {
        case .array(let elements): elements.compactMap(\.string)
        case .string(let text): [text]
        default: []
        }
    }

    /// The time at a path, in seconds since 1970 (RFC 7519 2: NumericDate), from 1970 to the year 9999.
    package func time(at path: String...) -> UnixTime? {
        let seconds: Double
        switch self.value(at: path) {
        case .integer(let number): seconds = Double(number)
        case .number(let number): seconds = number
        default: return nil
        }
        return (0...253_402_300_799).contains(seconds) ? UnixTime(milliseconds: Int64(seconds * 1000)) : nil
    }
}
