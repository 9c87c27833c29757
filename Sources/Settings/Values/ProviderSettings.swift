package import Pages
package import Vocabulary

/// A provider and its name.
package struct NamedProvider: Sendable, Equatable {
    /// The unique name, with which hosts and clients refer to the provider. The realm of its users has this name.
    package var name: String
    package var settings: any ProviderSettings {
        get { self.anySettings.value }
        set { self.anySettings.value = newValue }
    }
    private var anySettings: AnyProviderSettings
    /// The HTTP proxies for calls to the provider.
    package var proxies = OutgoingProxies()
    /// The label of the provider's button on a sign-in page; `nil` for its usual name.
    package var label: String?
    /// The image on the provider's button; `nil` for the gateway's own image for the provider.
    package var image: PageDesign.Logo?
    /// Whether a new gateway is ready only after it has reached the provider. `nil` to require this only while a host
    /// has no other usable provider.
    package var isEssential: Bool?
    /// The email domains (lower-case ASCII) whose users go straight to the provider if a host has several providers.
    package var domains: [String] = []
    /// True if a verified email address may link the provider's users to users of other providers.
    package var trustsEmail = false

    package init(name: String, settings: any ProviderSettings, proxies: OutgoingProxies = OutgoingProxies()) {
        self.name = name
        self.anySettings = AnyProviderSettings(value: settings)
        self.proxies = proxies
    }

    /// The provider's button on a sign-in page.
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
    /// The key below `provider` for settings of this kind.
    static var key: String { get }

    /// The URL that the gateway calls first; `nil` if the gateway calls nothing for the provider.
    var calledURL: String? { get }
    /// The file of certificates to trust for the provider's endpoints; `nil` for the system's certificates.
    var caFile: String? { get }
    /// True if the provider's endpoints may use plain http beyond loopback.
    var allowsPlainHTTP: Bool { get }

    /// True if a browser can sign in.
    var signsIn: Bool { get }
    /// True if users type their passwords on the gateway's own page.
    var asksForPasswords: Bool { get }
    /// True if the provider sends browsers back to the gateway.
    var redirects: Bool { get }
    /// True if the gateway can request an assurance level and a maximum age of a sign-in, and a sign-in that does not
    /// meet them fails (OpenID Connect Core 3.1.2.1; Kratos's `aal` and `refresh`).
    var enforcesRequestedAssurance: Bool { get }
    /// The elements of `IdentitySettings.tokenPaths` whose tokens the provider gives to the gateway.
    var givenTokens: [String] { get }
    /// The name of the provider's session cookie; `nil` if no cookie of the provider is accepted as a credential.
    var credentialCookie: String? { get }
    /// The unique name that identifies the provider in sessions and records; `nil` for the `static` provider.
    var ownName: String? { get }
    /// The `iss` of the tokens that the provider signs; `nil` if the gateway accepts no token that the provider signs.
    var tokenIssuer: String? { get }

    /// The mapping of the provider's claims to traits; `nil` if the provider's users have traits already.
    var claimMapping: ClaimSettings? { get }
    /// The users who may sign in.
    var allow: AdmissionSettings { get }
    /// The rule for the names of the provider's users.
    var names: SubjectNames { get }
    /// Returns these settings with another rule for the names of users.
    func naming(_ names: SubjectNames) -> Self

    /// The highest assurance level of the provider's sign-ins and tokens; `nil` if it depends on the user.
    var highestAssurance: AssuranceLevel? { get }
    /// The highest assurance level that any user's sign-in can reach; `aal0` if nobody can sign in.
    var highestSignIn: AssuranceLevel { get }
    /// Returns the assurance level that a sign-in of this user can reach; `nil` if it is unknown.
    ///
    /// - Parameter ownID: The provider's own id of the user.
    func assurance(of ownID: String) -> AssuranceLevel?
    /// The assurance level of each of the provider's `acr` values.
    var acrLevels: [String: AssuranceLevel] { get }

    /// The way in which the gateway learns whether a user still has access.
    var confirmation: UserConfirmation { get }

    /// The provider in the log line that reports readiness, such as `OpenID at https://id.example.com`.
    var title: String { get }
    /// The action of the sign-in page, such as `asks for the password`; `nil` if nobody can sign in.
    var signInStep: String? { get }
    /// The default choice for the provider in web-to-native sign-ins (`exchange.providers`); `nil` without a choice.
    var exchangeChoice: ExchangeSettings.Choice? { get }
}

extension ProviderSettings {
    package var caFile: String? { nil }
    package var allowsPlainHTTP: Bool { false }
    package var signsIn: Bool { true }
    package var asksForPasswords: Bool { false }
    package var redirects: Bool { false }
    package var enforcesRequestedAssurance: Bool { false }
    package var givenTokens: [String] { [] }
    package var credentialCookie: String? { nil }
    package var tokenIssuer: String? { nil }
    package var claimMapping: ClaimSettings? { nil }
    package var allow: AdmissionSettings { AdmissionSettings() }
    package var highestSignIn: AssuranceLevel { self.highestAssurance ?? .aal1 }
    package func assurance(of ownID: String) -> AssuranceLevel? { self.highestAssurance }
    package var acrLevels: [String: AssuranceLevel] { [:] }
    package var confirmation: UserConfirmation { .unasked }
    package var exchangeChoice: ExchangeSettings.Choice? { nil }

    /// Returns true if `other` has the same type and an equal value.
    fileprivate func equals(_ other: any ProviderSettings) -> Bool { other as? Self == self }
}

private struct AnyProviderSettings: Sendable, Equatable {
    var value: any ProviderSettings

    static func == (one: Self, other: Self) -> Bool { one.value.equals(other.value) }
}

/// The credentials of the gateway as a client of a provider.
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

/// The authorization request with which the gateway sends a browser to the provider.
package struct AuthorizationRequestSettings: Sendable, Equatable {
    package var scopes: [String]
    package var prompt: String?
    package var maxAge: Duration?
    package var acrValues: [AssuranceLevel: String] = [:]
    /// Additional parameters in the order of the file.
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

/// The mapping of a provider's claims to an identity.
package struct ClaimSettings: Sendable, Equatable {
    package struct Trait: Sendable, Equatable {
        package var name: String
        /// The steps of the path to the claim.
        package var path: [String]
        /// True if the trait is the list of an object's member names, as in `{"admin": {...}, "staff": {...}}`. In the
        /// settings, the path ends with `{}`.
        package var takesNames: Bool
        /// The form of the list if the claim is a list in one text; `nil` for other claims.
        package var textList: TextListForm?

        package init(name: String, path: [String], takesNames: Bool = false, textList: TextListForm? = nil) {
            self.name = name
            self.path = path
            self.takesNames = takesNames
            self.textList = textList
        }

        /// Reads a trait's path as written; `nil` if the text is not a path.
        package init?(name: String, at text: String) {
            guard let (path, takesNames) = ClaimSettings.place(text) else { return nil }
            self.init(name: name, path: path, takesNames: takesNames)
        }
    }

    /// The form in which a provider writes a list as one text.
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
    /// Patterns of the groups that are kept. Empty if all groups are kept.
    package var groupsOnly: [String] = []

    package init() {}

    /// Returns the trait `name`; if it is not configured, a trait with the claim `name`.
    package func trait(_ name: String) -> Trait {
        self.traits.first { $0.name == name } ?? Trait(name: name, path: [name])
    }

    /// Returns the path of the trait `name`; if it is not configured, the path of the claim `name`.
    package func path(ofTrait name: String) -> [String] { self.trait(name).path }

    /// True if the claim of the trait `email_verified` verifies the claim of the trait `email`. The claim
    /// `email_verified` verifies only the claim `email` beside it (OpenID Connect Core 5.1). Any other claim is trusted
    /// to verify the configured address.
    package var vouchesForEmail: Bool {
        let verified = self.path(ofTrait: "email_verified")
        return verified.last != "email_verified" || self.takesEmailItself
    }

    /// True if the trait `email` is the claim `email` beside the claim of the trait `email_verified`.
    var takesEmailItself: Bool {
        self.path(ofTrait: "email") == Array(self.path(ofTrait: "email_verified").dropLast()) + ["email"]
    }

    /// The highest level that a sign-in can reach.
    package var highest: AssuranceLevel { self.levels.map(\.level).max().map { max($0, .aal1) } ?? .aal1 }

    /// Reads a path to a claim: names separated by dots; `nil` if the text is not a path. A backslash escapes a dot,
    /// `[`, `{` or backslash in a name. After `[]`, the path continues in each element of a list. A path that begins
    /// with `https://` or `http://` is one name up to the first `[]`, because many providers name claims by a URL.
    package static func path(_ text: String) -> [String]? {
        guard let (steps, takesNames) = Self.place(text), !takesNames else { return nil }
        return steps
    }

    /// Reads a path that may end with `{}`: see `Trait.takesNames`.
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
                // `[]` is allowed only at the end of a name.
                guard !rest.isEmpty, !rest.elementsEqual("{}".utf8) else { continue }
                guard rest.popFirst() == UInt8(ascii: ".") else { return nil }
                steps.append([])
            case UInt8(ascii: "{") where rest.first == UInt8(ascii: "}"):
                // `{}` is allowed only at the end of the path.
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

    /// Returns the text that `path(_:)` reads as this path.
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

/// The users who may sign in. If all lists are empty, every user of the provider may sign in.
package struct AdmissionSettings: Sendable, Equatable {
    /// ASCII letters in `emails` and `emailDomains` are in lower case. Compare them only with a lowercased address that
    /// has exactly one `@` (CVE-2026-40574).
    package var emails: [String] = []
    package var emailDomains: [String] = []
    package var groups: [String] = []

    package init() {}
}

/// The claim that contains the audience of an access token.
package enum AudienceClaim: String, Sendable, CaseIterable, SettingWord {
    /// `aud` (RFC 9068 2.2)
    case audience = "aud"
    /// `client_id`, for providers that write no `aud`, such as Amazon Cognito. An existing `aud` must match, too.
    case clientID = "client_id"
}
