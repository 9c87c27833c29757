package import Sessions
package import Settings
package import Vocabulary

/// Makes an identity of a provider's claims, as the settings say.
package final class ClaimsMapping: Sendable {
    /// The longest subject in bytes (OpenID Connect Core 2: `sub`).
    private static let longestSubject = 255
    /// The largest traits in bytes, one and all: they are kept in memory with each session.
    private static let largestTrait = 16_384
    private static let largestTraits = 32_768
    /// The most methods that are kept, and their longest name.
    private static let mostMethods = 16
    private static let longestMethod = 64

    private let settings: ClaimSettings

    package init(_ settings: ClaimSettings) {
        self.settings = settings
    }

    /// Whether a configured trait has no value yet, so that another document may add it.
    package func lacksTraits(_ claims: UserClaims) -> Bool {
        self.settings.traits.contains { self.value(of: $0, claims) == nil }
    }

    /// The subject at the configured path.
    package func subject(_ claims: UserClaims) throws(ClaimsError) -> String {
        let path = self.settings.subject
        guard let value = claims.value(at: path) else {
            throw ClaimsError(detail: "there is no \(path.joined(separator: ".")) for the subject")
        }
        return try Self.subject(value)
    }

    /// A subject that is safe in fields, logs and keys. Numbers become text as they are written; one that is no integer
    /// of 64 bits would lose digits and is refused.
    package static func subject(_ value: JSONValue) throws(ClaimsError) -> String {
        let text: String
        switch value {
        case .string(let string): text = string
        case .integer(let number): text = String(number)
        default: throw ClaimsError(detail: "the subject is neither a text nor an integer")
        }
        guard text.isPlain(upTo: Self.longestSubject) else {
            throw ClaimsError(detail: "the subject is empty, too long, or has control characters")
        }
        return text
    }

    /// The identity with this subject and the configured traits that have a value.
    package func identity(_ subject: String, _ claims: UserClaims) throws(ClaimsError) -> Identity {
        var traits = [String: JSONValue](minimumCapacity: self.settings.traits.count)
        var size = 0
        for trait in self.settings.traits {
            guard let value = self.value(of: trait, claims) else { continue }
            let bytes = Self.size(of: value)
            size += bytes
            guard bytes <= Self.largestTrait, size <= Self.largestTraits else {
                throw ClaimsError(detail: "the trait \(trait.name) is too large")
            }
            traits[trait.name] = value
        }
        return Identity(id: subject, traits: .object(traits))
    }

    /// The size of the value as JSON, in bytes. Nearly every trait is a text without escapes, and need not be written for
    /// that.
    private static func size(of value: JSONValue) -> Int {
        if let text = value.string,
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
        {
            return text.utf8.count + 2
        }
        return JSONText.encode(value).count
    }

    private func value(of trait: ClaimSettings.Trait, _ claims: UserClaims) -> JSONValue? {
        guard trait.name == "email_verified" else { return claims.value(at: trait.path) }
        return claims.value(at: trait.path, beside: self.settings.path(ofTrait: "email"))
    }

    /// The user as the claims describe them.
    ///
    /// - Parameters:
    ///   - fallback: The method, if the provider states none.
    ///   - now: No user authenticated later than now.
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

    /// The highest level that `acr` or `amr` stands for; `aal1` if none applies.
    package func level(_ claims: UserClaims) -> AssuranceLevel {
        self.settings.levels.filter { level in
            claims.texts(at: [level.claim.rawValue]).contains { $0.isExactly(level.value) }
        }.map(\.level).max() ?? .aal1
    }

    /// The methods by which the user authenticated (`amr`, RFC 8176); `fallback` if the provider does not say.
    package func methods(_ claims: UserClaims, fallback: String) -> [String] {
        let methods = claims.texts(at: ["amr"]).filter { $0.isPlain(upTo: Self.longestMethod) }
        return methods.isEmpty ? [fallback] : Array(methods.prefix(Self.mostMethods))
    }
}

/// Why claims make no identity.
package struct ClaimsError: Error, Sendable, Hashable {
    /// For logs, without a claim's value.
    package var detail: String

    package init(detail: String) {
        self.detail = detail
    }
}
