package import Vocabulary

/// A served host and its routes.
package struct HostSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var endpoints: Bool
    /// Whether the operator wrote `endpoints: true`, so that the host has all of them.
    package var asksForEndpoints = true
    /// What the endpoints outside of `/.sallyport/` are there for, if `endpoints` is true. The app has the paths of the
    /// others.
    package var jobs = EndpointJobs.all
    /// The names of the providers whose users the host is for, in the order of its sign-in page; the sessions of others
    /// do not count on it. Never empty.
    package var providers: [String]
    package var signIn = SignInOrder.choose
    package var caseSensitive: Bool
    package var sameSite: SameSite
    /// Whether the host tells Apple and Google which apps may take the callbacks on it (`well_known`).
    package var namesApps = false
    /// Names for which its wildcard does not stand, because they are the operators' own.
    package internal(set) var reservedNames: [String] = []
    package var routes: [RouteSettings]

    /// What the sign-in page of a host with several providers begins with.
    package enum SignInOrder: String, Sendable, CaseIterable, SettingWord {
        /// All that the host has.
        case choose
        /// The user's address, which may say which of them it is.
        case identifierFirst = "identifier_first"
    }

    package enum SameSite: String, Sendable, CaseIterable, SettingWord {
        case lax
        /// With `Partitioned`: an app in a frame has a session of its own on each site that shows it.
        case none
    }

    /// Whose users the host is for.
    package var realms: Realms { Realms(self.providers.map { Realm($0) }) }

    /// With which requests browsers send the gateway's cookies of the host.
    package var cookieReach: CookieReach {
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

/// What a path on a host demands, and the app it leads to.
package struct RouteSettings: Sendable, Equatable {
    package var name: String
    package var path: String
    package var pathInfo = PathInfo.refuse
    package var methods: [String] = []
    /// The name of the app; nil: the route is only judged, for other proxies that ask (`authorization`).
    package var upstream: String?
    /// nil: the name and port of the host's public URL.
    package var hostHeader: String?
    /// The audience of assertions; nil: the origin of the host's public URL.
    package var audience: String?
    /// How the app gets the values of identity fields; `nil` for `identity.encoding`.
    package var identityEncoding: IdentitySettings.Encoding?
    package var auth: AuthRequirement
    package var require = RequirementSettings()
    package var unauthenticated = UnauthenticatedAnswer.auto
    package var client: String?
    package var handoff = false
    /// `handoff: false` was written: the parameter and its cookies are passed to the app.
    package var leavesHandoffToApp = false
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
    /// Bytes; nil: no limit.
    package var maxBody: Int?
    package var responseTimeout: Duration?
    /// The beginning of the path that the app does not get, e.g. `/app`; nil: it gets the whole path.
    package var stripPrefix: String?
    /// What the app gets before the path, e.g. `/v2`; nil: nothing.
    package var addPrefix: String?
    package var requestHeaders = FieldChanges()
    package var responseHeaders = FieldChanges()

    package init(path: String, upstream: String?, auth: AuthRequirement) {
        self.name = path
        self.path = path
        self.upstream = upstream
        self.auth = auth
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

package enum AuthRequirement: String, Sendable, CaseIterable, SettingWord { case required, optional, `public` }
package enum UnauthenticatedAnswer: String, Sendable, CaseIterable, SettingWord {
    case auto, login, unauthorized = "401"
}
/// What happens to `/report.php/x` where `/report.php` demands more than the route of `/report.php/x`.
package enum PathInfo: String, Sendable, CaseIterable, SettingWord {
    /// 400.
    case refuse
    /// The stricter route judges and forwards it.
    case follow
}
/// What follows when another device presents a session.
package enum BindingAction: String, Sendable, CaseIterable, SettingWord {
    /// The request is refused, and the user has to sign in; the session stays, for the device that it is bound to.
    case reauthenticate
    /// The same, and the session ends with all that ends together with it.
    case endSession = "end_session"
    /// The request passes, and is counted and recorded: a dry run.
    case log
}
package enum BearerOwner: String, Sendable, CaseIterable, SettingWord { case gateway, app }

/// What a session must fulfil to pass a route: every member that is set.
package struct RequirementSettings: Sendable, Hashable {
    /// The names of the providers whose users may pass; empty: those of all of the host.
    package var providers: [String] = []
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
    /// What the client proved in the TLS handshake; nil: nothing is required.
    package var clientCertificate: CertificateRequirement?

    package init() {}
    package var isEmpty: Bool { self == RequirementSettings() }

    /// As it stands in the file: `aal: aal2, groups_any: [staff]`; empty if nothing is required.
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

/// Which certificates of clients pass a route: those for which every member that is set holds.
package struct CertificateRequirement: Sendable, Hashable {
    /// Alternative names of which it has one; empty: whatever its names are.
    package var names: [CertificateName] = []
    /// Its issuer, as RFC 4514 writes names; nil: any authority that the listener trusts.
    package var issuer: String?

    package init() {}

    /// As it stands in the file.
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
