/// A JSON value (RFC 8259).
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Returns the member `name` of an object; `nil` if the member is absent or null, or the value is not an object.
    ///
    /// Many servers write null for unknown values. JSON Merge Patch distinguishes null and absent: use `removes`.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
        return value
    }

    /// The members of an object, without null members; `nil` for all other values.
    package var members: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members.values.contains(.null) ? members.filter { $0.value != .null } : members
    }

    /// The text of a string; `nil` for all other values.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The text of a string, number or Boolean, as used in header fields and rules; `nil` for all other values.
    package var scalarText: String? {
        switch self {
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .string(let text): text
        case .null, .array, .object: nil
        }
    }

    /// The texts (`scalarText`) of a list's elements, or of a single value. Elements without a text are left out.
    package var scalarTexts: [String] {
        guard case .array(let elements) = self.flattened else { return [self].compactMap(\.scalarText) }
        return elements.compactMap(\.scalarText)
    }
}

extension JSONValue {
    /// Returns the value at a path of member names; `nil` if there is none. In a list, the path applies to each
    /// element: at `groups.name`, `{"groups": [{"name": "a"}, {}, [{"name": "b"}]]}` has `["a", "b"]`.
    package func value(at path: [String]) -> JSONValue? { self.value(at: path[...]) }

    private func value(at path: ArraySlice<String>) -> JSONValue? {
        guard let name = path.first else { return self.flattened }
        switch self {
        case .object(let members): return members[name]?.value(at: path.dropFirst())
        case .array(let elements):
            let found = elements.compactMap { $0.value(at: path) }.filter { $0 != .null }
            return found.isEmpty ? nil : JSONValue.array(found).flattened
        default: return nil
        }
    }

    /// The value with nested lists flattened; values that are not lists are unchanged.
    package var flattened: JSONValue {
        guard case .array(let elements) = self, elements.contains(where: \.isList) else { return self }
        return .array(
            elements.flatMap { element -> [JSONValue] in
                guard case .array(let inner) = element.flattened else { return [element] }
                return inner
            }
        )
    }

    private var isList: Bool { if case .array = self { true } else { false } }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
