package import Vocabulary

/// The settings of sessions and their cookies.
package struct SessionSettings: Sendable, Equatable {
    package struct Lifetimes: Sendable, Equatable {
        package var idle: Duration
        package var absolute: Duration
        /// How long the browser keeps the cookie. Only for web sessions.
        package var persistence = Persistence.never

        package init(idle: Duration, absolute: Duration) {
            self.idle = idle
            self.absolute = absolute
        }
    }

    /// How long a browser keeps the session cookie: until the browser closes (`never`) or the session ends (`always`).
    package enum Persistence: String, Sendable, CaseIterable, SettingWord {
        case never, always
        /// As the user chooses on the sign-in page.
        case ask

        /// Returns true if the cookie outlives the browser. `wished` is true if the user chose to stay signed in.
        package func applies(wished: Bool) -> Bool { self == .always || self == .ask && wished }
    }

    /// The events that restart a session's idle time.
    package enum IdleCounts: String, Sendable, CaseIterable, SettingWord {
        /// Requests, and content that running requests transfer in either direction.
        case traffic
        /// Requests only.
        case requests
    }

    /// The maximum number of a user's sessions of each kind; `nil` if the number is not limited.
    package struct MaxPerUser: Sendable, Equatable {
        package var browser: Int?
        package var native: Int?

        package init() {}
    }

    /// What happens to a sign-in that exceeds `MaxPerUser`.
    package enum OnLimit: String, Sendable, CaseIterable, SettingWord {
        /// The user's oldest sessions of this kind end.
        case endOldest = "end_oldest"
        /// The sign-in is refused.
        case refuse
    }

    package var browser = Lifetimes(idle: .seconds(1800), absolute: .seconds(12 * 3600))
    package var native = Lifetimes(idle: .seconds(30 * 86400), absolute: .seconds(90 * 86400))
    package var transfer = Lifetimes(idle: .seconds(900), absolute: .seconds(1800))
    package var idleCounts = IdleCounts.traffic
    package var maxPerUser = MaxPerUser()
    package var onLimit = OnLimit.endOldest
    /// The site data that a browser deletes when its user signs out.
    package var clearedSiteData: [SiteData] = []

    /// A kind of data for `Clear-Site-Data` (W3C Clear Site Data 3.1). Cookies are deleted in any case.
    package enum SiteData: String, Sendable, CaseIterable, SettingWord {
        case cache, storage
    }

    package var cookieName = "__Host-sallyport"
    /// The cookie with which a browser can repeat a handoff whose answer was lost.
    package var attemptCookieName: String { "\(self.cookieName)-attempt" }
    /// The cookie that marks handoff cookies as handled.
    package var handledCookieName: String { "\(self.cookieName)-handled" }
    /// The cookie with a token that waits for the user's confirmation.
    package var pendingCookieName: String { "\(self.cookieName)-\(Self.pendingCookieLabel)" }
    /// The end of `pendingCookieName`, after the session cookie's name and `-`.
    package static let pendingCookieLabel = "handoff"
    /// The cookie with the account that a browser last used on a host.
    package var accountCookieName: String { "\(self.cookieName)-\(Self.accountCookieLabel)" }
    /// The end of `accountCookieName`, after the session cookie's name and `-`.
    package static let accountCookieLabel = "account"

    /// Whether a cookie belongs to the gateway: its name is the session cookie's name, or that name followed by `-`.
    /// Over plain HTTP, the names have no prefix (`CookieScope.name`).
    package func isOwnCookie(_ name: String) -> Bool {
        [self.cookieName, CookieScope.plain.name(self.cookieName)].contains {
            name == $0 || name.hasPrefix("\($0)-")
        }
    }

    package init() {}
}

/// The store of sessions: Redis if it is configured, otherwise the memory of this process.
package struct StoreSettings: Sendable, Equatable {
    /// The maximum number of sessions that each event loop caches.
    package var cachedSessions = 65_536
    package var maxSessions = 1_000_000
    package var maxMarkers = 1_000_000
    /// The Redis settings; `nil` if sessions are kept in memory.
    package var redis: RedisSettings?

    /// Whether all gateways with these settings keep their sessions in one store.
    package var isShared: Bool { self.redis != nil }

    /// The name of the store in messages.
    package var title: String { self.redis == nil ? "memory" : "Redis" }
}

/// The settings of the Redis that gateways share.
package struct RedisSettings: Sendable, Equatable {
    /// The URL. It usually contains a password.
    package var url: Secret
    package var requireSafe = true
    package var requireAppendOnly = false

    package init(url: Secret) {
        self.url = url
    }
}

/// Where session-transfer tokens are accepted, and how long they are valid (`handoff`).
package struct HandoffSettings: Sendable, Equatable {
    package var cookieNames = ["auth0_session_transfer_token", "session_transfer_token"]
    package var queryParameter = "session_transfer_token"
    package var lifetime: Duration = .seconds(60)
    package var isShared = false
    package var confirmation = Confirmation.crossSite

    /// Which session-transfer tokens in the query the user must confirm on a page.
    package enum Confirmation: String, Sendable, CaseIterable, SettingWord {
        /// No tokens. Tokens in links on other sites are rejected without a question.
        case never
        /// Tokens in links on other sites.
        case crossSite = "cross_site"
        case always
    }

    package init() {}
}

/// The fields that carry the identity to the app.
package struct IdentitySettings: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name: String
        /// A path to a value of the session, e.g. `subject`, `session.id`, `identity.traits.email`, or one of
        /// `tokenPaths` or `certificatePaths`.
        package var path: String

        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }
    package struct BasicAuth: Sendable, Equatable {
        package var usernamePath: String
        package var password: Secret

        package init(usernamePath: String, password: Secret) {
            self.usernamePath = usernamePath
            self.password = password
        }
    }
    /// A claim of the assertion and the path to its value in the session.
    package struct Claim: Sendable, Equatable {
        package var name: String
        package var path: String

        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }
    /// `X-Auth-Assertion`: the identity as a signed JWT.
    package struct Assertion: Sendable, Equatable {
        /// The claims in addition to `reservedClaims`.
        package var claims: [Claim]

        package init(claims: [Claim] = []) {
            self.claims = claims
        }
    }
    package enum Preset: String, Sendable, CaseIterable, SettingWord {
        case sallyport, authelia, kratos
        case remoteUser = "remote-user"
        case oauth2Proxy = "oauth2-proxy"
    }
    /// The encoding of values with characters other than visible ASCII.
    package enum Encoding: String, Sendable, CaseIterable, SettingWord {
        /// Percent-encoded UTF-8 (RFC 3986 2.1).
        case percent
        /// Unchanged, in UTF-8 (`obs-text`, RFC 9110 5.5).
        case utf8
    }
    /// The paths to values of a session. A path that ends with a dot is the prefix of other paths.
    package static let pathRoots = [
        "subject", "session.id", "identity.id", "identity.schema_id", "identity.traits.", "identity.metadata_public.",
        "aal",
        "methods", "authenticated_at", "origin", "actor", "scopes", "client_id", "provider.name",
    ]
    /// The paths to tokens of the session's provider, for `fields` only.
    package static let tokenPaths = [Self.accessTokenPath, "provider.id_token"]
    /// The path to the access token of the session's provider.
    package static let accessTokenPath = "provider.access_token"
    /// The paths to values of the client's certificate, for `fields` only.
    package static let certificatePaths = [
        "client_certificate.sha256", "client_certificate.subject", "client_certificate.san",
    ]

    /// The claims that the gateway sets, and claims of RFC 7519 that would change how an assertion is verified.
    package static let reservedClaims = ["iss", "aud", "sub", "sid", "iat", "exp", "nbf", "jti"]

    package var preset: Preset = .sallyport
    /// Fields that replace the preset's fields. Empty to use the preset.
    package var fields: [Field] = []
    package var basic: BasicAuth?
    package var delimiter: UInt8 = 0x2C
    package var encoding: Encoding = .percent
    package var maxSize = 8192
    package var stripUnderscoreFields = true
    /// The assertion; `nil` if no assertion is sent.
    package var assertion: Assertion?

    package init() {}
}

/// The source of autonomous system numbers: either a database of MaxMind or IPinfo, or a `prefix,asn` CSV.
package enum ASNSettings: Sendable, Equatable {
    case database(path: String)
    case csv(path: String)
}

/// The source of geographic places of addresses: a database of MaxMind or IPinfo.
package struct GeoSettings: Sendable, Equatable {
    package var database: String
}
