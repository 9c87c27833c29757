package import NIOCore
import Observability
package import Settings
import Vocabulary

/// A route that is ready for matching. It is created when the configuration is loaded and never changes.
package final class RouteEntry: Sendable {
    /// The index of the route among the routes of all hosts.
    package let index: Int
    /// The route's label in logs and metrics.
    package let name: String
    package let settings: RouteSettings
    /// The index of the upstream in `Settings.upstreams`. `nil` if the route is used only for forward-auth checks.
    package let upstreamIndex: Int?
    /// The lines that the app gets on this route: `Host`, the stripped prefix, and the fields that the route sets.
    /// `Host` never has the client's spelling, because an app may build URLs from it.
    package let lines: [UInt8]
    /// Whether `lines` lacks `Host`, because it depends on the wildcard name that the client used.
    let takesHostLine: Bool
    /// The difference between the app's path and the public path. `nil` if none exists.
    let prefixes: PathPrefixes?
    /// Whether the app gets a path that differs from the public path.
    let changesPath: Bool
    /// Whether the paths in `Destination` and `If` are changed to the app's paths. False if the route sets
    /// `X-Script-Name`.
    let changesReferences: Bool
    /// Whether request fields are set to the client's address.
    let tellsAddress: Bool
    private let requestEdits: FieldEdits
    /// Whether fields of the client are removed.
    let editsRequests: Bool
    /// The changes to the fields of the app's answers.
    let answerEdits: FieldEdits
    /// The app's own origins if the route sets its `Host`. Empty if the app gets the public name.
    let ownOrigins: [[UInt8]]
    /// Whether references in the app's answers are changed: their path or their origin.
    let changesPublicReferences: Bool
    /// Whether the app's answers are changed: their fields, or an origin or path in `Location`.
    let changesAnswers: Bool
    /// The audience of the app's assertions unless `takesHostAudience` is set.
    package let audience: Audience
    /// Whether the assertions' audience is the wildcard name that the client used.
    private let takesHostAudience: Bool
    // Settings that every request reads, stored because comparing enums of another module is a call through a table.
    /// Whether no sign-in is required and no session is looked up.
    package let isPublic: Bool
    /// Whether the gateway consumes `Authorization: Bearer` and `DPoP`.
    package let ownsBearer: Bool
    /// Whether the device that uses a session is compared with the device for which the session was created.
    package let bindsDevice: Bool
    /// Whether the route requires more of a session than its existence.
    package let hasRequirements: Bool
    /// Whether the app gets identity field values in an encoding other than `identity.encoding`.
    let usesOtherEncoding: Bool
    /// The maximum body size in bytes. `nil` if there is no limit.
    package let maxBody: Int?
    /// Whether the gateway sends basic authentication to the app. If true, a client's `Authorization` is removed.
    package let replacesAuthorization: Bool
    /// Whether the app gets `X-Session-Token`. True only for the identity provider.
    package let leavesSessionToken: Bool
    /// The number of the route's demands. Routes of one table with equal demands have equal numbers.
    package let demands: Int

    /// Origins that may send unsafe requests with a cookie, in addition to the host's own origin.
    package let trustedOrigins: [[UInt8]]
    /// Lines that let other origins read the responses. `nil` if only the app decides.
    let crossOriginLines: CrossOriginLines?
    /// The time limit for the start of the app's response. `nil` if the limit of all routes applies.
    package let responseTimeout: TimeAmount?
    /// Whether fields that override the method are removed, because another method leads to another route or to 405.
    package let dropsMethodOverride: Bool
    /// The number of colons in the route's path.
    let colonCount: Int
    let methods: MethodSet
    let strictness: Strictness
    /// Whether the trace of a request is hidden from the app.
    let hidesTrace: Bool
    /// The route's part of spans: the end of their name, after the method, and `http.route`.
    let spanRun: SpanRun

    /// - Parameters:
    ///   - url: The public URL of the host.
    ///   - sharesPath: Whether another route has this path with other methods.
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
        self.usesOtherEncoding = settings.identityEncoding != nil
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

    /// Returns the audience of the app's assertions.
    ///
    /// - Parameter host: The host of the request.
    @inline(__always)
    package func audience(on host: HostEntry) -> Audience {
        self.takesHostAudience ? host.audience ?? self.audience : self.audience
    }

    /// Returns the index of the audience without retaining its text, because every request reads the index.
    @inline(__always)
    func audienceIndex(on host: HostEntry) -> Int {
        self.takesHostAudience ? self.audience(on: host).index : self.audience.index
    }

    /// Writes the request fields that are set to the client's address.
    @inline(never)
    func write(address: [UInt8], _ writer: inout ByteWriter) {
        for name in self.requestEdits.addressNames {
            writer.write(name)
            writer.write(address)
            writer.write("\r\n")
        }
    }

    /// Returns the maximum length in bytes of the fields that are set to the client's address.
    func room(forAddress address: [UInt8]) -> Int {
        self.requestEdits.addressNames.reduce(0) { $0 + $1.count + address.count + 2 }
    }

    /// Whether a client's field is removed before forwarding.
    @inline(never)
    func removes(_ name: UnsafeBufferPointer<UInt8>) -> Bool { self.requestEdits.removes(name) }
}

/// The recipient of assertions (`aud`, RFC 7519 4.1.3).
package struct Audience: Sendable {
    /// A number that is equal for equal audiences of one table.
    package let index: Int
    package let text: String

    package init(index: Int, text: String) {
        self.index = index
        self.text = text
    }

    /// Creates the audience of a wildcard's name. The index is an unpredictable hash and differs from every index of a
    /// table.
    init(of origin: String) {
        var hasher = Hasher()
        hasher.combine(origin)
        self.init(index: hasher.finalize() | (1 << 62), text: origin)
    }
}

/// The demands of a route. Two readings of one path may lead to different routes, but not to different demands.
struct Demands: Hashable {
    var auth: AuthRequirement
    var require: RequirementSettings
    var binding: BindingMode
    var bearer: BearerOwner
    var cors: CORSSettings?
    var trustedOrigins: [String]
    var maxBody: Int?
    /// An app that does not decode a user's name could take it for another user's.
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

/// The strictness of a route towards a session.
struct Strictness: Hashable {
    /// 0 for public, 1 for optional, 2 for required.
    private var rank: UInt8 = 0
    /// The number of the requirement. 0 if none exists, -1 for the sum of different requirements.
    private var requirement = 0
    private var binding: BindingMode?

    /// Creates a strictness without demands.
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
        // Different bindings cannot be ordered, so the sum keeps the first one.
        self.binding = self.binding ?? other.binding
    }

    /// Whether every request that this strictness accepts is also accepted by `other`.
    func covers(_ other: Strictness) -> Bool {
        self.rank >= other.rank
            && (other.requirement == 0 || self.requirement == other.requirement)
            && (other.binding == nil || self.binding == other.binding)
    }
}

/// The methods that a route accepts. Methods are case-sensitive and are compared byte by byte (RFC 9110 9.1).
struct MethodSet: Sendable, Equatable {
    /// The names in alphabetical order. Empty if every method is accepted. The parser rejects CONNECT and TRACE.
    let names: [String]
    private let table: ByteTable

    /// - Parameter methods: The configured methods, or empty for all. `GET` includes `HEAD` (RFC 9110 9.3.2).
    init(_ methods: [String]) {
        let all = Set(methods.contains("GET") ? methods + ["HEAD"] : methods)
        self.names = all.sorted()
        self.table = ByteTable(self.names.enumerated().map { (key: Array($1.utf8), value: $0) })
    }

    static let common = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    /// The `Allow` value of a route that accepts every method.
    static let allow = MethodSet.common.joined(separator: ", ")

    /// Whether every method is accepted because none is named.
    var isUnrestricted: Bool { self.names.isEmpty }

    @inline(__always)
    func contains(_ method: UnsafeBufferPointer<UInt8>) -> Bool { self.isUnrestricted || self.table[method] != nil }

    static func == (one: MethodSet, other: MethodSet) -> Bool { one.names == other.names }

    /// Whether some method is in both sets.
    func intersects(_ other: MethodSet) -> Bool {
        self.isUnrestricted || other.isUnrestricted || self.names.contains(where: other.names.contains)
    }

    /// Whether two routes with these sets would both accept some request and neither takes precedence.
    func overlaps(_ other: MethodSet) -> Bool {
        self.isUnrestricted == other.isUnrestricted
            && (self.isUnrestricted || self.names.contains(where: other.names.contains))
    }
}
