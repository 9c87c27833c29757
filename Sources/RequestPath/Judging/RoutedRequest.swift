import AddressIntelligence
import JOSE
import Settings
import SignOn
import Vocabulary

/// A request on its frozen route, as it is lent to each step of its judge: what the driver lends, what the listener judges
/// with, and the route and host that were found.
///
/// It has the addresses of these parts and owns none of them, so that making, reading and ending it counts no
/// reference. Only `onRoute` makes one, and lends it for the time of a step. A step cannot copy or keep it, so it
/// outlives none of its parts.
struct RoutedRequest: ~Copyable {
    private let context: UnsafePointer<JudgingContext>
    private let judgingAddress: UnsafePointer<JudgingProfile>
    private let routeAddress: UnsafePointer<RouteEntry>
    private let hostAddress: UnsafePointer<HostEntry>

    @inline(__always)
    fileprivate init(
        _ context: UnsafePointer<JudgingContext>,
        _ judging: UnsafePointer<JudgingProfile>,
        _ route: UnsafePointer<RouteEntry>,
        _ host: UnsafePointer<HostEntry>
    ) {
        self.context = context
        self.judgingAddress = judging
        self.routeAddress = route
        self.hostAddress = host
    }

    var head: RequestHead { @inline(__always) _read { yield self.context.pointee.head } }
    /// The bytes to which the slices of the head refer.
    @inline(__always) var base: Bytes { self.context.pointee.base }
    var configuration: PathConfiguration { @inline(__always) _read { yield self.context.pointee.configuration } }
    @inline(__always) var clients: Pinned<ClientSnapshot> { self.context.pointee.clients }
    /// The address of the other end of the connection.
    @inline(__always) var peer: IPAddress { self.context.pointee.peer }
    @inline(__always) var now: UnixTime { self.context.pointee.now }
    @inline(__always) var wallNow: UnixTime { self.context.pointee.wallNow }
    @inline(__always) var proofKeys: Pinned<DPoPKeyCache>? { self.context.pointee.proofKeys }
    var judging: JudgingProfile { @inline(__always) _read { yield self.judgingAddress.pointee } }
    var route: RouteEntry { @inline(__always) _read { yield self.routeAddress.pointee } }
    var host: HostEntry { @inline(__always) _read { yield self.hostAddress.pointee } }

    /// The names of the gateway's cookies on the host.
    @inline(__always) var cookies: OwnCookies { self.configuration.ownNames.cookies(of: self.host) }
    /// The client of the route. `nil` if the route names none, or one that no longer exists.
    var client: ClientSettings? { self.route.settings.client.flatMap { name in self.clients.use { $0.client(name) } } }
    /// Whether a person sees the answer.
    var wantsPage: Bool { Navigation.wantsPage(self.head, self.base) }
    /// Whether a page of another origin started the navigation.
    var isCrossSite: Bool { Navigation.isCrossSite(self.head, self.base) }
    /// The URL of the host, without a `/` at its end.
    var hostURL: String { self.host.publicURL.description }

    /// The value of the first field with `role`, or nil.
    @inline(__always)
    func value(_ role: FieldRole) -> UnsafeBufferPointer<UInt8>? { self.head.value(role, in: self.base) }

    /// The value of the first field with `role` as text, or nil.
    func text(_ role: FieldRole) -> String? { self.value(role).map { String(decoding: $0, as: UTF8.self) } }
}

extension RequestJudge {
    /// Lends the request on its frozen route to the next step. The route, the host and the judging profile are the
    /// configuration's, which `given` keeps.
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
        return route.lendAddress { route in
            host.lendAddress { host in
                judging.lendAddress { judging in
                    withUnsafePointer(to: given) { next(&self, RoutedRequest($0, judging, route, host)) }
                }
            }
        }
    }
}
