package import Vocabulary

/// A served host and its routes.
///
/// ## Configuration keys (`hosts[]`)
/// - `public_url` (URL, required): scheme, host and port of the URL by which clients reach it.
/// - `endpoints` (boolean, default: false; true when it is the only host): serve sign-in and token endpoints here.
/// - `provider` (provider name, default: the first): whose users the host is for.
/// - `case_sensitive` (boolean, default: false): its apps treat `/Admin` and `/admin` as different.
/// - `same_site` (`lax` | `none`, default: lax): with which requests browsers send the gateway's cookies.
/// - `routes` (list, required): the paths that are served; the most specific one wins, in any order.
package struct HostSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var endpoints: Bool
    /// The name of the provider whose users the host is for; the sessions of others do not count on it.
    package var provider: String
    package var caseSensitive: Bool
    package var sameSite: SameSite
    package var routes: [RouteSettings]

    package enum SameSite: String, Sendable, CaseIterable {
        case lax
        /// With `Partitioned`: an app in a frame has a session of its own on each site that shows it.
        case none
    }

    /// With which requests browsers send the gateway's cookies of the host.
    package var cookieReach: CookieReach {
        guard self.publicURL.isHTTPS else { return .plain }
        return self.sameSite == .none ? .partitioned : .site
    }

    package init(
        publicURL: PublicURL,
        endpoints: Bool,
        provider: String = Realm.default.name,
        caseSensitive: Bool = false,
        sameSite: SameSite = .lax,
        routes: [RouteSettings]
    ) {
        self.publicURL = publicURL
        self.endpoints = endpoints
        self.provider = provider
        self.caseSensitive = caseSensitive
        self.sameSite = sameSite
        self.routes = routes
    }
}

/// What a path on a host demands, and the app it leads to.
///
/// ## Configuration keys (`hosts[].routes[]`)
/// - `name` (token, default: host and path): the label in metrics and logs.
/// - `path` (pattern, default: /**): exact, `prefix/**` for everything below, `*` for one segment.
/// - `path_info` (`refuse` | `follow`, default: refuse): a path below this one that a weaker route serves.
/// - `methods` (list, default: all methods but CONNECT and TRACE).
/// - `upstream` (name or URL, default: the top-level `upstream`).
/// - `host` (`client` or a literal, default: client): the `Host` that the app gets; `client` is the host's own
///   authority.
/// - `audience` (text, default: the origin of `public_url`): the audience of the assertions that the app gets.
/// - `auth` (`required` | `optional` | `public`, default: required).
/// - `require` (map): `aal`, `groups_any`, `scopes`, `origin`, `actor`, `max_age`; checked on every request.
/// - `unauthenticated` (`auto` | `login` | `401`, default: auto): the answer without a session.
/// - `client` (client_id): the web client whose handoff settings apply.
/// - `handoff` (boolean, default: true where a client is set): accept session-transfer tokens. `false` passes them to
///   the app; by default they are removed where no client is set.
/// - `binding` (`none` | `ip` | `asn` | `ip_dual_stack` | `ip_or_asn`, default: none): checked again on the live
///   session.
/// - `binding_action` (`reauthenticate` | `end_session` | `log`, default: reauthenticate): what follows if it does not
///   match.
/// - `bearer` (`gateway` | `app`, default: gateway): who reads `Authorization: Bearer`.
/// - `allow_encoded_slashes` (boolean, default: false): forward paths with `%2F`.
/// - `cache` (`private` | `app`, default: private): mark responses to signed-in users as private.
/// - `early_hints` (boolean, default: true): pass interim responses of the app on.
/// - `cors` (map): `origins`, `methods`, `headers`, `credentials`, `max_age`.
/// - `trusted_origins` (list of origins, default: none): may send unsafe requests with the session cookie.
/// - `max_body` (size, default: limits.body): the largest request body.
/// - `timeouts.response` (duration, default: timeouts.response).
package struct RouteSettings: Sendable, Equatable {
    package var name: String
    package var path: String
    package var pathInfo: PathInfo
    package var methods: [String]
    package var upstream: String
    /// nil: the name and port of the host's public URL.
    package var hostHeader: String?
    /// The audience of assertions; nil: the origin of the host's public URL.
    package var audience: String?
    package var auth: AuthRequirement
    package var require: RequirementSettings
    package var unauthenticated: UnauthenticatedAnswer
    package var client: String?
    package var handoff: Bool
    /// `handoff: false` was written: the parameter and its cookies are passed to the app.
    package var leavesHandoffToApp: Bool
    /// The audiences whose access tokens are accepted (`apis[].routes`).
    package var apiAudiences: [String]
    package var liveBinding: BindingMode
    package var bindingAction: BindingAction
    package var bearer: BearerOwner
    package var allowEncodedSlashes: Bool
    package var cachePrivate: Bool
    package var earlyHints: Bool
    package var cors: CORSSettings?
    package var trustedOrigins: [String]
    /// Bytes; nil: no limit.
    package var maxBody: Int?
    package var responseTimeout: Duration?

    package init(path: String, upstream: String, auth: AuthRequirement) {
        self.name = path
        self.path = path
        self.pathInfo = .refuse
        self.methods = []
        self.upstream = upstream
        self.hostHeader = nil
        self.audience = nil
        self.auth = auth
        self.require = RequirementSettings()
        self.unauthenticated = .auto
        self.client = nil
        self.handoff = false
        self.leavesHandoffToApp = false
        self.apiAudiences = []
        self.liveBinding = .none
        self.bindingAction = .reauthenticate
        self.bearer = .gateway
        self.allowEncodedSlashes = false
        self.cachePrivate = true
        self.earlyHints = true
        self.cors = nil
        self.trustedOrigins = []
        self.maxBody = nil
        self.responseTimeout = nil
    }

    /// The live binding that refuses requests.
    package var enforcedBinding: BindingMode { self.bindingAction == .log ? .none : self.liveBinding }

    /// Whether both take some request and neither is more specific. A route that names the method is more specific than
    /// one that takes all.
    func isTwin(of other: RouteSettings) -> Bool {
        self.path == other.path && self.methods.isEmpty == other.methods.isEmpty
            && (self.methods.isEmpty || self.methods.contains(where: other.methods.contains))
    }
}

package enum AuthRequirement: String, Sendable, CaseIterable { case required, optional, `public` }
package enum UnauthenticatedAnswer: String, Sendable, CaseIterable { case auto, login, unauthorized = "401" }
/// What happens to `/report.php/x` where `/report.php` demands more than the route of `/report.php/x`.
package enum PathInfo: String, Sendable, CaseIterable {
    /// 400.
    case refuse
    /// The stricter route judges and forwards it.
    case follow
}
/// What follows when another device presents a session.
package enum BindingAction: String, Sendable, CaseIterable {
    /// The request is refused, and the user has to sign in; the session stays, for the device that it is bound to.
    case reauthenticate
    /// The same, and the session ends with all that ends together with it.
    case endSession = "end_session"
    /// The request passes, and is counted and recorded: a dry run.
    case log
}
package enum BearerOwner: String, Sendable, CaseIterable { case gateway, app }

/// What a session must fulfil to pass a route: every member that is set.
package struct RequirementSettings: Sendable, Hashable {
    /// The lowest assurance level: `aal1`, `aal2` or `aal3`.
    package var aal: AssuranceLevel?
    package var groupsAny: [String] = []
    package var scopes: [String] = []
    /// How the session may have begun: `browser`, `native`, `transfer`.
    package var origins: [String] = []
    /// Whether nobody may act for the user (`actor: none`).
    package var refusesActors = false
    /// The longest time since the user signed in.
    package var maxAge: Duration?

    package init() {}
    package var isEmpty: Bool { self == RequirementSettings() }

    /// As it stands in the file: `aal: aal2, groups_any: [staff]`; empty if nothing is required.
    package var written: String {
        func list(_ name: String, _ values: [String]) -> String? {
            values.isEmpty ? nil : "\(name): [\(values.joined(separator: ", "))]"
        }
        let parts = [
            self.aal.map { "aal: \($0.rawValue)" }, list("groups_any", self.groupsAny), list("scopes", self.scopes),
            list("origin", self.origins), self.refusesActors ? "actor: none" : nil,
            self.maxAge.map { "max_age: \(Quantity.text($0))" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

package struct CORSSettings: Sendable, Hashable {
    /// Exact origins; `*` only without credentials.
    package var origins: [String] = []
    package var methods: [String] = ["GET", "HEAD", "POST"]
    package var headers: [String] = []
    package var credentials: Bool = false
    package var maxAge: Duration = .seconds(600)

    package init() {}
}

/// An app behind the gateway.
///
/// ## Configuration keys (`upstreams.<name>`)
/// - `url` (URL, required): `http://host:port` or `https://host:port`.
/// - `ca_file`, `certificate_file`, `key_file` (paths), `server_name` (name): TLS to the app.
/// - `max_connections` (integer, default: 1024, per event loop).
/// - `max_queue` (integer, default: 10000, per event loop): requests that wait for one of these connections.
/// - `reuse` (`shared` | `strict`, default: shared): which requests share a connection to the app.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    package var isHTTPS: Bool
    /// A name, or an address (IPv6 in brackets).
    package var host: String
    package var port: Int
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var serverName: String?
    package var maxConnections: Int
    package var maxQueue: Int
    package var reuse: ConnectionReuse

    package init(name: String, isHTTPS: Bool, host: String, port: Int) {
        self.name = name
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
        self.maxConnections = 1024
        self.maxQueue = 10_000
        self.reuse = .shared
    }
}

/// Which requests share a kept connection to an app.
package enum ConnectionReuse: String, Sendable, CaseIterable {
    /// All users, in turn.
    case shared
    /// Only requests of one session, or only requests without one, so that bytes that the app sends too late reach no
    /// other user.
    case strict
}
