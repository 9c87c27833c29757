package import Vocabulary

/// A served host and its routes.
package struct HostSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var endpoints: Bool
    /// Whether `endpoints: true` is written. If it is, the host has all endpoints.
    package var asksForEndpoints = true
    /// The endpoints outside of `/.sallyport/` that the host serves if `endpoints` is true.
    package var jobs = EndpointGroups.all
    /// The names of the host's providers, in the order of the sign-in page; never empty. The host ignores sessions of
    /// other providers' users.
    package var providers: [String]
    package var signIn = SignInOrder.choose
    package var caseSensitive: Bool
    package var sameSite: SameSite
    /// Whether the host tells Apple and Google which apps may open its callbacks (`well_known`).
    package var namesApps = false
    /// Names that the host's wildcard does not cover: the names of management listeners.
    package internal(set) var reservedNames: [String] = []
    package var routes: [RouteSettings]

    /// The first step of the sign-in page on a host with several providers.
    package enum SignInOrder: String, Sendable, CaseIterable, SettingWord {
        /// The page offers all providers of the host.
        case choose
        /// The page asks for the user's email address. Its domain may determine the provider.
        case identifierFirst = "identifier_first"
    }

    package enum SameSite: String, Sendable, CaseIterable, SettingWord {
        case lax
        /// `SameSite=None` with `Partitioned`: an app in a frame has a separate session on each site that embeds it.
        case none
    }

    /// The realms whose users the host serves.
    package var realms: Realms { Realms(self.providers.map { Realm($0) }) }

    /// The requests with which browsers send the gateway's cookies.
    package var cookieReach: CookieScope {
        guard self.publicURL.isHTTPS else { return .plain }
        return self.sameSite == .none ? .partitioned : .site
    }

    package init(
        publicURL: PublicURL,
        endpoints: Bool,
        providers: [String] = [Realm.default.name],
        caseSensitive: Bool = false,
        sameSite: SameSite = .lax,
        routes: [RouteSettings]
    ) {
        self.publicURL = publicURL
        self.endpoints = endpoints
        self.providers = providers
        self.caseSensitive = caseSensitive
        self.sameSite = sameSite
        self.routes = routes
    }
}

/// A path on a host, its requirements, and the app that serves it.
package struct RouteSettings: Sendable, Equatable {
    package var name: String
    package var path: String
    package var pathInfo = PathInfo.refuse
    package var methods: [String] = []
    /// The name of the app; `nil` if the route only serves checks of other proxies (`authorization`).
    package var upstream: String?
    /// The `Host` that the app gets; `nil` for the name and port of the host's public URL.
    package var hostHeader: String?
    /// The audience of assertions; `nil` for the origin of the host's public URL.
    package var audience: String?
    /// The encoding of identity fields; `nil` for `identity.encoding`.
    package var identityEncoding: IdentitySettings.Encoding?
    package var auth: AuthRequirement
    package var require = RequirementSettings()
    package var unauthenticated = UnauthenticatedAnswer.auto
    package var client: String?
    package var handoff = false
    /// Whether `handoff: false` is written. The app gets the parameter and cookies of transfer tokens in this case.
    package var passesHandoffToApp = false
    /// The audiences whose access tokens are accepted (`apis[].routes`).
    package var apiAudiences: [String] = []
    package var liveBinding = BindingMode.none
    package var bindingAction = BindingAction.reauthenticate
    package var bearer = BearerOwner.gateway
    package var allowEncodedSlashes = false
    package var cachePrivate = true
    package var earlyHints = true
    package var cors: CORSSettings?
    package var trustedOrigins: [String] = []
    /// The limit of a request body in bytes; `nil` for no limit.
    package var maxBody: Int?
    package var responseTimeout: Duration?
    /// The prefix that is removed from the path, e.g. `/app`; `nil` if the app gets the whole path.
    package var stripPrefix: String?
    /// The prefix that is added to the path, e.g. `/v2`; `nil` if no prefix is added.
    package var addPrefix: String?
    package var requestHeaders = FieldChanges()
    package var responseHeaders = FieldChanges()

    package init(path: String, upstream: String?, auth: AuthRequirement) {
        self.name = path
        self.path = path
        self.upstream = upstream
        self.auth = auth
    }

    /// The live binding that is enforced; `none` if a mismatch is only logged.
    package var enforcedBinding: BindingMode { self.bindingAction == .log ? .none : self.liveBinding }

    /// True if some request matches both routes and neither route is more specific. A route with methods is more
    /// specific than a route for all methods.
    func isTwin(of other: RouteSettings) -> Bool {
        self.path == other.path && self.methods.isEmpty == other.methods.isEmpty
            && (self.methods.isEmpty || self.methods.contains(where: other.methods.contains))
    }
}

package enum AuthRequirement: String, Sendable, CaseIterable, SettingWord { case required, optional, `public` }
package enum UnauthenticatedAnswer: String, Sendable, CaseIterable, SettingWord {
    case auto, login, unauthorized = "401"
}
/// What happens to `/report.php/x` if the route of `/report.php` is stricter than the route of `/report.php/x`.
package enum PathInfo: String, Sendable, CaseIterable, SettingWord {
    /// Rejects the request with 400.
    case refuse
    /// Applies the stricter route.
    case follow
}
/// The reaction to a session that another device presents.
package enum BindingAction: String, Sendable, CaseIterable, SettingWord {
    /// Rejects the request. The device must sign in, and the session stays valid on its own device.
    case reauthenticate
    /// Rejects the request and ends the session.
    case endSession = "end_session"
    /// Forwards the request. The mismatch is only counted and recorded (a dry run).
    case log
}
package enum BearerOwner: String, Sendable, CaseIterable, SettingWord { case gateway, app }

/// The requirements of a route for a session. All of them must hold.
package struct RequirementSettings: Sendable, Hashable {
    /// The names of the providers whose users may pass. Empty for all providers of the host.
    package var providers: [String] = []
    /// The lowest assurance level: `aal1`, `aal2` or `aal3`.
    package var aal: AssuranceLevel?
    package var groupsAny: [String] = []
    package var scopes: [String] = []
    /// The accepted origins of the session: `browser`, `native`, `transfer`.
    package var origins: [String] = []
    /// Whether sessions with an actor are rejected (`actor: none`).
    package var refusesActors = false
    /// The maximum time since the user signed in; `nil` for no limit.
    package var maxAge: Duration?
    /// The requirement for the client's TLS certificate; `nil` if no certificate is required.
    package var clientCertificate: CertificateRequirement?

    package init() {}
    package var isEmpty: Bool { self == RequirementSettings() }

    /// The requirements as written in the file: `aal: aal2, groups_any: [staff]`; empty if nothing is required.
    package var written: String {
        func list(_ name: String, _ values: [String]) -> String? {
            values.isEmpty ? nil : "\(name): [\(values.joined(separator: ", "))]"
        }
        let parts = [
            list("provider", self.providers), self.aal.map { "aal: \($0.rawValue)" },
            list("groups_any", self.groupsAny), list("scopes", self.scopes),
            list("origin", self.origins), self.refusesActors ? "actor: none" : nil,
            self.maxAge.map { "max_age: \(Quantity.text($0))" },
            self.clientCertificate.map { "client_certificate: {\($0.written)}" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

/// The requirements for a certificate: a client's for a route, or a peer's for `authorization`. All of them must hold.
package struct CertificateRequirement: Sendable, Hashable {
    /// The certificate must have one of these alternative names. Empty for any name.
    package var names: [CertificateName] = []
    /// The issuer in the form of RFC 4514; `nil` for any authority that the listener trusts.
    package var issuer: String?

    package init() {}

    /// The requirements as written in the file.
    var written: String {
        let names = self.names.isEmpty ? nil : "san_any: [\(self.names.map(\.text).joined(separator: ", "))]"
        return [names, self.issuer.map { "issuer: \($0)" }].compactMap(\.self).joined(separator: ", ")
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
