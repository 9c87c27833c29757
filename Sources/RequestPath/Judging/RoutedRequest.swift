import AddressIntelligence
import Settings
import SignOn
import Vocabulary

/// A request on its frozen route, as it is lent to each step of its judge: what the driver lends, and the route and host that
/// were found.
///
/// It is made at the beginning of a step and only passed on, so that none of its references is counted.
struct RoutedRequest {
    let context: JudgingContext
    let judging: JudgingProfile
    let route: RouteEntry
    let host: HostEntry

    @inline(__always) var head: RequestHead { self.context.head }
    @inline(__always) var base: Bytes { self.context.base }
    @inline(__always) var configuration: PathConfiguration { self.context.configuration }
    @inline(__always) var clients: ClientSnapshot { self.context.clients }
    @inline(__always) var now: UnixTime { self.context.now }
    @inline(__always) var wallNow: UnixTime { self.context.wallNow }
    /// The names of the gateway's cookies on the host.
    @inline(__always) var cookies: OwnCookies { self.configuration.ownNames.cookies(of: self.host) }
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
