package import NIOCore
import Observability
package import Settings
import Vocabulary

/// A route, ready to be matched: made when the configuration is loaded and never changed.
package final class RouteEntry: Sendable {
    /// The index of the route among the routes of all hosts.
    package let index: Int
    /// The label in logs and metrics.
    package let name: String
    package let settings: RouteSettings
    /// The index of the route's upstream in `Settings.upstreams`; nil: the route is only judged, for other proxies that ask.
    package let upstreamIndex: Int?
    /// The lines that the app gets on this route: `Host` with the route's own name for the app, or the host's public one;
    /// the stripped prefix; and what the route sets. The client's own spelling of the host (a port, a dot at the end,
    /// capitals) is not passed on, because an app may build URLs from it.
    package let lines: [UInt8]
    /// Whether `Host` is not in these lines, but that of the name by which the client knows a host with a wildcard.
    let takesHostLine: Bool
    /// How the path that the app gets differs from the public one. `nil` if it does not.
    let prefixes: PathPrefixes?
    /// Whether the app gets another path.
    let changesPath: Bool
    /// True if `Destination` and `If` get the app's paths as well. An app whose route sets `X-Script-Name` by itself knows the
    /// public ones.
    let changesReferences: Bool
    /// True if fields are set to the client's address.
    let tellsAddress: Bool
    private let requestEdits: FieldEdits
    /// Whether fields of the client are removed on this route.
    let editsRequests: Bool
    /// What the client gets with the app's answers.
    let answerEdits: FieldEdits
    /// The origins that the app takes for its own on this route, by the name that it has here; empty: the public one.
    let ownOrigins: [[UInt8]]
    /// True if references in the app's answers differ on this route: their path, or an origin.
    let changesPublicReferences: Bool
    /// Whether the answers of the app differ on this route: their fields, or an origin or path in `Location`.
    let changesAnswers: Bool
    /// Whom the app's assertions are for, where `takesHostAudience` is not set.
    package let audience: Audience
    /// Whether they are for the name by which the client knows a host with a wildcard.
    private let takesHostAudience: Bool
    // The settings that every request asks for, as comparing enums of another module is a call through a table.
    /// Whether nobody has to sign in, and no session is looked up.
    package let isPublic: Bool
    /// Whether `Authorization: Bearer` and `DPoP` are for the gateway.
    package let ownsBearer: Bool
    /// Whether the device that uses a session is compared with the one for which it was made.
    package let bindsDevice: Bool
    /// Whether the route requires more of a session than that it exists.
    package let hasRequirements: Bool
    /// Whether the app gets the values of identity fields in the encoding that `identity.encoding` does not name.
    let encodesOtherwise: Bool
    /// The largest body in bytes; nil: no limit.
    package let maxBody: Int?
    /// Whether the gateway sends basic authentication to the app. Then a client's `Authorization` is removed.
    package let replacesAuthorization: Bool
    /// Whether the upstream is the identity provider. It gets `X-Session-Token`, which is its own field.
    package let leavesSessionToken: Bool
    /// Equal for routes of the table with the same demands, whatever their app.
    package let demands: Int

    /// Origins besides the host's own that may send unsafe requests with a cookie.
    package let trustedOrigins: [[UInt8]]
    /// Lines that let other origins read the responses; nil: the app alone decides.
    let crossOriginLines: CrossOriginLines?
    /// How long the app may take to begin its response; nil: the limit of all routes.
    package let responseTimeout: TimeAmount?
    /// Whether the same path with other methods leads to another route. Then a field that overrides the method is
    /// removed.
    package let dropsMethodOverride: Bool
    /// The number of colons in the route's path.
    let colonCount: Int
    let methods: MethodSet
    let strictness: Strictness
    /// Whether the app shall not learn the trace of a request.
    let hidesTrace: Bool
    /// What spans of its requests have behind the method in their name, and `http.route`.
    let spanRun: SpanRun

    /// - Parameters:
    ///   - url: The public URL of the host.
    ///   - sharesPath: Whether another route has the same path with other methods.
    init(
        index: Int,
        settings: RouteSettings,
        url: PublicURL,
        audience: Audience,
        sharesPath: Bool,
        upstreamIndex: Int?,
        replacesAuthorization: Bool,
        leavesSessionToken: Bool = false,
        demands: Int,
        requirement: Int
    ) {
        self.index = index
        self.name = settings.name
        self.settings = settings
        self.upstreamIndex = upstreamIndex
        let requestEdits = FieldEdits(settings.requestHeaders)
        let answerEdits = FieldEdits(settings.responseHeaders)
        let changed = Set(settings.requestHeaders.names.map(FieldChanges.normalized))
        let prefixLines = ["X-Forwarded-Prefix", "X-Script-Name"].filter { !changed.contains($0.lowercased()) }
            .map { name in settings.stripPrefix.map { "\(name): \($0)\r\n" } ?? "" }.joined()
        self.takesHostLine = url.isWildcard && settings.hostHeader == nil
        let hostLine = self.takesHostLine ? "" : "Host: \(settings.hostHeader ?? url.authority)\r\n"
        self.lines = Array("\(hostLine)\(prefixLines)".utf8) + requestEdits.lines
        self.prefixes = PathPrefixes(settings)
        self.changesPath = self.prefixes != nil
        self.changesReferences =
            self.prefixes != nil
            && !settings.requestHeaders.set.contains { FieldChanges.normalized($0.name) == "x-script-name" }
        self.tellsAddress = !requestEdits.addressNames.isEmpty
        self.requestEdits = requestEdits
        self.editsRequests = !requestEdits.isEmpty
        self.answerEdits = answerEdits
        self.ownOrigins =
            settings.hostHeader.map { name in ["http", "https"].map { Array("\($0)://\(name)".utf8) } } ?? []
        self.changesPublicReferences = self.prefixes != nil || !self.ownOrigins.isEmpty
        self.changesAnswers = !answerEdits.isEmpty || self.changesPublicReferences
        self.audience = audience
        self.takesHostAudience = url.isWildcard && settings.audience == nil
        self.isPublic = settings.auth == .public
        self.ownsBearer = settings.bearer == .gateway
        self.bindsDevice = settings.liveBinding != .none
        self.hasRequirements = !settings.require.isEmpty
        self.encodesOtherwise = settings.identityEncoding != nil
        self.maxBody = settings.maxBody
        self.replacesAuthorization = replacesAuthorization
        self.leavesSessionToken = leavesSessionToken
        self.demands = demands
        self.trustedOrigins = settings.trustedOrigins.map { Array($0.utf8) }
        self.crossOriginLines = settings.cors.map { CrossOriginLines($0) }
        self.responseTimeout = settings.responseTimeout.map { TimeAmount($0) }
        self.colonCount = settings.path.utf8.count { $0 == UInt8(ascii: ":") }
        self.methods = MethodSet(settings.methods)
        self.dropsMethodOverride = sharesPath || !self.methods.isUnrestricted
        self.strictness = Strictness(settings, requirement: requirement)
        self.hidesTrace = Array("traceparent".utf8).withUnsafeBufferPointer { requestEdits.removes($0) }
        self.spanRun = SpanRun(name: " \(settings.path)") { $0.attribute("http.route", settings.path) }
    }

    /// Whom the app's assertions are for.
    ///
    /// - Parameter host: The host of the request.
    @inline(__always)
    package func audience(on host: HostEntry) -> Audience {
        self.takesHostAudience ? host.audience ?? self.audience : self.audience
    }

    /// Its index. Every request asks for it, so no reference to the text is counted.
    @inline(__always)
    func audienceIndex(on host: HostEntry) -> Int {
        self.takesHostAudience ? self.audience(on: host).index : self.audience.index
    }

    /// Writes the fields that are set to the client's address.
    @inline(never)
    func write(address: [UInt8], _ writer: inout ByteWriter) {
        for name in self.requestEdits.addressNames {
            writer.write(name)
            writer.write(address)
            writer.write("\r\n")
        }
    }

    /// The most bytes of the fields that are set to the client's address.
    func room(forAddress address: [UInt8]) -> Int {
        self.requestEdits.addressNames.reduce(0) { $0 + $1.count + address.count + 2 }
    }

    /// Whether the app does not get a field of the client.
    @inline(never)
    func removes(_ name: UnsafeBufferPointer<UInt8>) -> Bool { self.requestEdits.removes(name) }
}

/// The recipient of assertions (`aud`, RFC 7519 4.1.3).
package struct Audience: Sendable {
    /// Equal for equal audiences of one table.
    package let index: Int
    package let text: String

    package init(index: Int, text: String) {
        self.index = index
        self.text = text
    }

    /// That of a name of a wildcard. Its index is a hash that nobody outside can foresee, so that it is the same whenever the
    /// name is asked for, and none of a table's.
    init(of origin: String) {
        var hasher = Hasher()
        hasher.combine(origin)
        self.init(index: hasher.finalize() | (1 << 62), text: origin)
    }
}

/// What a route demands of a request. Two readings of one path may lead to different routes, but not to different
/// demands.
struct Demands: Hashable {
    var auth: AuthRequirement
    var require: RequirementSettings
    var binding: BindingMode
    var bearer: BearerOwner
    var cors: CORSSettings?
    var trustedOrigins: [String]
    var maxBody: Int?
    /// A name that one app decodes is another user's to an app that does not.
    var identityEncoding: IdentitySettings.Encoding?

    init(_ settings: RouteSettings) {
        self.auth = settings.auth
        self.require = settings.require
        self.binding = settings.enforcedBinding
        self.bearer = settings.bearer
        self.cors = settings.cors
        self.trustedOrigins = settings.trustedOrigins
        self.maxBody = settings.maxBody
        self.identityEncoding = settings.identityEncoding
    }
}

/// How strict a route is towards a session.
struct Strictness: Hashable {
    /// public, optional, required.
    private var rank: UInt8 = 0
    /// The number of the requirement. 0: none. -1: several, which no single route meets.
    private var requirement = 0
    private var binding: BindingMode?

    /// Demands nothing.
    init() {}

    init(_ settings: RouteSettings, requirement: Int) {
        self.rank =
            switch settings.auth {
            case .public: 0
            case .optional: 1
            case .required: 2
            }
        self.requirement = requirement
        self.binding = settings.enforcedBinding == .none ? nil : settings.enforcedBinding
    }

    /// Adds the demands of another route.
    mutating func add(_ other: Strictness) {
        self.rank = max(self.rank, other.rank)
        if self.requirement == 0 {
            self.requirement = other.requirement
        } else if other.requirement != 0, other.requirement != self.requirement {
            self.requirement = -1
        }
        // Two different bindings cannot be ordered. Keeping the first is enough: a route without it does not cover the
        // sum.
        self.binding = self.binding ?? other.binding
    }

    /// Whether every request that passes here also passes `other`.
    func covers(_ other: Strictness) -> Bool {
        self.rank >= other.rank
            && (other.requirement == 0 || self.requirement == other.requirement)
            && (other.binding == nil || self.binding == other.binding)
    }
}

/// The methods that a route takes. They are compared byte by byte, because methods are case-sensitive (RFC 9110 9.1).
struct MethodSet: Sendable, Equatable {
    /// The names in alphabetical order. Empty: every method except CONNECT and TRACE, which the parser refuses.
    let names: [String]
    private let table: ByteTable

    /// - Parameter methods: As configured; empty for all. `GET` includes `HEAD` (RFC 9110 9.3.2).
    init(_ methods: [String]) {
        let all = Set(methods.contains("GET") ? methods + ["HEAD"] : methods)
        self.names = all.sorted()
        self.table = ByteTable(self.names.enumerated().map { (key: Array($1.utf8), value: $0) })
    }

    static let common = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    /// The `Allow` value of a route that takes every method.
    static let allow = MethodSet.common.joined(separator: ", ")

    /// Whether no method is named, so that every method is taken.
    var isUnrestricted: Bool { self.names.isEmpty }

    @inline(__always)
    func contains(_ method: UnsafeBufferPointer<UInt8>) -> Bool { self.isUnrestricted || self.table[method] != nil }

    static func == (one: MethodSet, other: MethodSet) -> Bool { one.names == other.names }

    /// Whether both sets contain some method.
    func intersects(_ other: MethodSet) -> Bool {
        self.isUnrestricted || other.isUnrestricted || self.names.contains(where: other.names.contains)
    }

    /// Whether two routes with these sets would both take some request and neither takes precedence.
    func overlaps(_ other: MethodSet) -> Bool {
        self.isUnrestricted == other.isUnrestricted
            && (self.isUnrestricted || self.names.contains(where: other.names.contains))
    }
}
