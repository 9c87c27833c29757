package import Vocabulary

/// A user's profile in an app's request (`user_profile`), which nobody has verified. Apple gives a name to the app
/// only, at the first sign-in. Facebook's session-info token contains no name.
package struct SocialProfile: Sendable, Hashable {
    /// The maximum size of a profile in bytes.
    private static let largest = 8192
    private static let longestName = 256
    /// The maximum length of an email address (RFC 5321 4.5.3.1): 64 and 255 bytes, and the `@`.
    private static let longestAddress = 320

    package let givenName: String?
    package let familyName: String?
    package let name: String?
    package let email: String?

    /// Reads a JSON object, or a text that contains one. Ignores unknown members, null and empty texts.
    ///
    /// The names are `given_name`, `family_name` and `name`, or `name.firstName` and `name.lastName` (Auth0's SDKs).
    package init(_ value: JSONValue) throws(SocialProfileError) {
        let members = try Self.members(of: value)
        let parts = members["name"]
        var name: String?
        if case .object? = parts {
            // The name is joined from `firstName` and `lastName` below.
        } else {
            name = try Self.text(parts, "name", upTo: 2 * Self.longestName)
        }
        let first = try Self.text(parts?["firstName"], "name.firstName", upTo: Self.longestName)
        let last = try Self.text(parts?["lastName"], "name.lastName", upTo: Self.longestName)
        if first != nil || last != nil { name = [first, last].compactMap { $0 }.joined(separator: " ") }
        self.name = name
        self.givenName = try Self.text(members["given_name"], "given_name", upTo: Self.longestName) ?? first
        self.familyName = try Self.text(members["family_name"], "family_name", upTo: Self.longestName) ?? last
        self.email = try Self.address(members["email"])
    }

    /// The profile as claims. `email_verified` is always false, because the app may state any address.
    var claims: JSONValue {
        var members = self.nameMembers
        members["email"] = self.email.map(JSONValue.string)
        if self.email != nil { members["email_verified"] = false }
        return .object(members)
    }

    /// The names of the profile, as claims.
    var names: JSONValue { .object(self.nameMembers) }

    private var nameMembers: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["given_name"] = self.givenName.map(JSONValue.string)
        members["family_name"] = self.familyName.map(JSONValue.string)
        members["name"] = self.name.map(JSONValue.string)
        return members
    }

    private static func members(of value: JSONValue) throws(SocialProfileError) -> [String: JSONValue] {
        var value = value
        if case .string(let text) = value {
            if text.isEmpty { return [:] }
            guard text.utf8.count <= Self.largest else { throw SocialProfileError("it is too large") }
            guard let document = JSONText.decode(Array(text.utf8), maxDepth: 8) else {
                throw SocialProfileError("it is a text, but not one in JSON")
            }
            value = document
        }
        if value == .null { return [:] }
        guard let members = value.members else { throw SocialProfileError("it is no object") }
        guard JSONText.encode(value).count <= Self.largest else { throw SocialProfileError("it is too large") }
        return members
    }

    private static func text(
        _ value: JSONValue?,
        _ name: String,
        upTo longest: Int
    ) throws(SocialProfileError) -> String? {
        guard let value, value != "" else { return nil }
        guard let text = value.string else { throw SocialProfileError("\(name) is not a text") }
        guard text.isPlain(upTo: longest) else {
            throw SocialProfileError("\(name) is too long, or has control characters")
        }
        return text
    }

    private static func address(_ value: JSONValue?) throws(SocialProfileError) -> String? {
        guard let text = try Self.text(value, "email", upTo: Self.longestAddress) else { return nil }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), !text.contains(where: \.isWhitespace) else {
            throw SocialProfileError("email is no address")
        }
        return text
    }
}

/// The fault of a `user_profile`. The text follows that name in a message, and quotes nothing of the profile.
package struct SocialProfileError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
