package import Sessions
package import Vocabulary

/// The claims about a user that scopes request (OpenID Connect Core 5.1, 5.4), in id_tokens and at the userinfo
/// endpoint.
///
/// A claim's value comes from the trait with the claim's name, or from other traits that common identity schemas use.
/// For example, Kratos schemas have `name.first` and `name.last`. A claim without a value is left out.
package enum UserInfoClaims {
    private enum Form {
        case text
        /// A Boolean, which some providers write as a text.
        case truth
        /// A number of seconds since 1970.
        case seconds
        /// An object. A text becomes the `formatted` member of an object.
        case address
        /// A text, or the parts in an object.
        case fullName
    }

    private struct Claim {
        let name: String
        let scope: String
        let form: Form
        let paths: [[String]]

        init(_ name: String, _ scope: String, _ form: Form = .text, _ others: [String]...) {
            self.name = name
            self.scope = scope
            self.form = form
            self.paths = [[name]] + others
        }
    }

    private static let table = [
        Claim("name", "profile", .fullName),
        Claim("given_name", "profile", .text, ["name", "first"], ["name", "given"], ["first_name"]),
        Claim("family_name", "profile", .text, ["name", "last"], ["name", "family"], ["last_name"]),
        Claim("middle_name", "profile", .text, ["name", "middle"]),
        Claim("nickname", "profile"),
        Claim("preferred_username", "profile", .text, ["username"]),
        Claim("profile", "profile"),
        Claim("picture", "profile"),
        Claim("website", "profile"),
        Claim("gender", "profile"),
        Claim("birthdate", "profile"),
        Claim("zoneinfo", "profile"),
        Claim("locale", "profile"),
        Claim("updated_at", "profile", .seconds),
        Claim("email", "email"),
        Claim("email_verified", "email", .truth),
        Claim("phone_number", "phone", .text, ["phone"]),
        Claim("phone_number_verified", "phone", .truth, ["phone_verified"]),
        Claim("address", "address", .address),
        // Auth0's organization claims. Apps compare them with the organization that they requested.
        Claim("org_id", "openid"),
        Claim("org_name", "openid"),
    ]

    /// The scopes that request claims.
    package static let scopes = ["profile", "email", "phone", "address", "openid"]
    /// The names of all claims, for the metadata.
    package static var names: [String] { Self.table.map(\.name) }

    /// Returns the claims of these scopes, without `sub`.
    package static func claims(of identity: Identity, scopes: [String]) -> [String: JSONValue] {
        let asked = self.table.filter { scopes.contains($0.scope) }
        guard !asked.isEmpty else { return [:] }
        let traits = identity.traits
        var claims: [String: JSONValue] = [:]
        for claim in asked {
            claims[claim.name] = claim.paths.lazy.compactMap { self.value(at: $0, of: traits, claim.form) }.first
        }
        // `email_verified` and `phone_number_verified` are meaningless without the address or number.
        if claims["email"] == nil { claims["email_verified"] = nil }
        if claims["phone_number"] == nil { claims["phone_number_verified"] = nil }
        return claims
    }

    private static func value(at path: [String], of traits: JSONValue, _ form: Form) -> JSONValue? {
        guard let value = path.reduce(Optional(traits), { $0?[$1] }) else { return nil }
        switch (form, value) {
        case (.text, .string(let text)), (.fullName, .string(let text)): return text.isEmpty ? nil : value
        case (.fullName, .object):
            let parts = [["first", "given"], ["middle"], ["last", "family"]].compactMap { names in
                names.lazy.compactMap { value[$0]?.string }.first { !$0.isEmpty }
            }
            return parts.isEmpty ? nil : .string(parts.joined(separator: " "))
        case (.truth, .bool): return value
        case (.truth, .string("true")): return true
        case (.truth, .string("false")): return false
        case (.seconds, .integer), (.seconds, .number): return value
        case (.address, .object(let members)): return members.isEmpty ? nil : value
        case (.address, .string(let text)): return text.isEmpty ? nil : ["formatted": value]
        default: return nil
        }
    }
}
