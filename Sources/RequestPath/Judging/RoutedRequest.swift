import AddressIntelligence
import JOSE
import Settings
import SignOn
import Vocabulary

/// A request with its route, lent to each step of its judge.
///
/// References are not counted, so no value may be deinitialised: only `lend` creates one, in memory that is freed
/// without deinitialisation. `unowned(unsafe)` properties instead count four to six more references per request
/// (measured).
struct RoutedRequest: ~Copyable {
    let head: RequestHead
    /// The bytes to which the slices of the head refer.
    let base: Bytes
    let configuration: PathConfiguration
    let clients: Pinned<ClientSnapshot>
    /// The address of the connection's peer.
    let peer: IPAddress
    let now: UnixTime
    let wallNow: UnixTime
    let proofKeys: Pinned<DPoPKeyCache>?
    let judging: JudgingProfile
    let route: RouteEntry
    let host: HostEntry

    @inline(__always)
    private init(_ given: JudgingContext, _ judging: JudgingProfile, _ route: RouteEntry, _ host: HostEntry) {
        self.head = Self.uncounted(given.head)
        self.base = given.base
        self.configuration = Self.uncounted(given.configuration)
        self.clients = given.clients
        self.peer = given.peer
        self.now = given.now
        self.wallNow = given.wallNow
        self.proofKeys = given.proofKeys
        self.judging = Self.uncounted(judging)
        self.route = Self.uncounted(route)
        self.host = Self.uncounted(host)
    }

    /// Returns the object without counting the reference.
    @inline(__always)
    private static func uncounted<Object: AnyObject>(_ object: Object) -> Object {
        Unmanaged.passUnretained(object).takeRetainedValue()
    }

    /// Lends the request to `step`. The caller retains everything that the request refers to until `step` has returned.
    @inline(__always)
    fileprivate static func lend(
        _ given: JudgingContext,
        _ judging: JudgingProfile,
        _ route: RouteEntry,
        _ host: HostEntry,
        to step: (borrowing RoutedRequest) -> JudgeAction
    ) -> JudgeAction {
        withUnsafeTemporaryAllocation(of: RoutedRequest.self, capacity: 1) { room in
            room.initializeElement(at: 0, to: RoutedRequest(given, judging, route, host))
            return step(room[0])
        }
    }

    /// The names of the gateway's cookies on the host.
    @inline(__always) var cookies: OwnCookies { self.configuration.ownNames.cookies(of: self.host) }
    /// The OAuth client of the route. `nil` if the route names no client, or if the client no longer exists.
    var client: ClientSettings? { self.route.settings.client.flatMap { name in self.clients.use { $0.client(name) } } }
    /// True if a browser shows the answer to a person as a page.
    var wantsPage: Bool { Navigation.wantsPage(self.head, self.base) }
    /// Whether a page of another origin started the navigation.
    var isCrossSite: Bool { Navigation.isCrossSite(self.head, self.base) }
    /// The URL of the host, without a `/` at its end.
    var hostURL: String { self.host.publicURL.description }

    /// Returns the value of the first field with `role`. `nil` if the field is missing.
    @inline(__always)
    func value(_ role: FieldRole) -> UnsafeBufferPointer<UInt8>? { self.head.value(role, in: self.base) }

    /// Returns the value of the first field with `role` as text. `nil` if the field is missing.
    func text(_ role: FieldRole) -> String? { self.value(role).map { String(decoding: $0, as: UTF8.self) } }
}

extension RequestJudge {
    /// Lends the request with its route to the next step. The driver retains the route and the host.
    @inline(__always)
    mutating func onRoute(
        _ given: JudgingContext,
        _ next: (inout RequestJudge, borrowing RoutedRequest) -> JudgeAction
    ) -> JudgeAction {
        guard let route = self.findings.pinnedRoute, let host = self.findings.pinnedHost,
            let judging = given.configuration.pinnedJudging
        else {
            preconditionFailure("a request continues without a route")
        }
        return route.lend { route in
            host.lend { host in
                judging.lend { judging in
                    RoutedRequest.lend(given, judging, route, host) { next(&self, $0) }
                }
            }
        }
    }
}
