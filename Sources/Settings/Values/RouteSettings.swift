package import Vocabulary

/// One host that clients ask for, and the routes below it.
///
/// ## Configuration keys (`hosts[]`)
/// - `public_url` (URL, required): scheme, host and port by which clients reach it.
/// - `endpoints` (boolean, default: false; true when it is the only host): sign-in and token endpoints are served here.
/// - `case_sensitive` (boolean, default: false): its apps tell `/Admin` from `/admin`.
/// - `routes` (list, required): what is served, most specific first wins regardless of order.
package struct HostSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var endpoints: Bool
    package var caseSensitive: Bool
    package var routes: [RouteSettings]

    package init(publicURL: PublicURL, endpoints: Bool, caseSensitive: Bool = false, routes: [RouteSettings]) {
        self.publicURL = publicURL
        self.endpoints = endpoints
        self.caseSensitive = caseSensitive
        self.routes = routes
    }
}

/// What a path on a host demands and where it leads.
///
/// ## Configuration keys (`hosts[].routes[]`)
/// - `name` (token, default: host and path): the label in metrics and logs.
/// - `path` (pattern, default: /**): exact, `prefix/**` for the rest, `*` for one segment.
/// - `path_info` (`refuse` | `follow`, default: refuse): a path that goes on behind this one, on a wider, weaker route.
/// - `methods` (list, default: all registered methods but CONNECT and TRACE).
/// - `upstream` (name or URL, default: the top-level `upstream`).
/// - `host` (`client` or a literal, default: client): the `Host` that the app sees; `client` is the host's own authority.
/// - `auth` (`required` | `optional` | `public`, default: required).
/// - `require` (map): `aal`, `groups_any`, `scopes`, `origin`, `max_age`; judged on every request.
/// - `unauthenticated` (`auto` | `login` | `401`, default: auto): what a request without session gets.
/// - `client` (client_id): the web client whose handoff settings apply.
/// - `handoff` (boolean, default: true where a client is set): accept session-transfer tokens. `false` leaves them to
///   the app; by default they are removed where no client is set.
/// - `binding` (`none` | `ip` | `asn` | `ip_dual_stack` | `ip_or_asn`, default: none): re-checked on the live session.
/// - `bearer` (`gateway` | `app`, default: gateway): whose `Authorization: Bearer` is.
/// - `allow_encoded_slashes` (boolean, default: false): `%2F` in the path is the app's business.
/// - `cache` (`private` | `app`, default: private): answers that carry identity are marked private.
/// - `cors` (map): `origins`, `methods`, `headers`, `credentials`, `max_age`.
/// - `trusted_origins` (list of origins, default: none): may send cookie-authenticated unsafe requests.
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
    package var auth: AuthRequirement
    package var require: RequirementSettings
    package var unauthenticated: UnauthenticatedAnswer
    package var client: String?
    package var handoff: Bool
    /// `handoff: false` was written: the parameter and its cookies are the app's and pass.
    package var leavesHandoffToApp: Bool
    package var liveBinding: BindingMode
    package var bearer: BearerOwner
    package var allowEncodedSlashes: Bool
    package var cachePrivate: Bool
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
        self.auth = auth
        self.require = RequirementSettings()
        self.unauthenticated = .auto
        self.client = nil
        self.handoff = false
        self.leavesHandoffToApp = false
        self.liveBinding = .none
        self.bearer = .gateway
        self.allowEncodedSlashes = false
        self.cachePrivate = true
        self.cors = nil
        self.trustedOrigins = []
        self.maxBody = nil
        self.responseTimeout = nil
    }

    /// Both take some request, and neither is the more specific one. A route that names the method is more specific than
    /// one that takes all.
    func isTwin(of other: RouteSettings) -> Bool {
        self.path == other.path && self.methods.isEmpty == other.methods.isEmpty
            && (self.methods.isEmpty || self.methods.contains(where: other.methods.contains))
    }
}

package enum AuthRequirement: String, Sendable, CaseIterable { case required, optional, `public` }
package enum UnauthenticatedAnswer: String, Sendable, CaseIterable { case auto, login, unauthorized = "401" }
/// What becomes of `/report.php/x` where `/report.php` demands more than the route of `/report.php/x`.
package enum PathInfo: String, Sendable, CaseIterable {
    /// 400.
    case refuse
    /// It is judged and sent on by the stricter route.
    case follow
}
package enum BearerOwner: String, Sendable, CaseIterable { case gateway, app }

/// What a session must be to pass a route; every member that is set must hold.
package struct RequirementSettings: Sendable, Equatable {
    /// `aal1`, `aal2`, `aal3`: the least assurance level.
    package var aal: AssuranceLevel?
    package var groupsAny: [String] = []
    package var scopes: [String] = []
    /// `browser`, `native`, `transfer`: the ways the session may have begun.
    package var origins: [String] = []
    /// The longest time since the user authenticated.
    package var maxAge: Duration?

    package init() {}
    package var isEmpty: Bool { self == RequirementSettings() }
}

package struct CORSSettings: Sendable, Equatable {
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
/// - `ca_file`, `certificate_file`, `key_file` (paths), `server_name` (name): TLS towards the app.
/// - `max_connections` (integer, default: 1024, per event loop).
/// - `reuse` (`shared` | `strict`, default: shared): whom a connection to the app serves.
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
    package var reuse: ConnectionReuse

    package init(name: String, isHTTPS: Bool, host: String, port: Int) {
        self.name = name
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
        self.maxConnections = 1024
        self.reuse = .shared
    }
}

/// Whom a kept connection to an app serves.
package enum ConnectionReuse: String, Sendable, CaseIterable {
    /// One user after another.
    case shared
    /// Requests of one session, or requests without a session: what the app sends too late reaches nobody else.
    case strict
}
