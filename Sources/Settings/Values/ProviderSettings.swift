package import Pages
package import Vocabulary

/// A provider and the name by which hosts and clients choose it.
package struct NamedProvider: Sendable, Equatable {
    /// Unique in the settings; the name of its users' realm, under which their sessions are stored.
    package var name: String
    package var settings: ProviderSettings
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

    package init(name: String, settings: ProviderSettings, proxies: OutgoingProxies = OutgoingProxies()) {
        self.name = name
        self.settings = settings
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

/// How users sign in, and which tokens of others are accepted.
package enum ProviderSettings: Sendable, Equatable {
    /// Users in the configuration, for demos and tests. Not served beyond loopback without its flag.
    case fixedUsers([UserSettings])
    /// An OpenID provider: discovery, sign-in in the browser, access tokens as credentials.
    case openID(OpenIDSettings)
    /// Ory Kratos: sign-in at its pages, its session tokens and its cookie as credentials.
    case kratos(KratosSettings)
    /// A provider of plain OAuth 2.0, without discovery and id_token.
    case oauth2(OAuth2Settings)
    /// Access tokens only, judged by an introspection endpoint (RFC 7662); nobody can sign in.
    case introspection(IntrospectionSettings)

    /// The assurance level that a sign-in of this user can reach; nil when it is unknown.
    ///
    /// - Parameter ownID: The provider's own id of the user.
    package func assurance(of ownID: String) -> AssuranceLevel? {
        switch self {
        case .fixedUsers(let users): users.first { $0.ownID == ownID }?.aal
        case .introspection: nil
        case .openID, .kratos, .oauth2: self.highestAssurance
        }
    }

    /// The highest level that any sign-in or token can reach; nil: it depends on the user.
    var highestAssurance: AssuranceLevel? {
        switch self {
        case .fixedUsers: nil
        case .openID(let settings): settings.claims.highest
        case .kratos: .aal2
        case .oauth2: .aal1
        case .introspection(let settings): settings.claims.highest
        }
    }

    /// The same provider, whose users have these names.
    func naming(_ names: SubjectNames) -> ProviderSettings {
        switch self {
        case .fixedUsers(let users):
            return .fixedUsers(
                users.map { user in
                    var user = user
                    user.id = names.name(of: user.id) ?? user.id
                    return user
                }
            )
        case .openID(var settings):
            settings.names = names
            settings.introspection?.names = names
            return .openID(settings)
        case .kratos(var settings):
            settings.names = names
            return .kratos(settings)
        case .oauth2(var settings):
            settings.names = names
            return .oauth2(settings)
        case .introspection(var settings):
            settings.names = names
            return .introspection(settings)
        }
    }

    /// Whether nothing is called for it.
    var isLocal: Bool {
        if case .fixedUsers = self { true } else { false }
    }

    /// How its claims become traits; nil: its users have traits themselves.
    package var claims: ClaimSettings? {
        switch self {
        case .fixedUsers, .kratos: nil
        case .openID(let settings): settings.claims
        case .oauth2(let settings): settings.claims
        case .introspection(let settings): settings.claims
        }
    }

    /// The certificates to trust for its endpoints; nil: the system's.
    package var caFile: String? {
        switch self {
        case .fixedUsers: nil
        case .openID(let settings): settings.caFile
        case .kratos(let settings): settings.caFile
        case .oauth2(let settings): settings.caFile
        case .introspection(let settings): settings.caFile
        }
    }

    /// Whether it sends browsers back to the gateway.
    package var redirects: Bool {
        switch self {
        case .openID, .oauth2: true
        case .kratos, .fixedUsers, .introspection: false
        }
    }

    /// The name of the provider's own session cookie, which counts as a credential; nil: none does.
    package var cookieName: String? {
        if case .kratos(let settings) = self { settings.cookieName } else { nil }
    }

    /// What the provider calls itself in the sessions and records that come from it; nil: nothing. No two configured
    /// providers call themselves the same.
    package var ownName: String? {
        switch self {
        case .fixedUsers: nil
        case .openID(let settings): settings.issuer
        case .kratos(let settings): settings.publicURL.description
        case .oauth2(let settings): settings.name
        case .introspection(let settings): settings.issuer ?? settings.url
        }
    }

    /// `iss` of the tokens that it signs; nil: it signs none that count here.
    package var tokenIssuer: String? {
        if case .openID(let settings) = self { settings.issuer } else { nil }
    }

    /// Whether a browser can sign in.
    package var signsIn: Bool {
        if case .introspection = self { false } else { true }
    }
}

/// A user of the `static` provider.
package struct UserSettings: Sendable, Equatable {
    /// What the user types: an email address or a name.
    package var identifier: String
    /// What apps call the user.
    package var id: String
    /// The id in the settings, without the provider's name before it.
    package let ownID: String
    /// By scrypt, bcrypt or Argon2, as `TextRule.passwordHash` permits.
    package var passwordHash: Secret
    package var traits: JSONValue
    /// The level that signing in reaches.
    package var aal: AssuranceLevel

    package init(identifier: String, id: String, passwordHash: Secret, traits: JSONValue, aal: AssuranceLevel) {
        self.identifier = identifier
        self.id = id
        self.ownID = id
        self.passwordHash = passwordHash
        self.traits = traits
        self.aal = aal
    }
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

/// An OpenID provider.
package struct OpenIDSettings: Sendable, Equatable {
    /// Every algorithm that may be allowed, in the order of the default.
    package static let algorithms = [
        "RS256", "PS256", "ES256", "EdDSA", "RS384", "RS512", "PS384", "PS512", "ES384", "ES512",
    ]

    package var issuer: String
    package var caFile: String?
    package var client: ProviderClientSettings
    package var authorization = AuthorizationRequestSettings(scopes: ["openid", "profile", "email"])
    package var claims = ClaimSettings()
    package var allow = AdmissionSettings()
    package var userinfo = UserInfoUse.auto
    package var responseMode = ResponseMode.query
    package var algorithms = Self.algorithms
    /// The audiences of access tokens; empty: none is accepted as a credential.
    package var audiences: [String] = []
    package var audienceClaim = AudienceClaim.audience
    /// How opaque access tokens are judged; nil: they are not accepted.
    package var introspection: IntrospectionSettings?
    package var usesDPoP = false
    /// What the users are called.
    package var names = SubjectNames()

    package init(issuer: String, client: ProviderClientSettings) {
        self.issuer = issuer
        self.client = client
    }
}

/// When a provider's userinfo endpoint is asked.
package enum UserInfoUse: String, Sendable, CaseIterable, SettingWord {
    /// For traits that the id_token lacks. A sign-in goes on without an answer if the id_token suffices.
    case auto
    /// At each sign-in, which fails without an answer.
    case required
    case off
}

/// How the provider sends its answer with the browser (`response_mode`).
package enum ResponseMode: String, Sendable, CaseIterable, SettingWord {
    /// In the query of the callback.
    case query
    /// In a form that the browser posts (OAuth 2.0 Form Post Response Mode), as Apple does where it is asked for scopes.
    case formPost = "form_post"
}

/// The claim that says for whom an access token is.
package enum AudienceClaim: String, Sendable, CaseIterable, SettingWord {
    /// `aud` (RFC 9068 2.2)
    case audience = "aud"
    /// `client_id`, the client to which it was issued: for providers that write no `aud`, as Amazon Cognito. Where there
    /// is one, it counts too.
    case clientID = "client_id"
}

/// A provider of plain OAuth 2.0.
package struct OAuth2Settings: Sendable, Equatable {
    package var name: String
    package var authorizationURL: String
    package var tokenURL: String
    package var userinfoURL: String
    package var caFile: String?
    package var client: ProviderClientSettings
    package var authorization = AuthorizationRequestSettings(scopes: [])
    package var usesPKCE = true
    package var claims = ClaimSettings()
    package var allow = AdmissionSettings()
    /// What the users are called.
    package var names = SubjectNames()

    package init(
        name: String,
        authorizationURL: String,
        tokenURL: String,
        userinfoURL: String,
        client: ProviderClientSettings
    ) {
        self.name = name
        self.authorizationURL = authorizationURL
        self.tokenURL = tokenURL
        self.userinfoURL = userinfoURL
        self.client = client
    }
}

/// An introspection endpoint (RFC 7662).
package struct IntrospectionSettings: Sendable, Equatable {
    /// nil: the one that the issuer's metadata names.
    package var url: String?
    package var caFile: String?
    package var issuer: String?
    package var client: ProviderClientSettings
    package var audiences: [String]
    package var audienceClaim = AudienceClaim.audience
    /// The provider's ids of the clients whose refresh tokens count; empty: none does.
    package var refreshTokenClients: [String] = []
    /// Whose refresh tokens count: they make sessions of browsers.
    package var allow = AdmissionSettings()
    package var claims = ClaimSettings()
    /// What the users are called.
    package var names = SubjectNames()

    package init(url: String?, client: ProviderClientSettings, audiences: [String]) {
        self.url = url
        self.client = client
        self.audiences = audiences
    }
}
