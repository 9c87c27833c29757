package import AddressIntelligence
package import Cryptography
package import Endpoints
package import JOSE
package import Observability
package import Sessions
package import Settings
package import SignOn
package import Vocabulary

/// What a driver lends to each step of a `RequestJudge`: the request's head, and what the step is told about the world.
package struct JudgingContext {
    package let head: RequestHead
    /// The bytes to which the slices of the head refer.
    package let base: Bytes
    /// The configuration; the same for all steps of a request.
    package let configuration: PathConfiguration
    /// The clients at the time of the step. The driver keeps them, as it keeps the keys and the names.
    package let clients: Pinned<ClientSnapshot>
    /// The address of the other end of the connection.
    package let peer: IPAddress
    /// The time by the clock of the store that keeps the sessions.
    package let now: UnixTime
    /// The machine's time, for what apps compare with their own clocks.
    package let wallNow: UnixTime
    /// Room for a normalised path that differs from the path as sent; used only within a step.
    package let scratch: UnsafeMutableBufferPointer<UInt8>
    /// The keys of clients that proved themselves on this loop; nil where there is no loop.
    package let proofKeys: Pinned<DPoPKeyCache>?
    /// The names of wildcards that clients have asked for lately. The driver keeps the one of a request until that has ended:
    /// no configuration does.
    package let namedHosts: Pinned<NamedHostCache>
    /// Whether to note a field by which proxies name their clients when the peer is not trusted.
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

/// What the judge has to know of a proxy that asks and has sent a request, in a check or for one of the gateway's own pages.
struct AskingProxy: OptionSet, Sendable {
    let rawValue: UInt8

    /// It names the client.
    static let namesClient = AskingProxy(rawValue: 1)
    /// The head's method is not the client's.
    static let hidesMethod = AskingProxy(rawValue: 2)
    /// The browser does not get the redirects of an answer.
    static let dropsRedirects = AskingProxy(rawValue: 4)
    /// It shows the gateway's own pages in place of the app's.
    static let showsPages = AskingProxy(rawValue: 8)
}

extension JudgeFindings {
    /// Notes what counts of the proxy that asks in this form.
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
    /// What the proxy understands that asks about the request; nil: the client sent it here.
    package var dialect: AuthorizationDialect?
    /// What counts of the proxy that asks and has sent the request; empty: it did not.
    var asker: AskingProxy = []
    /// True if the client came by plain http to a host with https, for the proof of a certificate's name.
    var isPlainHTTP = false
    /// Whether the certificate that the client was shown is for another host than it asks for.
    package var isMisdirected = false
    /// The certificate of the client that sent the request; nil: it has none, or a proxy asks. The driver keeps it: a
    /// counted reference would cost every request.
    package unowned(unsafe) var certificate: ClientCertificate?
    /// The gateway's own id, with the one from a trusted proxy.
    package var requestID: RequestID
    /// The peer, or the client that trusted peers name; nil while not determined.
    package internal(set) var clientAddress: IPAddress?
    /// The requested host; nil if the gateway does not serve it.
    package internal(set) var pinnedHost: Pinned<HostEntry>?
    /// The frozen route; nil if the request reached none.
    package internal(set) var pinnedRoute: Pinned<RouteEntry>?
    /// The path of the gateway's own endpoint that the request is for, as it was written; nil if it is for none.
    package internal(set) var endpoint: String?
    /// How clients of the requested endpoint are refused; nil: with problem documents, or pages for people.
    package var envelope: RefusalEnvelope?
    /// The session whose identity the app sees; set when the request is permitted.
    package var session: CachedSession?
    /// Whether the session's assertion for the route's audience is to be renewed after the request was sent.
    package internal(set) var isAssertionDue = false
    /// Field lines of the gateway that are added to any answer, including the app's.
    package var answerLines: [[UInt8]] = []
    /// Whether `answerLines` has the cookie of a session that replaces the browser's.
    package internal(set) var bringsSession = false
    /// The route's CORS lines for this origin, added unless the app's answer has its own. Set when the request is
    /// permitted.
    package internal(set) var crossOriginLines: [UInt8] = []
    /// A reason that did not decide the request, such as a refused transfer token; for the log.
    package internal(set) var note: Reason?
    /// Why the presented session is not there any more, where the client is not told (`Reason.told`).
    package internal(set) var absence: Reason?
    /// The result of a transfer token and of its device check; for the log.
    package internal(set) var handoff: TransferTokenResult?
    package internal(set) var binding: JudgedBinding?
    /// The identity field that could not be written, if the request is refused for that.
    package internal(set) var unwritableField: String?
    /// What is to be recorded, in order; the driver empties the list when it has recorded it.
    package var events: [JudgeEvent] = []

    init(requestID: RequestID) {
        self.requestID = requestID
    }

    package var host: HostEntry? { self.pinnedHost?.counted }
    package var route: RouteEntry? { self.pinnedRoute?.counted }

    /// Adds a line to be sent with any answer, unless it was added already.
    mutating func addLine(_ name: String, _ value: String) {
        self.addLine(Array("\(name): \(value)\r\n".utf8))
    }

    /// The same for a line that is ready to be sent.
    mutating func addLine(_ line: [UInt8]) {
        // A cookie may be cleared for two reasons.
        if !self.answerLines.contains(line) { self.answerLines.append(line) }
    }
}

/// An event that a step noticed and that is to be recorded.
package enum JudgeEvent {
    case audit(AuditEvent)
    /// Session cookies with different values: the values, and the event, to be completed with the user of the sessions.
    case ambiguousCookies([Slice], AuditEvent)
    /// A transfer token that is not tried, for this reason.
    case turnedAway(Reason, HandoffRequest)
    /// A transfer token that the user is asked to confirm.
    ///
    /// The reason says why; nil: users always are.
    case asked(Reason?, HandoffRequest)
    /// A field by which a proxy names its clients, from a peer that is not trusted.
    case strayForwarding(field: String)
    /// No host has this name.
    case unknownHost(Slice)
    /// Another device presents a session, and the route only logs that.
    case wouldReject(BindingMode, PresentedDevice, AuditEvent)
    /// Another device presents this session, which ends.
    case ends(CachedSession)
}

/// A device binding that was judged, for the log.
package struct JudgedBinding: Equatable, Sendable {
    /// The result of the judgement.
    package enum Outcome: String, Sendable {
        case match, mismatch, unknown
        /// Judged, and let pass whatever the result.
        case dryRun = "dry_run"

        /// nil if the reason does not concern a binding.
        init?(_ reason: Reason?) {
            switch reason {
            case .bindingIPMismatch, .bindingASNMismatch: self = .mismatch
            case .bindingASNUnknown: self = .unknown
            default: return nil
            }
        }
    }

    /// What was compared.
    package var mode: BindingMode
    /// The result.
    package var outcome: Outcome

    /// `ip/mismatch`
    package var text: String { "\(self.mode.rawValue)/\(self.outcome.rawValue)" }
}
