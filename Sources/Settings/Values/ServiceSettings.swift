package import Vocabulary

/// How long sessions live.
package struct SessionSettings: Sendable, Equatable {
    package struct Lifetimes: Sendable, Equatable {
        package var idle: Duration
        package var absolute: Duration
        /// Of web sessions only.
        package var persistence = Persistence.never

        package init(idle: Duration, absolute: Duration) {
            self.idle = idle
            self.absolute = absolute
        }
    }

    /// Whether a browser keeps the session's cookie until the session ends, or until the browser closes.
    package enum Persistence: String, Sendable, CaseIterable, SettingWord {
        case never, always
        /// As the user chooses on the sign-in page.
        case ask

        /// - Parameter wished: Whether the user has chosen to stay signed in.
        package func applies(wished: Bool) -> Bool { self == .always || self == .ask && wished }
    }

    /// What is a use of a session, which begins its idle time anew.
    package enum IdleCounts: String, Sendable, CaseIterable, SettingWord {
        /// Requests, and content in either direction while they last.
        case traffic
        /// Requests only.
        case requests
    }

    package var browser = Lifetimes(idle: .seconds(1800), absolute: .seconds(12 * 3600))
    package var native = Lifetimes(idle: .seconds(30 * 86400), absolute: .seconds(90 * 86400))
    package var transfer = Lifetimes(idle: .seconds(900), absolute: .seconds(1800))
    package var idleCounts = IdleCounts.traffic
    /// What a browser forgets of the site when its user signs out.
    package var clearedSiteData: [SiteData] = []

    /// What `Clear-Site-Data` can name (W3C Clear Site Data 3.1); cookies go in any case.
    package enum SiteData: String, Sendable, CaseIterable, SettingWord {
        case cache, storage
    }

    package var cookieName = "__Host-sallyport"
    /// The cookie by which a browser can repeat a handoff whose answer was lost.
    package var attemptCookieName: String { "\(self.cookieName)-attempt" }
    /// The cookie that marks handoff cookies as handled.
    package var handledCookieName: String { "\(self.cookieName)-handled" }
    /// The cookie that keeps a token that waits for the user's confirmation.
    package var pendingCookieName: String { "\(self.cookieName)-\(Self.pendingCookieLabel)" }
    /// What follows the session cookie's name and `-` in that name.
    package static let pendingCookieLabel = "handoff"
    /// The cookie by which a host recognises the account that a browser last used there.
    package var accountCookieName: String { "\(self.cookieName)-\(Self.accountCookieLabel)" }
    /// What follows the session cookie's name and `-` in that name.
    package static let accountCookieLabel = "account"

    /// Whether a cookie of this name is the gateway's own: the session cookie's name, or that name continued with `-`.
    package func isOwnCookie(_ name: String) -> Bool {
        [self.cookieName, CookieReach.plain.name(self.cookieName)].contains {
            name == $0 || name.hasPrefix("\($0)-")
        }
    }

    package init() {}
}

/// Where sessions are kept: in Redis if it is configured, else in this process.
package struct StoreSettings: Sendable, Equatable {
    /// How many sessions each event loop caches.
    package var cachedSessions = 65_536
    package var maxSessions = 1_000_000
    package var maxMarkers = 1_000_000
    /// nil: sessions are kept in memory.
    package var redis: RedisSettings?

    /// True if all gateways with these settings keep their sessions in one store.
    package var isShared: Bool { self.redis != nil }

    /// The name of the store in messages.
    package var title: String { self.redis == nil ? "memory" : "Redis" }
}

/// The Redis that gateways share.
package struct RedisSettings: Sendable, Equatable {
    /// Usually holds a password.
    package var url: Secret
    package var requireSafe = true
    package var requireAppendOnly = false

    package init(url: Secret) {
        self.url = url
    }
}

/// Where a session-transfer token is accepted and how long it lives.
package struct HandoffSettings: Sendable, Equatable {
    package var cookieNames = ["auth0_session_transfer_token", "session_transfer_token"]
    package var queryParameter = "session_transfer_token"
    package var lifetime: Duration = .seconds(60)
    package var isShared = false
    package var confirmation = Confirmation.crossSite

    /// Which tokens in the query are used only after the user has confirmed it on a page.
    package enum Confirmation: String, Sendable, CaseIterable, SettingWord {
        /// None. Those in links on other sites are refused.
        case never
        /// Those in links on other sites.
        case crossSite = "cross_site"
        case always
    }

    package init() {}
}

/// Which fields carry the identity to the app.
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
        /// The claims besides `reservedClaims`.
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
    /// How a value with other characters than visible ASCII is written into a field.
    package enum Encoding: String, Sendable, CaseIterable, SettingWord {
        /// As ASCII from which percent-decoding (RFC 3986 2.1) gives the value back.
        case percent
        /// As it is, in UTF-8 (`obs-text`, RFC 9110 5.5).
        case utf8
    }
    /// The paths to values of a session; one that ends with a dot is the beginning of paths.
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

    /// The claims that the gateway sets itself, and those of RFC 7519 that would change how an assertion is verified.
    package static let reservedClaims = ["iss", "aud", "sub", "sid", "iat", "exp", "nbf", "jti"]

    package var preset: Preset = .sallyport
    /// The operator's own fields; when not empty they replace the preset's.
    package var fields: [Field] = []
    package var basic: BasicAuth?
    package var delimiter: UInt8 = 0x2C
    package var encoding: Encoding = .percent
    package var maxSize = 8192
    package var stripUnderscoreFields = true
    /// nil: none is sent.
    package var assertion: Assertion?

    package init() {}
}

/// The source of autonomous system numbers: a database of MaxMind or IPinfo, or a `prefix,asn` CSV; exactly one.
package enum ASNSettings: Sendable, Equatable {
    case database(path: String)
    case csv(path: String)
}

/// The source of the places of addresses: a database of MaxMind or IPinfo.
package struct GeoSettings: Sendable, Equatable {
    package var database: String
}
