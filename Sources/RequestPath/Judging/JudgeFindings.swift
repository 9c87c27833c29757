package import AddressIntelligence
package import Handoff
package import Observability
package import Sessions
import Settings
package import Vocabulary

/// What each step of a `RequestJudge` is given beside the head.
package struct JudgingContext {
    /// The same one for all steps of a request.
    package let configuration: PathConfiguration
    /// The address at the other end of the connection.
    package let peer: IPAddress
    /// By the clock of the store that keeps the sessions.
    package let now: UnixTime
    /// Room for the reading of a path that is not its own; used within a step only.
    package let scratch: UnsafeMutableBufferPointer<UInt8>
    /// Whether a field by which proxies name their clients is to be noted when the peer is not believed.
    package let notesStrayForwarding: Bool

    package init(
        configuration: PathConfiguration,
        peer: IPAddress,
        now: UnixTime,
        scratch: UnsafeMutableBufferPointer<UInt8>,
        notesStrayForwarding: Bool
    ) {
        self.configuration = configuration
        self.peer = peer
        self.now = now
        self.scratch = scratch
        self.notesStrayForwarding = notesStrayForwarding
    }
}

/// What a request has come to so far.
package struct JudgeFindings {
    /// The steps of a request, in their order.
    package enum Stage: Int, Comparable, Sendable {
        case route, credentials, handoff, session, decision

        package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }

    /// The last step that was begun.
    package internal(set) var stage = Stage.route
    /// The gateway's own, with the one that a trusted proxy gave.
    package var requestID: RequestID
    /// The peer, or what trusted peers say of it; nil: not looked at yet.
    package internal(set) var clientAddress: IPAddress?
    /// The host that was asked for; nil: none that is served.
    package internal(set) var host: HostEntry?
    /// The frozen route; nil: the request came to none.
    package internal(set) var route: RouteEntry?
    /// The session whose identity the app sees; set when the request is permitted.
    package var session: CachedSession?
    /// Lines of ours that are due on any answer, the app's included.
    package var answerLines: [[UInt8]] = []
    /// The CORS lines of the route for this origin, due unless the app's answer has its own. Set when the request is
    /// permitted.
    package internal(set) var crossOriginLines: [UInt8] = []
    /// What was noticed and did not decide the request, such as a refused transfer token; for the log.
    package internal(set) var note: Reason?
    /// What became of a transfer token, and of the device that presented it; for the log.
    package internal(set) var handoff: TransferTokenResult?
    package internal(set) var binding: JudgedBinding?
    /// The identity field that could not be written, where that is why the request is refused.
    package internal(set) var unwritableField: String?
    /// What is to be recorded, in order; the driver empties the list when it has recorded it.
    package var events: [JudgeEvent] = []

    init(requestID: RequestID) {
        self.requestID = requestID
    }

    /// Adds a line that is due on any answer, once.
    mutating func addLine(_ name: String, _ value: String) {
        let line = Array("\(name): \(value)\r\n".utf8)
        // A cookie may be cleared for two reasons.
        if !self.answerLines.contains(line) { self.answerLines.append(line) }
    }
}

/// Something that a step noticed and that is to be recorded.
package enum JudgeEvent {
    case audit(AuditEvent)
    /// Session cookies with different values: the event, to be completed with the user that the values name.
    case ambiguousCookies([Slice], AuditEvent)
    /// A transfer token that is not even tried, for this reason.
    case turnedAway(Reason, HandoffRequest)
    /// A field by which a proxy names its clients, from a peer that is not believed.
    case strayForwarding(field: String)
}

/// A device binding that was judged, for the log.
package struct JudgedBinding: Equatable, Sendable {
    /// What the judgement came to.
    package enum Outcome: String, Sendable {
        case match, mismatch, unknown
        /// Judged, and let pass whatever it was.
        case dryRun = "dry_run"

        /// nil: the reason is none of a binding.
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
    /// What came of it.
    package var outcome: Outcome

    /// `ip/mismatch`
    package var text: String { "\(self.mode.rawValue)/\(self.outcome.rawValue)" }
}
