package import Sessions
package import Settings
package import Vocabulary

/// Maps a provider's claims to an identity, as configured in `claims`.
package final class ClaimsMapping: Sendable {
    /// The maximum length of a subject in bytes (OpenID Connect Core 2: `sub`).
    private static let longestSubject = 255
    /// The maximum size of one trait in bytes. Every session holds its traits in memory.
    private static let largestTrait = 16_384
    private static let largestTraits = 32_768
    /// The maximum number of stored authentication methods.
    private static let maxMethods = 16
    private static let longestMethod = 64

    private let settings: ClaimSettings
    private let names: SubjectNames
    /// The patterns of `claims.groups_only`; empty to store all groups.
    private let groupsOnly: [GlobPattern]

    package init(_ settings: ClaimSettings, names: SubjectNames = SubjectNames()) {
        self.settings = settings
        self.names = names
        self.groupsOnly = settings.groupsOnly.map(GlobPattern.init)
    }

    /// Returns whether a configured trait has no value in these claims. An untrusted `email_verified` may be missing.
    package func lacksTraits(_ claims: UserClaims) -> Bool {
        self.settings.traits.contains { trait in
            self.value(of: trait, claims) == nil && (trait.name != "email_verified" || self.settings.vouchesForEmail)
        }
    }

    /// Returns the subject at the configured path.
    package func subject(_ claims: UserClaims) throws(ClaimsError) -> String {
        let path = self.settings.subject
        guard let value = claims.value(at: path) else {
            throw ClaimsError(detail: "there is no \(path.joined(separator: ".")) for the subject")
        }
        return try Self.subject(value)
    }

    /// Returns a subject that is safe in headers, logs and keys. An integer becomes its text. Other numbers are
    /// rejected, because they may have lost digits.
    package static func subject(_ value: JSONValue) throws(ClaimsError) -> String {
        let text: String
        switch value {
        case .string(let string): text = string
        case .integer(let number): text = String(number)
        default: throw ClaimsError(detail: "the subject is neither a text nor an integer")
        }
        guard text.isPlain(upTo: Self.longestSubject), !text.isDamaged else {
            throw ClaimsError(detail: "the subject is empty, too long, damaged, or has control characters")
        }
        return text
    }

    /// Returns the identity with this subject and the configured traits that have a value.
    package func identity(_ subject: String, _ claims: UserClaims) throws(ClaimsError) -> Identity {
        var traits = [String: JSONValue](minimumCapacity: self.settings.traits.count)
        var size = 0
        for trait in self.settings.traits {
            guard let value = self.value(of: trait, claims) else { continue }
            let bytes = Self.size(of: value)
            size += bytes
            guard bytes <= Self.largestTrait, size <= Self.largestTraits else {
                let fix = trait.name == "groups" ? ": say in claims.groups_only which of them matter" : ""
                throw ClaimsError(detail: "the trait \(trait.name) is too large\(fix)")
            }
            traits[trait.name] = value
        }
        return Identity(id: try self.name(of: subject), traits: .object(traits)).called(subject)
    }

    private func name(of subject: String) throws(ClaimsError) -> String {
        guard let name = self.names.name(of: subject) else {
            throw ClaimsError(detail: "the subject reads like a user of another provider")
        }
        return name
    }

    /// Returns the size of the value as JSON in bytes. Texts without escapes are not encoded to find it.
    private static func size(of value: JSONValue) -> Int {
        if let text = value.string,
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
        {
            return text.utf8.count + 2
        }
        return JSONText.encode(value).count
    }

    private func value(of trait: ClaimSettings.Trait, _ claims: UserClaims) -> JSONValue? {
        switch trait.name {
        case "email_verified" where !self.settings.vouchesForEmail: nil
        case "email_verified": claims.value(at: trait.path, beside: self.settings.path(ofTrait: "email"))
        case "groups" where !self.groupsOnly.isEmpty: claims.value(of: trait).flatMap(self.kept)
        default: claims.value(of: trait)
        }
    }

    /// Returns the groups that match `claims.groups_only`; `nil` for a single group that does not match.
    private func kept(_ groups: JSONValue) -> JSONValue? {
        guard case .array(let elements) = groups else { return self.matters(groups) ? groups : nil }
        return .array(elements.filter(self.matters))
    }

    private func matters(_ group: JSONValue) -> Bool {
        group.scalarText.map { name in self.groupsOnly.contains { $0.matches(name) } } ?? false
    }

    /// Returns the user in the claims.
    ///
    /// - Parameters:
    ///   - fallback: The authentication method if the claims state none.
    ///   - now: The latest possible time of the authentication. A later time in the claims is replaced by it.
    package func authentication(
        _ subject: String,
        _ claims: UserClaims,
        fallback: String,
        now: UnixTime
    ) throws(ClaimsError) -> Authentication {
        Authentication(
            identity: try self.identity(subject, claims),
            aal: self.level(claims),
            methods: self.methods(claims, fallback: fallback),
            authenticatedAt: claims.time(at: "auth_time").map { min($0, now) } ?? Authentication.unknownTime
        )
    }

    /// Returns the highest level that is configured for a value of `acr` or `amr`; otherwise `aal1`.
    package func level(_ claims: UserClaims) -> AssuranceLevel {
        self.settings.levels.filter { level in
            claims.texts(at: [level.claim.rawValue]).contains { $0.isExactly(level.value) }
        }.map(\.level).max() ?? .aal1
    }

    /// Returns the methods of the user's authentication (`amr`, RFC 8176), or `fallback` if there are none.
    package func methods(_ claims: UserClaims, fallback: String) -> [String] {
        let methods = claims.texts(at: ["amr"]).filter { $0.isPlain(upTo: Self.longestMethod) }
        return methods.isEmpty ? [fallback] : Array(methods.prefix(Self.maxMethods))
    }
}

/// The reason why claims contain no usable user.
package struct ClaimsError: Error, Sendable, Hashable {
    /// The text for logs. It contains no value of a claim.
    package var detail: String
}
