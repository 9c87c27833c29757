package import AddressIntelligence
package import Cryptography
package import Endpoints
package import JOSE
package import Observability
package import Sessions
package import Settings
package import SignOn
package import Vocabulary

/// The input that the driver lends to each step of a `RequestJudge`: the request's head and its circumstances.
package struct JudgingContext {
    package let head: RequestHead
    /// The bytes to which the slices of the head refer.
    package let base: Bytes
    /// The configuration, unchanged for all steps of a request.
    package let configuration: PathConfiguration
    /// The OAuth clients at the time of the step, kept by the driver.
    package let clients: Pinned<ClientSnapshot>
    /// The address of the connection's peer.
    package let peer: IPAddress
    /// The time by the clock of the store that keeps the sessions.
    package let now: UnixTime
    /// The machine's time, for values that apps compare with their own clocks.
    package let wallNow: UnixTime
    /// Memory for a normalised path that differs from the path as sent. Used only within a step.
    package let scratch: UnsafeMutableBufferPointer<UInt8>
    /// The keys in DPoP proofs that were sent on this loop. `nil` if there is no loop, as in `sallyport explain`.
    package let proofKeys: Pinned<DPoPKeyCache>?
    /// The hosts under wildcards that clients have requested recently. The driver keeps the host of a request until the
    /// request has ended, because no configuration contains such a host.
    package let namedHosts: Pinned<NamedHostCache>
    /// True if a field in which an untrusted peer names a client is to be recorded.
    package let notesStrayForwarding: Bool

    package init(
        _ head: RequestHead,
        _ base: Bytes,
        configuration: PathConfiguration,
        clients: ClientSnapshot,
        peer: IPAddress,
        now: UnixTime,
        wallNow: UnixTime,
        scratch: UnsafeMutableBufferPointer<UInt8>,
        proofKeys: Pinned<DPoPKeyCache>?,
        namedHosts: Pinned<NamedHostCache>,
        notesStrayForwarding: Bool
    ) {
        self.head = head
        self.base = base
        self.configuration = configuration
        self.clients = Pinned(clients)
        self.peer = peer
        self.now = now
        self.wallNow = wallNow
        self.scratch = scratch
        self.proofKeys = proofKeys
        self.namedHosts = namedHosts
        self.notesStrayForwarding = notesStrayForwarding
    }
}

/// The properties of a proxy that sent the request, as a check or for one of the gateway's own pages.
struct AskingProxy: OptionSet, Sendable {
    let rawValue: UInt8

    /// The proxy names the client.
    static let namesClient = AskingProxy(rawValue: 1)
    /// The method of the head is the proxy's, not the client's.
    static let hidesMethod = AskingProxy(rawValue: 2)
    /// The proxy does not pass redirects on to the browser.
    static let dropsRedirects = AskingProxy(rawValue: 4)
    /// The proxy shows the gateway's own pages instead of the app's pages.
    static let showsPages = AskingProxy(rawValue: 8)
}

extension JudgeFindings {
    /// Records the properties of a check that has this form.
    mutating func note(_ form: CheckForm) {
        self.dialect = form.dialect
        self.asker = .namesClient
        if form.hidesMethod { self.asker.insert(.hidesMethod) }
        if !form.passesRedirects { self.asker.insert(.dropsRedirects) }
        if form.showsPages { self.asker.insert(.showsPages) }
    }
}

/// The results of judging a request so far.
package struct JudgeFindings {
    /// The steps of a request, in their order.
    package enum Stage: Int, Comparable, Sendable {
        case route, credentials, handoff, session, decision

        package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }

    /// The last step that began.
    package internal(set) var stage = Stage.route
    /// The dialect of the check. `nil` if the request is not a check.
    package var dialect: AuthorizationDialect?
    /// The properties of the proxy that sent the request, as a check or for a page. Empty for any other request.
    var asker: AskingProxy = []
    /// True for an ACME HTTP challenge over plain http to a host with https.
    var isPlainHTTP = false
    /// True if the gateway's certificate does not cover the host, or if the client's has expired since the handshake.
    package var isMisdirected = false
    /// The certificate of the client that sent the request. `nil` if the client has none or the request is a check. The
    /// driver keeps the certificate, because a counted reference would cost every request.
    package unowned(unsafe) var certificate: ClientCertificate?
    /// The gateway's own request id and, if a trusted proxy sent one, the proxy's request id.
    package var requestID: RequestID
    /// The client's address as named by trusted peers, or otherwise the peer's address. `nil` until determined.
    package internal(set) var clientAddress: IPAddress?
    /// The requested host. `nil` if the gateway does not serve it.
    package internal(set) var pinnedHost: Pinned<HostEntry>?
    /// The route. No later step changes it. `nil` if the request reached no route.
    package internal(set) var pinnedRoute: Pinned<RouteEntry>?
    /// The configured path of the gateway's endpoint that the request is for. `nil` if the request is for no endpoint.
    package internal(set) var endpoint: String?
    /// The form of refusals at the requested endpoint. `nil` for problem documents, or pages for people.
    package var envelope: RefusalEnvelope?
    /// The session whose identity the app sees. Set when the request is permitted.
    package var session: CachedSession?
    /// True if the session's assertion for the route's audience must be renewed after the request has been sent.
    package internal(set) var isAssertionDue = false
    /// Field lines of the gateway that are added to any answer, including the app's.
    package var answerLines: [[UInt8]] = []
    /// True if `answerLines` contains the cookie of a session that replaces the browser's session.
    package internal(set) var bringsSession = false
    /// The CORS lines of the route or endpoint for the request's origin, added unless the app's answer has its own. Set
    /// when the request is permitted or reaches an endpoint.
    package internal(set) var crossOriginLines: [UInt8] = []
    /// A reason for the log that did not decide the request, such as the reason for refusing a transfer token.
    package internal(set) var note: Reason?
    /// Why the presented session no longer exists, if the client gets a less precise reason (`Reason.told`).
    package internal(set) var absence: Reason?
    /// The result of a transfer token, for the log.
    package internal(set) var handoff: TransferTokenResult?
    package internal(set) var binding: JudgedBinding?
    /// The identity field that could not be written. `nil` unless the request is refused for this reason.
    package internal(set) var unwritableField: String?
    /// The events to be recorded, in order. The driver empties the list after recording them.
    package var events: [JudgeEvent] = []

    init(requestID: RequestID) {
        self.requestID = requestID
    }

    package var host: HostEntry? { self.pinnedHost?.counted }
    package var route: RouteEntry? { self.pinnedRoute?.counted }

    /// Adds a field line to any answer, including the app's, unless the line was added before.
    mutating func addLine(_ name: String, _ value: String) {
        self.addLine(Array("\(name): \(value)\r\n".utf8))
    }

    /// Adds a complete field line to any answer, including the app's, unless the line was added before.
    mutating func addLine(_ line: [UInt8]) {
        // Two reasons may clear one cookie.
        if !self.answerLines.contains(line) { self.answerLines.append(line) }
    }
}

/// An event that a step has noticed, to be recorded.
package enum JudgeEvent {
    case audit(AuditEvent)
    /// Session cookies with different values, and an event to be completed with the user of the sessions.
    case ambiguousCookies([Slice], AuditEvent)
    /// A transfer token that is not tried, with the reason.
    case turnedAway(Reason, HandoffRequest)
    /// A transfer token that the user is asked to confirm, with the reason. The reason is `nil` if users are always
    /// asked.
    case asked(Reason?, HandoffRequest)
    /// An untrusted peer has sent this field, which names the client of a proxy.
    case strayForwarding(field: String)
    /// No host has this name.
    case unknownHost(Slice)
    /// Another device presents a session, on a route that only logs mismatches.
    case wouldReject(BindingMode, PresentedDevice, AuditEvent)
    /// This session ends because another device presented it.
    case ends(CachedSession)
}
