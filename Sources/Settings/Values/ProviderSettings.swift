package import Pages
package import Vocabulary

/// A provider and the name by which hosts and clients choose it.
package struct NamedProvider: Sendable, Equatable {
    /// Unique in the settings; the name of its users' realm, under which their sessions are stored.
    package var name: String
    package var settings: any ProviderSettings {
        get { self.anySettings.value }
        set { self.anySettings.value = newValue }
    }
    private var anySettings: AnyProviderSettings
    /// How it is reached.
    package var proxies = OutgoingProxies()
    /// What its button on a sign-in page calls it; nil: its usual name.
    package var label: String?
    /// The image on that button; nil: the one that the gateway has for it.
    package var image: PageDesign.Logo?
    /// Whether a new gateway is ready only when it has been reached; nil: where users of some host cannot sign in otherwise.
    package var isEssential: Bool?
    /// Users with an address in one of these go straight to it where there are others: in ASCII and in lower case.
    package var domains: [String] = []
    /// Whether its word on a verified address may make its users those of other providers.
    package var trustsEmail = false

    package init(name: String, settings: any ProviderSettings, proxies: OutgoingProxies = OutgoingProxies()) {
        self.name = name
        self.anySettings = AnyProviderSettings(value: settings)
        self.proxies = proxies
    }

    /// Its button on a sign-in page.
    package var button: ProviderButton {
        let brand = ProviderBrand(name: self.name, issuer: self.settings.ownName ?? "")
        return ProviderButton(
            label: self.label ?? brand?.label ?? self.name.prefix(1).uppercased() + self.name.dropFirst(),
            brand: brand,
            image: self.image
        )
    }
}

/// The settings of a provider: how its users sign in, and which of its tokens are accepted. Each kind of provider has
/// one type of settings.
package protocol ProviderSettings: Sendable, Equatable {
    /// The key below `provider` under which settings of this kind are written.
    static var key: String { get }

    /// The URL that the gateway calls first; `nil` if the gateway calls nothing for the provider.
    var calledURL: String? { get }
    /// The certificates to trust for its endpoints; `nil` for the system's.
    var caFile: String? { get }
    /// True if its endpoints may have plain http also beyond loopback.
    var allowsPlainHTTP: Bool { get }

    /// True if a browser can sign in.
    var signsIn: Bool { get }
    /// True if users type their passwords on the gateway's own page.
    var asksForPasswords: Bool { get }
    /// True if the provider sends browsers back to the gateway.
    var redirects: Bool { get }
    /// True if a sign-in can be told the level and the age that it must reach (OpenID Connect Core 3.1.2.1; Kratos's
    /// `aal` and `refresh`), and does not end without it.
    var takesDemands: Bool { get }
    /// The paths among `IdentitySettings.tokenPaths` to the tokens that the provider gives to the gateway.
    var givenTokens: [String] { get }
    /// The name of the provider's own session cookie, which is accepted as a credential; `nil` if there is none.
    var credentialCookie: String? { get }
    /// The name of the provider in the sessions and records that come from it; `nil` for users of the settings. No two
    /// configured providers have the same name.
    var ownName: String? { get }
    /// `iss` of the tokens that the provider signs; `nil` if no token that it signs is accepted.
    var tokenIssuer: String? { get }

    /// The mapping of its claims to traits; `nil` if its users have traits themselves.
    var claimMapping: ClaimSettings? { get }
    /// The users who may sign in.
    var allow: AdmissionSettings { get }
    /// The names of its users.
    var names: SubjectNames { get }
    /// Returns these settings for users with these names.
    func naming(_ names: SubjectNames) -> Self

    /// The highest level that any sign-in or token can reach; `nil` if it depends on the user.
    var highestAssurance: AssuranceLevel? { get }
    /// The highest level that some sign-in can reach; `aal0` if nobody can sign in.
    var highestSignIn: AssuranceLevel { get }
    /// Returns the assurance level that a sign-in of this user can reach; `nil` if it is unknown.
    ///
    /// - Parameter ownID: The provider's own id of the user.
    func assurance(of ownID: String) -> AssuranceLevel?
    /// The levels of the provider's own values of `acr`.
    var acrLevels: [String: AssuranceLevel] { get }

    /// The provider in the line that says that the gateway is ready, such as `OpenID at https://id.example.com`.
    var title: String { get }
    /// What the sign-in page does with a browser, such as `asks for the password`; `nil` if nobody can sign in.
    var signInStep: String? { get }
    /// The name of the sign-in at this provider for web to native, unless the settings choose one; `nil` if web to native
    /// does not lead to the provider.
    var exchangeChoice: ExchangeSettings.Choice? { get }
}

extension ProviderSettings {
    package var caFile: String? { nil }
    package var allowsPlainHTTP: Bool { false }
    package var signsIn: Bool { true }
    package var asksForPasswords: Bool { false }
    package var redirects: Bool { false }
    package var takesDemands: Bool { false }
    package var givenTokens: [String] { [] }
    package var credentialCookie: String? { nil }
    package var tokenIssuer: String? { nil }
    package var claimMapping: ClaimSettings? { nil }
    package var allow: AdmissionSettings { AdmissionSettings() }
    package var highestSignIn: AssuranceLevel { self.highestAssurance ?? .aal1 }
    package func assurance(of ownID: String) -> AssuranceLevel? { self.highestAssurance }
    package var acrLevels: [String: AssuranceLevel] { [:] }
    package var exchangeChoice: ExchangeSettings.Choice? { nil }

    /// Returns true if `other` has the same type and an equal value.
    fileprivate func equals(_ other: any ProviderSettings) -> Bool { other as? Self == self }
}

/// The settings of a provider of any kind.
private struct AnyProviderSettings: Sendable, Equatable {
    var value: any ProviderSettings

    static func == (one: Self, other: Self) -> Bool { one.value.equals(other.value) }
}

/// How the gateway names and proves itself at an endpoint of a provider.
package struct ProviderClientSettings: Sendable, Equatable {
    package var id: String
    package var secret: Secret?
    /// The bytes of the PEM file.
    package var privateKey: Secret?
    package var method: ClientAuthenticationMethod

    package init(
        id: String,
        secret: Secret? = nil,
        privateKey: Secret? = nil,
        method: ClientAuthenticationMethod? = nil
    ) {
        self.id = id
        self.secret = secret
        self.privateKey = privateKey
        self.method = method ?? (privateKey != nil ? .privateKeyJWT : secret != nil ? .basic : .none)
    }
}

/// What the gateway asks for when it sends a browser to the provider.
package struct AuthorizationRequestSettings: Sendable, Equatable {
    package var scopes: [String]
    package var prompt: String?
    package var maxAge: Duration?
    package var acrValues: [AssuranceLevel: String] = [:]
    /// In the order of the file.
    package var parameters: [Parameter] = []

    package struct Parameter: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// How the claims of a provider become an identity.
package struct ClaimSettings: Sendable, Equatable {
    package struct Trait: Sendable, Equatable {
        package var name: String
        /// The steps of the path to the claim.
        package var path: [String]
        /// Whether the trait is the list of the names that the members of the claim have, as in
        /// `{"admin": {...}, "staff": {...}}`. `{}` at the end of the path says so.
        package var takesNames: Bool
        /// How a text of the claim stands for a list; nil: it is a text.
        package var textList: TextListForm?

        package init(name: String, path: [String], takesNames: Bool = false, textList: TextListForm? = nil) {
            self.name = name
            self.path = path
            self.takesNames = takesNames
            self.textList = textList
        }

        /// A trait at this path, as it is written; nil if it is not one.
        package init?(name: String, at text: String) {
            guard let (path, takesNames) = ClaimSettings.place(text) else { return nil }
            self.init(name: name, path: path, takesNames: takesNames)
        }
    }

    /// How a provider writes a list into one text.
    package enum TextListForm: String, Sendable, CaseIterable {
        /// `a, b`, `[a, b]` or `["a", "b"]`.
        case comma
        /// `a b`.
        case space
    }

    package struct Level: Sendable, Equatable {
        package enum Claim: String, Sendable, CaseIterable { case acr, amr }

        package var claim: Claim
        package var value: String
        package var level: AssuranceLevel

        package init(claim: Claim, value: String, level: AssuranceLevel) {
            self.claim = claim
            self.value = value
            self.level = level
        }
    }

    package var subject: [String] = ["sub"]
    package var traits: [Trait] = [
        Trait(name: "email", path: ["email"]), Trait(name: "email_verified", path: ["email_verified"]),
        Trait(name: "name", path: ["name"]), Trait(name: "username", path: ["preferred_username"]),
        Trait(name: "groups", path: ["groups"]), Trait(name: "picture", path: ["picture"]),
        Trait(name: "locale", path: ["locale"]),
    ]
    package var levels: [Level] = []
    /// Patterns of the groups that are kept; empty: all.
    package var groupsOnly: [String] = []

    package init() {}

    /// The trait `name`; if there is none, it is at the claim of that name.
    package func trait(_ name: String) -> Trait {
        self.traits.first { $0.name == name } ?? Trait(name: name, path: [name])
    }

    /// The path of the trait `name`; without such a trait, the claim of that name.
    package func path(ofTrait name: String) -> [String] { self.trait(name).path }

    /// Whether the trait `email_verified` is about the trait `email`. The claim `email_verified` is about the claim `email`
    /// beside it and no other (OpenID Connect Core 5.1): a name that the user chose may read like an address. What the
    /// settings take instead of it is about what they take for the address.
    package var vouchesForEmail: Bool {
        let verified = self.path(ofTrait: "email_verified")
        return verified.last != "email_verified" || self.takesEmailItself
    }

    /// Whether the trait `email` is the claim `email`, beside what says that it is verified.
    var takesEmailItself: Bool {
        self.path(ofTrait: "email") == Array(self.path(ofTrait: "email_verified").dropLast()) + ["email"]
    }

    /// The highest level that a sign-in can reach.
    package var highest: AssuranceLevel { self.levels.map(\.level).max().map { max($0, .aal1) } ?? .aal1 }

    /// The steps of a path to a claim: names separated by dots, with `\.`, `\[`, `\{` and `\\` for a dot, a bracket, a brace
    /// and a backslash in a name. `[]` after a name says that it is a list, into whose elements the next step leads; it may be
    /// left out. A path that begins with `https://` or `http://` is a single name up to the first `[]`, as many providers name
    /// their own claims by a URL. nil if it is not one.
    package static func path(_ text: String) -> [String]? {
        guard let (steps, takesNames) = Self.place(text), !takesNames else { return nil }
        return steps
    }

    /// The same for a path that may have `{}` at its end: see `Trait.takesNames`.
    fileprivate static func place(_ text: String) -> (path: [String], takesNames: Bool)? {
        let isPrintable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        guard (1...256).contains(text.utf8.count), isPrintable else { return nil }
        let isURL = ["https://", "http://"].contains(where: text.hasPrefix)
        var steps: [[UInt8]] = [[]]
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let isInURL = isURL && steps.count == 1
            switch byte {
            case UInt8(ascii: ".") where !isInURL: steps.append([])
            case UInt8(ascii: "[") where !isInURL || rest.first == UInt8(ascii: "]"):
                guard rest.popFirst() == UInt8(ascii: "]"), !steps[steps.count - 1].isEmpty else { return nil }
                // Only at the end of a name.
                guard !rest.isEmpty, !rest.elementsEqual("{}".utf8) else { continue }
                guard rest.popFirst() == UInt8(ascii: ".") else { return nil }
                steps.append([])
            case UInt8(ascii: "{") where rest.first == UInt8(ascii: "}"):
                // Only at the end of the path.
                return rest.count == 1 ? Self.checked(steps).map { ($0, true) } : nil
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), #".[{\"#.utf8.contains(escaped) else { return nil }
                steps[steps.count - 1].append(escaped)
            default: steps[steps.count - 1].append(byte)
            }
        }
        return Self.checked(steps).map { ($0, false) }
    }

    private static func checked(_ steps: [[UInt8]]) -> [String]? {
        guard steps.count <= 16, steps.allSatisfy({ !$0.isEmpty }) else { return nil }
        return steps.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The path as it is written, which `path` reads.
    package static func text(of path: [String]) -> String {
        let isURL = path.first.map { name in ["https://", "http://"].contains(where: name.hasPrefix) } ?? false
        var text = ""
        for (index, step) in path.enumerated() {
            if index > 0 { text += isURL && index == 1 ? "[]." : "." }
            for character in step.unicodeScalars {
                let isMark = character == "\\" || character == "[" || character == "{"
                if isMark || character == "." && !(isURL && index == 0) { text += "\\" }
                text.unicodeScalars.append(character)
            }
        }
        return text
    }
}

/// Who may sign in at all; without any list everybody whom the provider knows.
package struct AdmissionSettings: Sendable, Equatable {
    /// `emails` and `emailDomains` have ASCII letters in lower case: compare with an address that was lowered in the same
    /// way and has exactly one `@` (CVE-2026-40574).
    package var emails: [String] = []
    package var emailDomains: [String] = []
    package var groups: [String] = []

    package init() {}
}

/// The claim that says for whom an access token is.
package enum AudienceClaim: String, Sendable, CaseIterable, SettingWord {
    /// `aud` (RFC 9068 2.2)
    case audience = "aud"
    /// `client_id`, the client to which it was issued: for providers that write no `aud`, as Amazon Cognito. Where there
    /// is one, it counts too.
    case clientID = "client_id"
}
