import Pages
import Rules
import Vocabulary

/// The form that a text must have, and how the text is read.
package struct TextRule: Sendable {
    /// The type's name in messages and in the reference.
    package var name: String
    /// The allowed form, for a message, with an example.
    package var allowed: String
    /// A regular expression for the JSON schema. It may be looser than `read`, but never stricter.
    package var pattern: String?
    /// The bounds if the text is a number. YAML reads an unquoted number as a number, not as a text.
    package var bounds: ClosedRange<Int>?
    /// True if the text is a URL whose query may contain a secret and is never shown.
    var hidesQuery = false
    let read: @Sendable (String) throws(SyntaxFault) -> SettingValue

    init(
        _ name: String,
        allowed: String,
        pattern: String? = nil,
        read: @escaping @Sendable (String) throws(SyntaxFault) -> SettingValue
    ) {
        self.name = name
        self.allowed = allowed
        self.pattern = pattern
        self.read = read
    }

    /// Creates a rule for texts that satisfy `isValid`.
    init(
        _ name: String,
        allowed: String,
        pattern: String? = nil,
        fix: String,
        where isValid: @escaping @Sendable (String) -> Bool
    ) {
        self.init(name, allowed: allowed, pattern: pattern) { text throws(SyntaxFault) in
            guard isValid(text) else { throw SyntaxFault(fix) }
            return .text(text)
        }
    }
}

extension TextRule {
    /// A text on one line, without control characters.
    static let text = TextRule(
        "text",
        allowed: "a text of 1 to 256 characters without control characters",
        pattern: "^.{1,256}$",
        fix: "write a shorter text on one line"
    ) { text in
        (1...256).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    /// Creates a rule for words of letters, digits and `signs`. The first of the signs must be `-`.
    static func word(_ name: String, most: Int, signs: String = "-._~") -> TextRule {
        TextRule(
            name,
            allowed: "1 to \(most) letters, digits or any of \(signs.map(String.init).joined(separator: " "))",
            pattern: "^[A-Za-z0-9\(signs.dropFirst())-]{1,\(most)}$",
            fix: "use only these characters"
        ) { text in
            (1...most).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0.isAlphanumeric || signs.utf8.contains($0) }
        }
    }

    /// A name that can be used in metrics, logs and URLs without escapes.
    static let name = Self.word("name", most: 128, signs: "-._~:/")

    /// A client id: the characters of RFC 6749 A.1 that need no escapes.
    static let clientID = Self.word("client id", most: 128)

    /// The audience of access tokens: an API's URL or any name, as clients write it.
    static let audience = TextRule(
        "audience",
        allowed: "1 to 256 visible ASCII characters, e.g. https://api.example.com; not urn:<host>:session_transfer",
        pattern: "^[!-~]{1,256}$",
        fix: "write another name; session-transfer tokens need no API"
    ) { text in
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !(text.lowercased().hasPrefix("urn:") && text.lowercased().hasSuffix(":session_transfer"))
    }

    /// A URI to which users are redirected, for example with a code.
    static let redirectURI = TextRule(
        "redirect URI",
        allowed:
            "https://app.example.com/callback, http://127.0.0.1/callback, or an app's own scheme as in com.example.app:/callback",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*:[^#*\\s]+$",
        fix: "write it in full, without #fragment and wildcards; plain http only on loopback"
    ) { text in RedirectURI(text) != nil }

    /// The URL of a page where users sign in or change their password.
    static let loginPage = TextRule(
        "URL",
        allowed: "an https URL, or an http URL on loopback, e.g. https://app.example.com/login",
        pattern: "^https?://[^#*\\s]+$",
        fix: "write it in full, without #fragment and wildcards; plain http only on loopback"
    ) { text in RedirectURI(text) != nil && (text.hasPrefix("https://") || text.hasPrefix("http://")) }

    /// The id of an iOS app, as in its entitlement `application-identifier`.
    static let iosAppID = TextRule(
        "app id",
        allowed: "the team's ten capitals and digits, a dot and the bundle id, e.g. ABCDE12345.com.example.app",
        pattern: "^[A-Z0-9]{10}\\.[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$",
        fix: "write <team id>.<bundle id>; the team id is in the membership details of the Apple developer account"
    ) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 166 && parts.count >= 2 && parts[0].count == 10
            && parts[0].allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
            && parts.dropFirst().allSatisfy { part in
                !part.isEmpty && part.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
            }
    }

    /// The application id of an Android app.
    static let androidPackage = TextRule(
        "package",
        allowed: "an application id of two parts or more, e.g. com.example.app",
        pattern: "^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)+$",
        fix: "write the applicationId of the app's build file"
    ) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && parts.count >= 2
            && parts.allSatisfy { part in
                part.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
                    && part.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
            }
    }

    /// The SHA-256 fingerprint of a certificate, as `keytool` writes it.
    static let certificateFingerprint = TextRule(
        "SHA-256 fingerprint",
        allowed: "32 bytes in hexadecimal with colons between them, e.g. 14:6D:E9:...",
        pattern: "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$",
        fix: "write the line SHA256 of keytool -list -v, or of the Play Console (App signing), in quotes"
    ) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        return parts.count == 32
            && parts.allSatisfy { part in
                part.count == 2
                    && part.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
            }
    }

    static let colour = TextRule(
        "colour",
        allowed: "# and six hexadecimal digits, e.g. #1f5fbf",
        pattern: "^#[0-9A-Fa-f]{6}$",
        fix: "write it in this form, in quotes"
    ) { text in PageDesign.Colour(text) != nil }

    /// The URL where users find help.
    static let supportURL = TextRule(
        "URL",
        allowed: "an https or mailto URL, e.g. https://example.com/help",
        pattern: "^(https://|mailto:)[^\\s\"'<>]+$",
        fix: "write it in full"
    ) { text in
        (text.hasPrefix("https://") || text.hasPrefix("mailto:")) && text.utf8.count <= 2048
            && text.utf8.drop { $0 != UInt8(ascii: ":") }.count > (text.hasPrefix("https://") ? 3 : 1)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && ![0x22, 0x27, 0x3C, 0x3E, 0x5C].contains($0) }
    }

    /// The tag of a language (RFC 5646).
    static let languageTag = TextRule(
        "language tag",
        allowed: "a language tag such as en or pt-BR",
        pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        fix: "write the tag that browsers send in Accept-Language"
    ) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.count <= 4 && (2...3).contains(parts[0].count)
            && parts[0].allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
            && parts.dropFirst().allSatisfy { part in
                (2...8).contains(part.count)
                    && part.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }
            }
    }

    /// Returns the rule for a translation of `original`. It may only have placeholders of `original`.
    static func pageText(like original: String) -> TextRule {
        TextRule(
            "text",
            allowed: "1 to 1000 characters such as \(quoted(original))",
            fix: "write a text with no other words in braces than that text"
        ) { text in
            (1...1000).contains(text.count)
                && PageLanguage.placeholders(in: text).isSubset(of: PageLanguage.placeholders(in: original))
        }
    }

    /// A field name (RFC 9110 5.1).
    static let fieldName = TextRule(
        "field name",
        allowed: "a field name such as X-Auth-Email",
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
        fix: "use letters, digits and -"
    ) { text in
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isTokenByte }
    }

    /// A field value (RFC 9110 5.5) in ASCII.
    static let fieldValue = TextRule(
        "field value",
        allowed: "1 to 1024 visible ASCII characters, with spaces between them",
        pattern: "^[!-~]([ -~]{0,1022}[!-~])?$",
        fix: "remove line breaks, and spaces at the ends"
    ) { text in
        (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            && text.utf8.first != 0x20 && text.utf8.last != 0x20
    }

    /// A short name, e.g. of a cookie (RFC 6265 4.1.1) or a query parameter.
    static let token = Self.word("token", most: 64)

    /// A method of a route (RFC 9110 9.1). Methods are case-sensitive: `get` is rejected as a mistake for `GET`.
    static let method = TextRule(
        "method",
        allowed: "a method such as GET, PURGE or M-SEARCH, except CONNECT and TRACE",
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
        fix: "write GET, POST and the other common methods in capitals; CONNECT and TRACE are never served"
    ) { text in
        let capitals = text.uppercased()
        return (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isTokenByte }
            && !["CONNECT", "TRACE"].contains(capitals)
            && (capitals == text || !["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"].contains(capitals))
    }

    /// The path to a value of the session.
    static let sessionPath = Self.sessionPath(in: IdentitySettings.pathRoots)

    /// The path to a value for an identity field: a value of the session, a token of the session's provider, or a value
    /// of the client's certificate.
    static let fieldPath = Self.sessionPath(
        in: IdentitySettings.pathRoots + IdentitySettings.tokenPaths + IdentitySettings.certificatePaths
    )

    private static func sessionPath(in roots: [String]) -> TextRule {
        TextRule(
            "session path",
            allowed: alternatives(roots.map { $0.hasSuffix(".") ? "\($0)<name>" : $0 }),
            pattern: "^[A-Za-z0-9_-]{1,64}(\\.[A-Za-z0-9_-]{1,64}){0,15}$"
        ) { text throws(SyntaxFault) in
            let steps = text.split(separator: ".", omittingEmptySubsequences: false)
            let isPath =
                steps.count <= 16
                && steps.allSatisfy { step in
                    (1...64).contains(step.utf8.count) && step.utf8.allSatisfy { $0.isUnreserved && $0 != 0x7E }
                }
            guard isPath else { throw SyntaxFault("write names joined by dots, e.g. identity.traits.email") }
            guard roots.contains(where: { $0.hasSuffix(".") ? text.hasPrefix($0) : text == $0 }) else {
                let paths = roots.filter { !$0.hasSuffix(".") }
                let fix = "for a trait of the user write identity.traits.<name>"
                throw SyntaxFault(suggestion(for: text, among: paths, else: fix))
            }
            return .text(text)
        }
    }

    /// The name of a claim that the operator chooses (RFC 7519 4.2, 4.3).
    static let claimName = TextRule(
        "claim name",
        allowed:
            "1 to 128 visible ASCII characters except \" and \\; not \(alternatives(IdentitySettings.reservedClaims))",
        pattern: "^[!#-\\[\\]-~]{1,128}$",
        fix: "choose another name: the gateway sets \(IdentitySettings.reservedClaims.joined(separator: ", ")) itself"
    ) { text in
        (1...128).contains(text.utf8.count) && !IdentitySettings.reservedClaims.contains(text)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    /// A subject alternative name of a certificate.
    static let certificateName = TextRule(
        "certificate name",
        allowed:
            "a DNS name, an email address or a URI, e.g. build.example.com or spiffe://cluster.local/ns/prod/sa/api",
        pattern: "^[!-~]{1,2048}$",
        fix: "write it as in the certificate; wildcards are not supported"
    ) { text in CertificateName(text) != nil && !text.utf8.contains(UInt8(ascii: "*")) }

    /// The name of a certificate's issuer (RFC 4514).
    static let distinguishedName = TextRule(
        "distinguished name",
        allowed: "a name such as CN=Clients,O=Example, with characters beyond ASCII as \\XX",
        pattern: "^[ -~]{1,4096}$",
        fix: "copy what openssl x509 -noout -issuer -nameopt RFC2253 prints after issuer="
    ) { text in
        (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            && text.utf8.contains(UInt8(ascii: "="))
    }

    /// The separator of the elements of a list.
    static let delimiter = TextRule(
        "character",
        allowed: "one visible ASCII character or a space, except % and the double quote",
        pattern: "^[ -~]$",
        fix: "write one character such as \",\" or \"|\""
    ) { text in
        text.utf8.count == 1 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x25 && $0 != 0x22 }
    }

    static let condition = TextRule(
        "condition",
        allowed:
            "a condition of at most \(RuleCondition.longest) characters, e.g. event.request.geoip.countryCode != \"DE\"",
        pattern: "^.{1,\(RuleCondition.longest)}$"
    ) { text throws(SyntaxFault) in
        do throws(RuleFault) {
            return .condition(try RuleCondition(text))
        } catch {
            let place = SyntaxFault.Place(offset: error.offset, found: error.found, allowed: error.allowed)
            throw SyntaxFault(error.fix, at: place)
        }
    }

    /// A Redis URL. `SettingsJudges.redisURL` checks it further.
    static let redisURL = TextRule(
        "Redis URL",
        allowed:
            "redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or redis+unix://, with [user:password@] and a host or path",
        pattern: "^rediss?(\\+[a-z]+)?://.+$"
    ) { text throws(SyntaxFault) in
        let scheme = text.prefix { $0 != ":" }
        guard ["redis", "rediss"].contains(scheme.prefix { $0 != "+" }), text.dropFirst(scheme.count).hasPrefix("://")
        else {
            throw SyntaxFault("write redis://user:password@host:6379, or rediss:// for TLS")
        }
        guard text.utf8.count <= 4096, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyntaxFault("write it on one line without spaces; percent-encode other characters than visible ASCII")
        }
        return .secret(text)
    }
}

extension UInt8 {
    /// True if the byte is a `tchar` (RFC 9110 5.6.2).
    var isTokenByte: Bool {
        self.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
}
