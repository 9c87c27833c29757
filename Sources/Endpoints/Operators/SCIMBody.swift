package import SignOn
package import Vocabulary

/// Reads the bodies and filters of SCIM clients (RFC 7644 3.3 to 3.5). Only the values of `ProvisioningChange` are
/// kept. Everything else is accepted and ignored, except a change of `active` in a form that is not understood: if it
/// were ignored, a leaver would stay signed in.
package enum SCIMBody {
    /// The schema of users (RFC 7643 4.1).
    static let userSchema = "urn:ietf:params:scim:schemas:core:2.0:User"
    /// The maximum length of `userName` and `externalId` in bytes.
    private static let longestName = 256

    /// Returns the values of a user in a body (RFC 7644 3.3, 3.5.1).
    ///
    /// - Throws: `scim.invalid` with the error's type (RFC 7644 3.12) in `detail`.
    package static func user(_ body: [UInt8]) throws(NotDone) -> ProvisioningChange {
        var change = ProvisioningChange()
        try self.setAll(try self.document(body), in: &change)
        return change
    }

    /// Returns the values that the operations in a body set, the last one of each attribute (RFC 7644 3.5.2). Entra ID
    /// writes `Replace`, and `"False"` for false. Okta leaves out the path.
    ///
    /// - Throws: `scim.invalid` with the error's type (RFC 7644 3.12) in `detail`.
    package static func patch(_ body: [UInt8]) throws(NotDone) -> ProvisioningChange {
        guard case .array(let operations)? = try self.members(try self.document(body))["operations"] else {
            throw self.invalid("invalidSyntax", "Operations is missing, or is not a list")
        }
        var change = ProvisioningChange()
        for operation in operations { try self.apply(try self.members(operation), to: &change) }
        return change
    }

    /// Returns the attribute and the value of a filter such as `userName eq "ada@example.com"` (RFC 7644 3.4.2.2).
    ///
    /// - Throws: `scim.invalid` for all other filters.
    package static func filter(_ text: String) throws(NotDone) -> (attribute: ProvisionedAttribute, value: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, parts[1].lowercased() == "eq",
            let value = JSONText.decode(Array(parts[2].utf8))?.string,
            let attribute = ProvisionedAttribute.allCases.first(where: {
                $0.rawValue.lowercased() == self.bare(String(parts[0]))
            })
        else { throw self.invalid("invalidFilter", #"The filter is neither userName eq "…" nor externalId eq "…""#) }
        return (attribute, value)
    }

    // MARK: Attributes

    private static func apply(_ operation: [String: JSONValue], to change: inout ProvisioningChange) throws(NotDone) {
        let verb = operation["op"]?.string?.lowercased()
        guard let verb, ["add", "replace", "remove"].contains(verb) else {
            throw self.invalid("invalidSyntax", "op is none of add, replace and remove")
        }
        let value = operation["value"] ?? .null
        switch operation["path"] {
        case nil, .null?, .string("")?:
            guard verb != "remove" else { throw self.invalid("noTarget", "remove needs a path") }
            try self.setAll(value, in: &change)
        case .string(let path)? where verb == "remove":
            guard !self.mentionsActive(value) else { throw self.misunderstood }
            try self.set(self.bare(path), .null, in: &change)
        case .string(let path)?: try self.set(self.bare(path), value, in: &change)
        default: throw self.invalid("invalidPath", "path is not a text")
        }
    }

    private static func setAll(_ value: JSONValue, in change: inout ProvisioningChange) throws(NotDone) {
        for (name, value) in try self.members(value).sorted(by: { $0.key < $1.key }) {
            try self.set(name, value, in: &change)
        }
    }

    /// Sets an attribute, or ignores it unless it may mean `active`. `userName` and `externalId` stay if they are
    /// removed: a deactivation in the same body must not fail for that reason.
    private static func set(
        _ name: String,
        _ value: JSONValue,
        in change: inout ProvisioningChange
    ) throws(NotDone) {
        switch name {
        case "active": change.isActive = try self.flag(self.single(value))
        case "username": change.userName = try self.text(self.single(value), "userName") ?? change.userName
        case "externalid": change.externalID = try self.text(self.single(value), "externalId") ?? change.externalID
        case self.userSchema.lowercased(): try self.setAll(value, in: &change)
        default:
            guard !self.mentionsActive(name), !self.mentionsActive(value) else { throw self.misunderstood }
        }
    }

    private static func flag(_ value: JSONValue) throws(NotDone) -> Bool {
        switch value {
        case .bool(let flag): return flag
        case .string(let text) where text.lowercased() == "true": return true
        case .string(let text) where text.lowercased() == "false": return false
        default: throw self.invalid("invalidValue", "active is neither true nor false")
        }
    }

    private static func text(_ value: JSONValue, _ name: String) throws(NotDone) -> String? {
        if value == .null || value == .string("") { return nil }
        guard let text = value.string, text.isPlain(upTo: self.longestName), !AccountID.isOne(text) else {
            throw self.invalid("invalidValue", "\(name) is reserved, or is no text of up to \(self.longestName) bytes")
        }
        return text
    }

    /// Returns the value of a list with one element, as Entra ID writes single values: `[{"$ref": null, "value": …}]`.
    private static func single(_ value: JSONValue) -> JSONValue {
        guard case .array(let elements) = value, elements.count == 1 else { return value }
        return elements[0]["value"] ?? elements[0]
    }

    private static func mentionsActive(_ name: String) -> Bool {
        name.lowercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains("active")
    }

    private static func mentionsActive(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let members): members.contains { self.mentionsActive($0.key) || self.mentionsActive($0.value) }
        case .array(let elements): elements.contains(where: self.mentionsActive)
        default: false
        }
    }

    // MARK: Syntax

    private static func document(_ body: [UInt8]) throws(NotDone) -> JSONValue {
        do throws(JSONFault) {
            return try JSONText.read(body, maxDepth: 16).get()
        } catch {
            throw self.invalid("invalidSyntax", "The body is a text that \(error.rawValue)")
        }
    }

    /// Returns the members of an object under their bare names.
    private static func members(_ value: JSONValue) throws(NotDone) -> [String: JSONValue] {
        guard case .object(let written) = value else {
            throw self.invalid("invalidSyntax", "A list or a single value stands where an object is expected")
        }
        var members: [String: JSONValue] = [:]
        for (name, value) in written {
            guard members.updateValue(value, forKey: self.bare(name)) == nil else {
                throw self.invalid("invalidSyntax", "A member is repeated in another letter case")
            }
        }
        return members
    }

    /// Returns the name of an attribute in lower case, because letter case does not matter (RFC 7643 2.1), and without
    /// the schema of users (RFC 7644 3.10).
    private static func bare(_ name: String) -> String {
        let (name, schema) = (name.lowercased(), self.userSchema.lowercased() + ":")
        return name.hasPrefix(schema) ? String(name.dropFirst(schema.count)) : name
    }

    private static var misunderstood: NotDone {
        self.invalid("invalidValue", "active is changed in a form that is not understood")
    }

    private static func invalid(_ type: String, _ text: String) -> NotDone {
        NotDone(.scimInvalid, text: text, detail: type)
    }
}
