import AddressIntelligence
import Vocabulary

/// Rules for the keys of `provider`.
extension TextRule {
    /// The name of an element of `providers`.
    static let providerName = TextRule(
        "provider name",
        allowed: "1 to 32 of a-z, 0-9 and -",
        pattern: "^[a-z0-9-]{1,32}$",
        fix: "use only these characters"
    ) { text in
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    /// The identifier of an OpenID provider (OpenID Connect Discovery 2), kept byte for byte because `iss` must equal
    /// it.
    static let issuer = TextRule(
        "issuer",
        allowed: "the provider's iss: an https URL without query and fragment, e.g. https://id.example.com/realms/main",
        pattern: "^https?://[^?#@ ]+$"
    ) { text throws(SyntaxFault) in
        try Self.checkProviderURL(text, allowsQuery: false)
        for suffix in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        where text.hasSuffix(suffix) {
            throw SyntaxFault("remove \(suffix): the gateway adds it")
        }
        return .text(text)
    }

    /// An endpoint of a provider.
    static let providerURL = TextRule(
        "URL",
        allowed: "an https URL, or an http URL on loopback",
        pattern: "^https?://[^#@ ]+$"
    ) { text throws(SyntaxFault) in
        try Self.checkProviderURL(text, allowsQuery: true)
        return .text(text)
    }.hidingQuery

    /// A client's endpoint for logout tokens.
    static let logoutURL = TextRule(
        "URL",
        allowed: "an https URL, or an http URL on loopback, e.g. https://app.example.com/backchannel-logout",
        pattern: "^https?://[^#@ ]+$"
    ) { text throws(SyntaxFault) in
        try Self.checkProviderURL(text, allowsQuery: true, because: "a logout token names a user")
        return .text(text)
    }.hidingQuery

    /// The URL of the collector of traces, without the path for traces.
    static let collectorURL = TextRule(
        "URL",
        allowed: "an http or https URL without query, e.g. http://127.0.0.1:4318",
        pattern: "^https?://[^?#@ ]+$"
    ) { text throws(SyntaxFault) in
        try Self.checkProviderURL(text, allowsQuery: false, allowsPlainHTTP: true)
        return .text(text)
    }.hidingQuery

    /// The URL of the collector of traces, with the path for traces.
    static let tracesURL = TextRule(
        "URL",
        allowed: "an http or https URL, e.g. http://127.0.0.1:4318/v1/traces",
        pattern: "^https?://[^#@ ]+$"
    ) { text throws(SyntaxFault) in
        try Self.checkProviderURL(text, allowsQuery: true, allowsPlainHTTP: true)
        return .text(text)
    }.hidingQuery

    /// A copy of this rule that hides the URL's query, because a query may contain a key.
    private var hidingQuery: TextRule {
        var rule = self
        rule.hidesQuery = true
        return rule
    }

    /// Checks a URL that the gateway calls.
    ///
    /// - Parameters:
    ///   - allowsPlainHTTP: Whether http is allowed beyond loopback.
    ///   - reason: Why http is not allowed beyond loopback.
    private static func checkProviderURL(
        _ text: String,
        allowsQuery: Bool,
        allowsPlainHTTP: Bool = false,
        because reason: String = "the answers of this URL decide who a user is"
    ) throws(SyntaxFault) {
        guard text.utf8.count <= 2048,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) })
        else {
            throw SyntaxFault("write it in visible ASCII, without spaces; percent-encode other characters")
        }
        guard let separator = text.utf8.firstRange(of: "://".utf8),
            ["https", "http"].contains(text[..<separator.lowerBound])
        else { throw SyntaxFault(allowsPlainHTTP ? "begin with https:// or http://" : "begin with https://") }
        let rest = text[separator.upperBound...]
        guard !rest.utf8.contains(UInt8(ascii: "#")) else { throw SyntaxFault("remove the fragment") }
        guard allowsQuery || !rest.utf8.contains(UInt8(ascii: "?")) else { throw SyntaxFault("remove the query") }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard !rest[..<end].utf8.contains(UInt8(ascii: "@")) else {
            throw SyntaxFault("leave out the user and password: they must not be part of this URL")
        }
        guard let (host, _) = Self.authority(String(rest[..<end])) else {
            throw SyntaxFault("write a host name in ASCII or an address (IPv6 in brackets), and a port from 1 to 65535")
        }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isLoopback = host == "localhost" || (IPAddress(bare)?.isLoopback ?? false)
        guard allowsPlainHTTP || text.hasPrefix("https") || isLoopback else {
            throw SyntaxFault("write https: \(reason); http is for loopback only")
        }
    }

    /// The value for no proxy, even if the environment names a proxy.
    static let noProxy = "none"

    /// The proxy for the calls to a provider. The value may contain a password.
    static let httpProxy = TextRule(
        "proxy",
        allowed: "http://host:port, with user:password@ before the host if the proxy asks for them, or none",
        pattern: "^(http://)?[!-~]+$"
    ) { text throws(SyntaxFault) in
        if text != Self.noProxy { _ = try OutgoingProxy(text, origin: "") }
        return .secret(text)
    }

    /// The id under which the gateway is registered at a provider (RFC 6749 A.1).
    static let registeredID = TextRule(
        "client id",
        allowed: "1 to 256 visible ASCII characters",
        pattern: "^[!-~]{1,256}$",
        fix: "copy it from the provider"
    ) { text in
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// A scope (RFC 6749 3.3).
    static let scope = TextRule(
        "scope",
        allowed: "a scope such as openid: visible ASCII without spaces, quotes and backslashes",
        pattern: "^[!#-\\[\\]-~]{1,256}$",
        fix: "write each scope as an element of the list"
    ) { text in
        (1...256).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    /// The parameter `prompt` (OpenID Connect Core 3.1.2.1).
    static let prompt = TextRule(
        "prompt",
        allowed: "login, consent or select_account, or another word of the provider; several separated by a space",
        pattern: "^[a-z_]+( [a-z_]+)*$"
    ) { text throws(SyntaxFault) in
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let isWord: (Substring) -> Bool = { word in
            !word.isEmpty && word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
        }
        guard text.utf8.count <= 128, words.allSatisfy(isWord) else {
            throw SyntaxFault("write lower-case words, separated by one space")
        }
        guard !words.contains("none") else {
            throw SyntaxFault(
                "remove none: with it, only users who are already signed in at the provider could sign in"
            )
        }
        return .text(text)
    }

    /// The name of a parameter of an authorization request.
    static let parameterName = Self.word("parameter", most: 64)

    /// The name of a trait, as in `identity.traits.<name>`.
    static let traitName = Self.word("trait", most: 64, signs: "-_")

    /// The SCIM attribute by which a user who signs in is found among the users that SCIM created.
    static let scimAttribute = TextRule(
        "attribute",
        allowed: "externalId",
        pattern: "^externalId$",
        fix: "write externalId, and map the provider's id of the user to it"
    ) { $0 == "externalId" }

    /// The path to the claim with the user's id, in the syntax of `ClaimSettings.path(_:)`.
    static let subjectPath = claimPath("names joined by dots such as data.id") { ClaimSettings.path($0) != nil }

    /// The path to the claim of a trait, in the syntax of `ClaimSettings.Trait`.
    static let traitPath = claimPath(
        "names joined by dots such as realm_access.roles or groups.name, also within lists, and {} for an object's names"
    ) { ClaimSettings.Trait(name: "trait", at: $0) != nil }

    private static func claimPath(_ form: String, _ isOne: @escaping @Sendable (String) -> Bool) -> TextRule {
        TextRule(
            "claim",
            allowed: "the name of a claim, or \(form); a name with dots is a URL, or has \\. for each",
            pattern: "^.{1,256}$"
        ) { text throws(SyntaxFault) in
            guard isOne(text) else {
                throw SyntaxFault(
                    "write at most 16 names joined by dots, without control characters, none of them empty; [] may follow a "
                        + "name, {} the last one of a trait, and \\[, \\{ and \\\\ are a bracket, a brace and a backslash in one"
                )
            }
            return .text(text)
        }
    }

    /// The form of a list that is written as one text.
    static let textListForm = TextRule(
        ClaimSettings.TextListForm.allCases.map(\.rawValue).joined(separator: " | "),
        allowed: alternatives(ClaimSettings.TextListForm.allCases.map(\.rawValue)),
        pattern: "^(\(ClaimSettings.TextListForm.allCases.map(\.rawValue).joined(separator: "|")))$",
        fix: "write one of these words"
    ) { ClaimSettings.TextListForm(rawValue: $0) != nil }

    static let assuranceLevel = TextRule(
        AssuranceLevel.demandable.map(\.rawValue).joined(separator: " | "),
        allowed: alternatives(AssuranceLevel.demandable.map(\.rawValue)),
        pattern: "^aal[123]$"
    ) { text throws(SyntaxFault) in
        guard AssuranceLevel.demandable.contains(where: { $0.rawValue == text }) else {
            throw SyntaxFault("write one of these words")
        }
        return .text(text)
    }

    /// One value of the parameter `acr_values` or of the claims `acr` and `amr`. A value has no spaces (OpenID Connect
    /// Core 3.1.2.1).
    static let contextClass = TextRule(
        "value",
        allowed: "a value as the provider writes it, without spaces",
        pattern: "^[^ ]{1,256}$",
        fix: "copy it from the provider"
    ) { text in
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Several values of the parameter `acr_values`, in the order of preference.
    static let contextClasses = TextRule(
        "values",
        allowed: "values as the provider writes them, separated by one space",
        pattern: "^[^ ]+( [^ ]+)*$",
        fix: "copy them from the provider"
    ) { text in
        (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            && text.split(separator: " ", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    /// A signature algorithm of a provider's tokens.
    static let signatureAlgorithm = TextRule(
        "algorithm",
        allowed: alternatives(OpenIDSettings.algorithms),
        pattern: "^([RPE]S(256|384|512)|EdDSA)$"
    ) { text throws(SyntaxFault) in
        guard !OpenIDSettings.algorithms.contains(text) else { return .text(text) }
        guard !text.uppercased().hasPrefix("HS"), text.lowercased() != "none" else {
            throw SyntaxFault("remove it: only the provider's private key may sign tokens")
        }
        throw SyntaxFault(suggestion(for: text, among: OpenIDSettings.algorithms, else: "write one of these words"))
    }

    /// An email address, in lower case.
    static let email = TextRule(
        "email address",
        allowed: "an email address such as ada@example.com",
        pattern: "^[^@ ]+@[^@ ]+$"
    ) { text throws(SyntaxFault) in
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].utf8.count), let domain = Self.host(parts[1]),
            parts[0].unicodeScalars.allSatisfy({ $0.value > 0x20 && !(0x7F...0x9F).contains($0.value) })
        else { throw SyntaxFault("write one name, one @ and one domain") }
        return .text("\(parts[0].asciiLowercased)@\(domain)")
    }

    /// A domain, in lower case. Users with a verified email address in this domain may sign in.
    static let emailDomain = Self.emailDomain(
        insteadOfAll: "remove allow: without it everybody whom the provider knows may sign in"
    )

    /// A domain, in lower case. Users with an email address in this domain are sent to a provider.
    static let signInDomain = Self.emailDomain(
        insteadOfAll: "remove it: users with any other address choose on the sign-in page"
    )

    /// Returns a rule for the domain of email addresses, with the advice `fix` for the text `*`.
    private static func emailDomain(insteadOfAll fix: String) -> TextRule {
        TextRule(
            "domain",
            allowed: "the part of an address after the @, e.g. example.com; subdomains are not included",
            pattern: "^[A-Za-z0-9._-]{1,253}$"
        ) { text throws(SyntaxFault) in .text(try Self.readDomain(text, insteadOfAll: fix)) }
    }

    private static func readDomain(_ text: String, insteadOfAll fix: String) throws(SyntaxFault) -> String {
        if text == "*" { throw SyntaxFault(fix) }
        if text.utf8.contains(UInt8(ascii: "@")) { throw SyntaxFault("write only what follows the @") }
        guard !text.hasPrefix("*"), !text.hasPrefix(".") else {
            throw SyntaxFault("list each domain: a pattern would also match domains of others")
        }
        guard let domain = Self.host(text[...]), domain.utf8.contains(UInt8(ascii: ".")) || domain == "localhost" else {
            throw SyntaxFault("write a domain in ASCII (punycode), such as example.com")
        }
        return domain
    }
}

extension StringProtocol {
    /// The text with ASCII letters in lower case and nothing else changed.
    var asciiLowercased: String {
        String(decoding: self.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
