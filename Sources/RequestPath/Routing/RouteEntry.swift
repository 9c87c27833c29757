package import NIOCore
package import Settings
internal import Vocabulary

/// A route, ready to be matched and followed: made when the configuration is loaded, never changed.
package final class RouteEntry: Sendable {
    /// The place of the route among those of all hosts.
    package let index: Int
    /// The label in logs and metrics.
    package let name: String
    package let nameBytes: [UInt8]
    package let settings: RouteSettings
    /// The place of the route's upstream in `Settings.upstreams`.
    package let upstreamIndex: Int
    /// `Host:` and the line's end as the app gets it: the route's own name for the app, or the host's public one. What the
    /// client wrote (a port, a dot at the end, capitals) would let it choose what the app makes of its own URLs.
    package let hostLine: [UInt8]
    /// The route demands something of a session beyond being one.
    package let hasRequirements: Bool
    /// Bytes of the largest body; nil: the limit of all routes.
    package let maxBody: Int?
    /// The app gets basic authentication from the gateway, so no `Authorization` of a client reaches it.
    package let replacesAuthorization: Bool
    /// Equal for routes of the table that demand the same of a request, whichever the app behind them.
    package let demands: Int

    /// Origins besides the host's own that may send unsafe requests with a cookie.
    package let trustedOrigins: [[UInt8]]
    /// Lines by which other origins may read the answers; nil: the app decides alone.
    let crossOriginLines: CrossOriginLines?
    /// How long the app may take to begin its answer; nil: as long as on all routes.
    package let responseTimeout: TimeAmount?
    /// Other methods of the same path lead elsewhere, so a field that names another method does not reach the app.
    package let dropsMethodOverride: Bool
    let methods: MethodSet
    let strictness: Strictness

    /// - Parameters:
    ///   - authority: The public name and port of the host.
    ///   - sharesPath: Another route has the same path, with other methods.
    init(
        index: Int,
        settings: RouteSettings,
        authority: String,
        sharesPath: Bool,
        upstreamIndex: Int,
        replacesAuthorization: Bool,
        demands: Int,
        requirement: Int
    ) {
        self.index = index
        self.name = settings.name
        self.nameBytes = Array(settings.name.utf8)
        self.settings = settings
        self.upstreamIndex = upstreamIndex
        self.hostLine = Array("Host: \(settings.hostHeader ?? authority)\r\n".utf8)
        self.hasRequirements = !settings.require.isEmpty
        self.maxBody = settings.maxBody
        self.replacesAuthorization = replacesAuthorization
        self.demands = demands
        self.trustedOrigins = settings.trustedOrigins.map { Array($0.utf8) }
        self.crossOriginLines = settings.cors.map { CrossOriginLines($0) }
        self.responseTimeout = settings.responseTimeout.map { TimeAmount($0) }
        self.methods = MethodSet(settings.methods)
        self.dropsMethodOverride = sharesPath || !self.methods.isUnrestricted
        self.strictness = Strictness(settings, requirement: requirement)
    }
}

/// What a route demands of a request: two readings of one path may lead to different routes, but not to different
/// demands.
struct Demands: Equatable {
    var auth: AuthRequirement
    var require: RequirementSettings
    var binding: BindingMode
    var bearer: BearerOwner
    var cors: CORSSettings?
    var trustedOrigins: [String]
    var maxBody: Int?

    init(_ settings: RouteSettings) {
        self.auth = settings.auth
        self.require = settings.require
        self.binding = settings.liveBinding
        self.bearer = settings.bearer
        self.cors = settings.cors
        self.trustedOrigins = settings.trustedOrigins
        self.maxBody = settings.maxBody
    }
}

/// How closed a route is: what a session has to be and to show.
struct Strictness: Equatable {
    /// public, optional, required.
    private var rank: UInt8 = 0
    /// The number of the requirement; 0: none; -1: several, which no one route meets.
    private var requirement = 0
    private var binding: BindingMode?

    /// Nothing is closed.
    init() {}

    init(_ settings: RouteSettings, requirement: Int) {
        self.rank =
            switch settings.auth {
            case .public: 0
            case .optional: 1
            case .required: 2
            }
        self.requirement = requirement
        self.binding = settings.liveBinding == .none ? nil : settings.liveBinding
    }

    /// Adds what another route closes.
    mutating func add(_ other: Strictness) {
        self.rank = max(self.rank, other.rank)
        if self.requirement == 0 {
            self.requirement = other.requirement
        } else if other.requirement != 0, other.requirement != self.requirement {
            self.requirement = -1
        }
        // Of two bindings neither is the wider one; demanding the first suffices to keep the second from being nothing.
        self.binding = self.binding ?? other.binding
    }

    /// Whether whoever passes here also passes `other`.
    func covers(_ other: Strictness) -> Bool {
        self.rank >= other.rank
            && (other.requirement == 0 || self.requirement == other.requirement)
            && (other.binding == nil || self.binding == other.binding)
    }
}

/// The methods that a route takes, byte for byte (RFC 9110 9.1: the method is case-sensitive).
struct MethodSet: Sendable, Equatable {
    /// The names in alphabetical order; empty: every method but CONNECT and TRACE.
    let names: [String]
    private let bytes: [[UInt8]]

    /// - Parameter methods: as configured; empty for all. `GET` brings `HEAD` along (RFC 9110 9.3.2).
    init(_ methods: [String]) {
        let all = Set(methods.contains("GET") ? methods + ["HEAD"] : methods)
        self.names = all.sorted()
        self.bytes = self.names.map { Array($0.utf8) }
    }

    static let common = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    /// `Allow` of a route that takes every method.
    static let allow = MethodSet.common.joined(separator: ", ")

    /// The registered methods (IANA, RFC 9110 16.1) but CONNECT and TRACE, the usual ones first. What an app makes of a
    /// method that nobody knows is not ours to guess: a route has to name it.
    private static let registered = [
        "GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "PATCH", "PROPFIND", "PROPPATCH", "REPORT", "MKCOL", "COPY",
        "MOVE", "LOCK", "UNLOCK", "SEARCH", "QUERY", "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "LABEL",
        "LINK",
        "MERGE", "MKACTIVITY", "MKCALENDAR", "MKREDIRECTREF", "MKWORKSPACE", "ORDERPATCH", "REBIND", "UNBIND",
        "UNCHECKOUT",
        "UNLINK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ].map { Array($0.utf8) }

    var isUnrestricted: Bool { self.names.isEmpty }

    @inline(__always)
    func contains(_ method: UnsafeBufferPointer<UInt8>) -> Bool {
        if self.bytes.isEmpty {
            return Self.registered.contains { $0.count == method.count && $0.elementsEqual(method) }
        }
        return self.bytes.contains { $0.count == method.count && $0.elementsEqual(method) }
    }

    /// Whether some method is taken by both.
    func intersects(_ other: MethodSet) -> Bool {
        self.isUnrestricted || other.isUnrestricted || self.names.contains(where: other.names.contains)
    }

    /// Whether some request would be taken by both and by neither first.
    func overlaps(_ other: MethodSet) -> Bool {
        self.isUnrestricted == other.isUnrestricted
            && (self.isUnrestricted || self.names.contains(where: other.names.contains))
    }
}
