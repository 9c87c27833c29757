package import Vocabulary

/// How long sessions live.
///
/// ## Configuration keys (`session`)
/// - `idle` (duration, default: 30m, range: 1m to 30d), `absolute` (duration, default: 12h, range: 1m to 365d).
/// - `native.idle` (default: 30d), `native.absolute` (default: 90d): sessions of native apps.
/// - `transfer.idle` (default: 15m), `transfer.absolute` (default: 30m): web sessions made by a handoff.
/// - `persistent` (`never` | `always` | `ask`, default: never), `transfer.persistent` (`never` | `always`, default: never):
///   whether browsers keep the cookie when they close.
/// - `idle_counts` (`traffic` | `requests`, default: traffic): what is a use of a session.
/// - `cookie` (token, default: __Host-sallyport).
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
    package enum Persistence: String, Sendable, CaseIterable {
        case never, always
        /// As the user chooses on the sign-in page.
        case ask

        /// - Parameter wished: Whether the user has chosen to stay signed in.
        package func applies(wished: Bool) -> Bool { self == .always || self == .ask && wished }
    }

    /// What is a use of a session, which begins its idle time anew.
    package enum IdleCounts: String, Sendable, CaseIterable {
        /// Requests, and content in either direction while they last.
        case traffic
        /// Requests only.
        case requests
    }

    package var browser = Lifetimes(idle: .seconds(1800), absolute: .seconds(12 * 3600))
    package var native = Lifetimes(idle: .seconds(30 * 86400), absolute: .seconds(90 * 86400))
    package var transfer = Lifetimes(idle: .seconds(900), absolute: .seconds(1800))
    package var idleCounts = IdleCounts.traffic
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
///
/// ## Configuration keys (`store`)
/// - `cached_sessions` (integer, default: 65536, range: 0 to 16777216): sessions that each event loop caches.
///
/// ## Configuration keys (`store.memory`)
/// - `max_sessions` (integer, default: 1000000), `max_markers` (integer, default: 1000000): when full, sign-in is 503.
package struct StoreSettings: Sendable, Equatable {
    /// How many sessions each event loop caches.
    package var cachedSessions = 65_536
    package var maxSessions = 1_000_000
    package var maxMarkers = 1_000_000
    /// nil: sessions are kept in memory.
    package var redis: RedisSettings?

    package init() {}
}

/// The Redis that gateways share.
///
/// ## Configuration keys (`store.redis`)
/// - `url` (Redis URL) or `url_file` (path of a file with it): exactly one.
/// - `require_safe` (boolean, default: true): not ready while Redis may evict keys or fails to save its data.
/// - `require_appendonly` (boolean, default: false): not ready while Redis keeps no append-only file.
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
///
/// ## Configuration keys (`handoff`)
/// - `cookies` (list, default: auth0_session_transfer_token, session_transfer_token).
/// - `query` (token, default: session_transfer_token).
/// - `lifetime` (duration, default: 60s, range: 1s to 300s).
/// - `share` (boolean, default: false): a handoff on a host without endpoints also signs the browser in on the first
///   host with endpoints.
/// - `confirm` (`never` | `cross_site` | `always`, default: cross_site): which tokens in the query need the user's
///   confirmation; with never, links on other sites are refused.
package struct HandoffSettings: Sendable, Equatable {
    package var cookieNames = ["auth0_session_transfer_token", "session_transfer_token"]
    package var queryParameter = "session_transfer_token"
    package var lifetime: Duration = .seconds(60)
    package var isShared = false
    package var confirmation = Confirmation.crossSite

    /// Which tokens in the query are used only after the user has confirmed it on a page.
    package enum Confirmation: String, Sendable, CaseIterable {
        /// None. Those in links on other sites are refused.
        case never
        /// Those in links on other sites.
        case crossSite = "cross_site"
        case always
    }

    package init() {}
}

/// Which fields carry the identity to the app.
///
/// ## Configuration keys (`identity`)
/// - `preset` (`sallyport` | `remote-user` | `oauth2-proxy` | `authelia` | `kratos`, default: sallyport).
/// - `headers` (map of field name to path, default: the preset's): names of your own, e.g. `X-User: subject`.
/// - `basic` (map): `username` path and `password_file`: basic authentication for apps that need it.
/// - `delimiter` (one character, default: ,): the separator of the elements of a list.
/// - `encoding` (`percent` | `utf8`, default: percent): how characters beyond visible ASCII are sent.
/// - `max_size` (size, default: 8KiB, range: 256 to 32KiB): all identity fields of a request together.
/// - `strip_underscore_fields` (boolean, default: true): remove client fields with `_` in their names.
/// - `assertion` (map): `enabled` (boolean, default: false) and `claims` (map of claim name to path, default: none).
package struct IdentitySettings: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name: String
        /// A path to a value of the session, e.g. `subject`, `session.id`, `identity.traits.email`, or one of
        /// `tokenPaths`.
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
    package enum Preset: String, Sendable, CaseIterable {
        case sallyport, authelia, kratos
        case remoteUser = "remote-user"
        case oauth2Proxy = "oauth2-proxy"
    }
    /// How a value with other characters than visible ASCII is written into a field.
    package enum Encoding: String, Sendable, CaseIterable {
        /// As ASCII from which percent-decoding (RFC 3986 2.1) gives the value back.
        case percent
        /// As it is, in UTF-8 (`obs-text`, RFC 9110 5.5).
        case utf8
    }
    /// The paths to values of a session; one that ends with a dot is the beginning of paths.
    package static let pathRoots = [
        "subject", "session.id", "identity.id", "identity.schema_id", "identity.traits.", "identity.metadata_public.",
        "aal",
        "methods", "authenticated_at", "origin", "actor", "scopes", "client_id",
    ]
    /// The paths to tokens of the session's provider, for `fields` only.
    package static let tokenPaths = ["provider.access_token", "provider.id_token"]

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
///
/// ## Configuration keys (`asn`)
/// - `database` (path): an `.mmdb` file with `autonomous_system_number` or `asn`.
/// - `csv` (path): lines of `prefix,asn`.
package enum ASNSettings: Sendable, Equatable {
    case database(path: String)
    case csv(path: String)
}

/// The source of the places of addresses: a database of MaxMind or IPinfo.
///
/// ## Configuration keys (`geo`)
/// - `database` (path, required): an `.mmdb` file with `country`.
package struct GeoSettings: Sendable, Equatable {
    package var database: String
}
