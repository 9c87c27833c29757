package import AddressIntelligence
package import Cryptography
package import Endpoints
package import JOSE
package import Observability
package import Sessions
package import Settings
package import SignOn
package import Vocabulary

/// The input of each step of a `RequestJudge`. The driver (an exchange or `sallyport explain`) creates it and retains
/// its objects.
package struct JudgingContext {
    package let head: RequestHead
    /// The bytes to which the slices of the head refer.
    package let base: Bytes
    /// The configuration. All steps of a request use the same one.
    package let configuration: PathConfiguration
    /// The OAuth clients at the time of the step.
    package let clients: Pinned<ClientSnapshot>
    /// The address of the connection's peer.
    package let peer: IPAddress
    /// The current time of the session store's clock.
    package let now: UnixTime
    /// The machine's time, for values that apps compare with their own clocks.
    package let wallNow: UnixTime
    /// Memory for the normalised path, used only within a step.
    package let scratch: UnsafeMutableBufferPointer<UInt8>
    /// The loop's cache of keys in DPoP proofs. `nil` in `sallyport explain`.
    package let proofKeys: Pinned<DPoPKeyCache>?
    /// The hosts under wildcards that clients have requested recently. The driver retains the request's host, because
    /// no configuration does.
    package let namedHosts: Pinned<NamedHostCache>
    /// True if stray forwarding is to be recorded (`JudgeEvent.strayForwarding`).
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

/// The properties of a proxy that sent a check, or a browser's request for a page of the gateway.
struct AskingProxy: OptionSet, Sendable {
    let rawValue: UInt8

    /// The proxy reports the client's address in header fields.
    static let namesClient = AskingProxy(rawValue: 1)
    /// The method of the head is the proxy's, not the client's.
    static let hidesMethod = AskingProxy(rawValue: 2)
    /// The proxy does not pass redirects on to the browser.
    static let dropsRedirects = AskingProxy(rawValue: 4)
    /// If a check is for a page of the gateway, the proxy passes the page on to the browser.
    static let showsPages = AskingProxy(rawValue: 8)
}

extension JudgeFindings {
    /// Records that the request is a check in this form.
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

    /// The step that began last.
    package internal(set) var stage = Stage.route
    /// The dialect of a forward-auth check. `nil` if the request is not a check.
    package var dialect: AuthorizationDialect?
    /// The properties of the proxy that sent a check or a request for a page. Empty for other requests.
    var asker: AskingProxy = []
    /// True for an ACME HTTP challenge over plain http to a host with https.
    var isPlainHTTP = false
    /// True if the gateway's certificate does not cover the host, or the client's certificate has expired since the
    /// handshake.
    package var isMisdirected = false
    /// The client's certificate. `nil` if the client has none or the peer is a proxy. The driver retains it, because
    /// counting references is slow.
    package unowned(unsafe) var certificate: ClientCertificate?
    /// The gateway's own request id and, if a trusted proxy sent one, the proxy's request id.
    package var requestID: RequestID
    /// The client's address as reported by trusted peers, otherwise the peer's address. `nil` until determined.
    package internal(set) var clientAddress: IPAddress?
    /// The requested host. `nil` if the gateway does not serve it.
    package internal(set) var pinnedHost: Pinned<HostEntry>?
    /// The route. `nil` if the request was refused before, or is for an endpoint.
    package internal(set) var pinnedRoute: Pinned<RouteEntry>?
    /// The configured path of the requested endpoint of the gateway. `nil` if the request is for an app.
    package internal(set) var endpoint: String?
    /// The form of refusals at the requested endpoint. `nil` for problem documents and pages.
    package var envelope: RefusalEnvelope?
    /// The session whose identity the app sees. Set when the request is permitted.
    package var session: CachedSession?
    /// True if the session's assertion for the route's audience must be renewed after the request has been sent.
    package internal(set) var isAssertionDue = false
    /// Field lines of the gateway that are added to any answer, including the app's.
    package var answerLines: [[UInt8]] = []
    /// True if `answerLines` sets the cookie of a session that replaces the browser's session.
    package internal(set) var setsSession = false
    /// The CORS lines for the request's origin. Not added if the app sends CORS fields itself.
    package internal(set) var crossOriginLines: [UInt8] = []
    /// A second reason for the log, such as why a transfer token was refused. It did not decide the request.
    package internal(set) var note: Reason?
    /// Why the presented session is gone, for the log. Set only if the client gets a vaguer reason (`Reason.told`).
    package internal(set) var absence: Reason?
    /// The result of a transfer token, for the log.
    package internal(set) var handoff: TransferTokenResult?
    package internal(set) var binding: JudgedBinding?
    /// The identity field for which the request is refused. `nil` if no field is the reason.
    package internal(set) var unwritableField: String?
    /// The events to be recorded, in order. The driver empties the list after recording them.
    package var events: [JudgeEvent] = []

    init(requestID: RequestID) {
        self.requestID = requestID
    }

    package var host: HostEntry? { self.pinnedHost?.counted }
    package var route: RouteEntry? { self.pinnedRoute?.counted }

    /// Adds a field line to any answer, including the app's, unless the line is already there.
    mutating func addLine(_ name: String, _ value: String) {
        self.addLine(Array("\(name): \(value)\r\n".utf8))
    }

    /// Adds a complete field line to any answer, including the app's, unless the line is already there.
    mutating func addLine(_ line: [UInt8]) {
        // Two steps may clear the same cookie.
        if !self.answerLines.contains(line) { self.answerLines.append(line) }
    }
}

/// An event that a step has noticed, to be recorded.
package enum JudgeEvent {
    case audit(AuditEvent)
    /// Session cookies with different values. The event still lacks the user (`AuditEvent.naming`).
    case ambiguousCookies([Slice], AuditEvent)
    /// A transfer token was refused for this reason without being consumed.
    case turnedAway(Reason, HandoffRequest)
    /// The user is asked to confirm a transfer token, for this reason. `nil` if users are always asked.
    case asked(Reason?, HandoffRequest)
    /// An untrusted peer sent this header, in which proxies report clients.
    case strayForwarding(field: String)
    /// No host has this name.
    case unknownHost(Slice)
    /// Another device presents a session, on a route that only logs mismatches.
    case wouldReject(BindingMode, PresentedDevice, AuditEvent)
    /// This session ends because another device presented it.
    case ends(CachedSession)
}
