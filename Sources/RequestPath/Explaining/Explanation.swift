package import AddressIntelligence
package import Cryptography
import Endpoints
import NIOCore
package import Sessions
package import Settings
package import SignOn
package import Vocabulary

/// Describes what would happen to a request (`sallyport explain`). Nothing is sent, looked up, consumed or recorded.
package struct Explanation: Sendable {
    /// The steps in order, each with its lines of text.
    package private(set) var steps: [(title: String, lines: [String])] = []
    /// True if the user must sign in next.
    package private(set) var leadsToSignIn = false
    /// The first session-transfer token that would be consumed. `nil` if no token would be consumed.
    package private(set) var handoff: HandoffRequest?
    /// The route on which the asking proxy may forward the request. `nil` if the proxy may not or no proxy asks.
    package private(set) var granted: (host: PublicURL, route: RouteSettings)?
    /// The form of the proxy's check (forward auth), and the profile for answering it. `nil` if no proxy asks.
    private var check: (form: CheckForm, profile: AuthorizationProfile)?

    init() {}

    /// Explains the request whose head is `bytes`.
    ///
    /// - Parameters:
    ///   - peer: The address from which the request comes.
    ///   - session: The only session that a token in the request can find. `nil` if there is none. Call this
    ///     initializer on the event loop of the session.
    ///   - authority: Recognises the gateway's own tokens.
    ///   - certificate: The client's TLS certificate. `nil` if the client presents none.
    ///   - checkPath: The path of a proxy's check about the request. `nil` if the client itself sends the request.
    package init(
        of bytes: [UInt8],
        from peer: IPAddress,
        session: CachedSession?,
        authority: TokenAuthority,
        configuration: PathConfiguration,
        now: UnixTime,
        certificate: ClientCertificate? = nil,
        via checkPath: String? = nil
    ) {
        if let checkPath, let profile = configuration.authorization {
            // Envoy's form is found only with a `/` after the check's path, because the request's path follows there.
            let forms = ["", "/"].compactMap { end in
                Array((checkPath + end).utf8).withUnsafeBufferPointer { profile.form(of: $0) }
            }
            self.check = forms.first.map { ($0, profile) }
        }
        let head = RequestHead(fieldCount: configuration.limits.fieldCount)
        let names = NamedHostCache()
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            switch configuration.requestParser.parse(base, bytes.count, into: head) {
            case .complete:
                let clients = configuration.judging?.clients.snapshot ?? .empty
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count + 1) { scratch in
                    let given = JudgingContext(
                        head,
                        base,
                        configuration: configuration,
                        clients: clients,
                        peer: peer,
                        now: now,
                        wallNow: now,
                        scratch: scratch,
                        proofKeys: nil,
                        namedHosts: Pinned(names),
                        notesStrayForwarding: false
                    )
                    withExtendedLifetime((clients, certificate, names)) {
                        self.explain(given, Known(live: session, authority: authority), certificate)
                    }
                }
            case .incomplete:
                self.say("request", ["the head is incomplete"])
            case .refused(let reason):
                self.explainUnread(reason)
            }
        }
    }

    /// Returns the client's address, as reported by trusted proxies, and its ASN. Uses the peer if the head is invalid.
    package static func device(
        of bytes: [UInt8],
        from peer: IPAddress,
        configuration: PathConfiguration
    ) -> DeviceFacts {
        let head = RequestHead(fieldCount: configuration.limits.fieldCount)
        let address = bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress,
                configuration.requestParser.parse(base, bytes.count, into: head) == .complete
            else { return peer }
            return configuration.clientAddress.client(of: head, base, peer: peer)
        }
        return configuration.judging?.devices.facts(address: address, userAgent: nil)
            ?? DeviceFacts(address: address, asn: nil, userAgent: nil)
    }

    mutating func say(_ title: String, _ lines: [String]) {
        self.steps.append((title, lines))
    }

    /// Explains why a request is refused before it is judged.
    mutating func explainUnread(_ reason: Reason) {
        let allow = reason == .requestMethod ? [("Allow", MethodSet.allow)] : []
        self.say("request", [Self.words(.problem(reason, requestID: nil, fields: allow))])
    }

    // MARK: Steps

    /// The live session, and the authority that reads tokens.
    private struct Known {
        let live: CachedSession?
        let authority: TokenAuthority

        func answer(_ question: SessionQuestion, _ base: Bytes) -> SessionAnswer {
            switch self.authority.readSession(UnsafeRawBufferPointer(question.token.bytes(in: base))) {
            case .otherKey: return .otherKey
            case .malformed: return .malformed
            case .record(let key):
                guard let live = self.live, live.presentedToken.key == key, live.session.kind == question.kind else {
                    return .none
                }
                return .found(live)
            }
        }
    }

    private mutating func explain(_ given: JudgingContext, _ known: Known, _ certificate: ClientCertificate?) {
        var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
        judge.findings.certificate = certificate
        if let form = self.check?.form { judge.findings.note(form) }
        // True after the refusal of a query token was assumed in order to continue. The answer's reason is then not
        // shown.
        var isAssumed = false
        var next = judge.begin(given)
        self.explainRequest(given, judge.findings)
        if judge.findings.route != nil { self.explainRoute(given, judge.findings) }
        if judge.findings.stage > .credentials { self.explainCredentials(judge) }
        while true {
            self.explainUntried(&judge.findings)
            switch consume next {
            case .ask(let question):
                let answer = known.answer(question, given.base)
                if question.purpose == .request { self.explainSession(answer) }
                next = judge.sessionFound(answer, given)
            case .consume(let request):
                if self.handoff == nil { self.handoff = request.value }
                self.explainConsumption(request.value, judge)
                isAssumed = request.value.transport == .query
                next = judge.handoffEnded(JudgedHandoff(.refused(.handoffUnknown, endsExisting: false)), given)
            case .redeem:
                self.say("proof", ["a proof of the token's key, which is assumed to be new"])
                next = judge.proofRedeemed(nil, given)
            case .collect(let call):
                self.leadsToSignIn = call.value.endpoint.path == SignInPath.path
                let line = "answered by the gateway's own \(call.value.endpoint.path)"
                return self.say("route", self.reading(given) + [line])
            case .permitted(let permit, let identity):
                return self.explainForwarding(given, judge, permit, identity)
            case .answer(var answer):
                if isAssumed { answer.response.reason = nil }
                return self.explain(answer, given, judge.findings)
            }
        }
    }

    private mutating func explainRequest(_ given: JudgingContext, _ findings: JudgeFindings) {
        let (head, base) = (given.head, given.base)
        let address = findings.clientAddress ?? given.peer
        self.say(
            "request",
            [
                "method   \(Self.text(head.method.bytes(in: base)))",
                "host     \(Self.text(head.authority.bytes(in: base)))",
                "path     \(Self.text(head.path.bytes(in: base)))",
                // The query may contain a token.
                "query    \(head.hasQuery ? "\(head.query.length) bytes" : "none")",
                "client   \(address)\(address == given.peer ? "" : ", as reported by \(given.peer)")",
            ]
        )
    }

    private mutating func explainRoute(_ given: JudgingContext, _ findings: JudgeFindings) {
        guard let route = findings.route, let host = findings.host else { return }
        let name = route.name == host.publicURL.authority + route.settings.path ? "" : " (\(route.name))"
        var lines = self.reading(given)
        lines.append("\(host.publicURL)\(route.settings.path)\(name)")
        lines.append(
            "auth \(route.settings.auth.rawValue), to \(route.settings.upstream ?? "no app: only checks of other proxies are answered")"
        )
        let path = given.head.path.bytes(in: given.base)
        // A proxy that asks about a request forwards the path unchanged.
        if self.check == nil, let prefixes = route.prefixes, prefixes.fits(path) {
            lines.append("path for the app \(prefixes.own(path))")
        }
        if let client = route.settings.client, route.settings.handoff { lines.append("handoff as client \(client)") }
        self.say("route", lines)
    }

    private mutating func explainCredentials(_ judge: RequestJudge) {
        var lines: [String] = []
        switch judge.credentials.presented {
        case .none: lines.append("none")
        case .explicit: lines.append("a bearer token")
        case .unusable(let reason): lines.append("a credential that cannot be used: \(reason.rawValue)")
        case .cookie: lines.append("a session cookie")
        case .providerCookie: lines.append("the provider's own session cookie")
        }
        if judge.credentials.cookies.session.isAmbiguous {
            let reason = Reason.credentialAmbiguousCookie.rawValue
            lines.append("several session cookies: none is used, all are cleared (\(reason))")
        }
        if judge.findings.route?.settings.handoff == true {
            // A token that is consumed or turned away also gets its own step.
            let isDealtWith = judge.findings.stage == .handoff || !judge.findings.events.isEmpty
            let end = isDealtWith ? "" : ", which this request may not use"
            if judge.credentials.cookies.handoff.isThere { lines.append("a transfer token in the cookies\(end)") }
            if judge.credentials.handoffParameter != nil { lines.append("a transfer token in the query\(end)") }
            if judge.credentials.movedToken != nil {
                lines.append("a transfer token that was moved from the query into the attempt cookie\(end)")
            }
        }
        self.say("credentials", lines)
    }

    private mutating func explainUntried(_ findings: inout JudgeFindings) {
        for case .turnedAway(let reason, let request) in findings.events {
            let place = request.transport == .cookie ? "cookies" : "query"
            self.say("handoff", ["the token in the \(place) is not tried: \(reason.rawValue)"])
        }
        findings.events = []
    }

    private mutating func explainConsumption(_ request: HandoffRequest, _ judge: RequestJudge) {
        switch request.transport {
        case .cookie:
            self.say(
                "handoff",
                [
                    "the token in the cookies would be consumed first, but explain does not try it",
                    "if it signs the user in: 303 to the same URL; if not, the token is cleared, and the request continues:",
                ]
            )
        case .query:
            let place = judge.credentials.handoffParameter == nil ? "attempt cookie" : "query"
            self.say("handoff", ["the token in the \(place) would be consumed first, but explain does not try it"])
        }
    }

    private mutating func explainSession(_ answer: SessionAnswer) {
        guard case .found(let session) = answer else { return self.say("session", ["no valid session"]) }
        self.say("session", ["\(session.session.kind.rawValue), of \(session.session.identity.id)"])
    }

    private mutating func explain(_ answer: LocalAnswer, _ given: JudgingContext, _ findings: JudgeFindings) {
        self.explainAnswer(answer, given, findings)
        guard let form = self.check?.form else { return }
        let denial = form.denial(answer, on: nil).response
        var line = "\(denial.status) \(StatusText.phrase(denial.status))"
        if denial.fields.contains(where: { $0.name == "Location" }) {
            line += denial.status == 401 ? ", with Location: the proxy turns it into a redirect" : ", with Location"
        }
        self.say("answer to the proxy", [line])
    }

    private mutating func explainAnswer(_ answer: LocalAnswer, _ given: JudgingContext, _ findings: JudgeFindings) {
        if let host = findings.host {
            let login = "\(host.publicURL)\(SignInPath.path)?"
            self.leadsToSignIn = answer.response.fields.contains { $0.name == "Location" && $0.value.hasPrefix(login) }
        }
        var lines = [Self.words(answer.response, of: findings.host)]
        guard findings.stage == .route else {
            if let field = findings.unwritableField { lines[0] += " (\(field))" }
            return self.say(findings.stage == .credentials ? "credentials" : "decision", lines)
        }
        if let route = findings.route {
            if route.preflight(given.head) != nil, answer.response.reason != .requestBodyTooLarge {
                lines.append("answered by the gateway itself, as a CORS preflight")
            }
            if answer.response.reason == .pathAmbiguous {
                lines.append(
                    "the path, or the path in Destination, must begin with strip_prefix exactly as written, followed by one / and a name"
                )
            }
            return self.say("decision", lines)
        }
        if findings.host == nil {
            lines.append("no configured host has this name")
        } else {
            lines = self.reading(given) + lines
            if answer.response.reason == .pathAmbiguous {
                lines.append("an app could read the path as the path of a route with other requirements")
            }
        }
        self.say("route", lines)
    }

    private mutating func explainForwarding(
        _ given: JudgingContext,
        _ judge: RequestJudge,
        _ permit: consuming Permit,
        _ identity: IdentityLines?
    ) {
        guard let host = judge.findings.pinnedHost else { return }
        let audience = host.use { permit.route.audience(on: $0).text }
        if let check = self.check, let host = judge.findings.host {
            return self.explainGrant(given, judge, permit, identity, host, check, audience)
        }
        let changes = permit.route.settings.requestHeaders
        let permitted = PermittedHead(
            given.head,
            given.base,
            permit: permit,
            credentials: judge.credentials,
            facts: ForwardedFacts(
                address: Array((judge.findings.clientAddress ?? given.peer).description.utf8),
                host: host,
                requestID: judge.findings.requestID,
                identity: identity,
                trace: nil
            ),
            own: given.configuration.ownNames,
            into: ByteBuffer()
        )
        self.say("decision", ["forwarded"])
        let lines = String(decoding: permitted.bytes.readableBytesView, as: UTF8.self).split(separator: "\r\n")
        self.say("head towards the app", lines.map { Self.redacted($0, audience: audience, setBy: changes) })
    }

    private mutating func explainGrant(
        _ given: JudgingContext,
        _ judge: RequestJudge,
        _ permit: consuming Permit,
        _ identity: IdentityLines?,
        _ host: HostEntry,
        _ check: (form: CheckForm, profile: AuthorizationProfile),
        _ audience: String
    ) {
        let detour = GrantedFields.detour(
            bringsToken: judge.credentials.handoffParameter != nil,
            setsSession: judge.findings.setsSession,
            given.head,
            given.base,
            host,
            judge.findings.requestID,
            names: given.configuration.ownNames,
            as: check.form,
            by: check.profile
        )
        if let detour { return self.explain(detour, given, judge.findings) }
        let route = permit.route.settings
        do throws(IdentityRefusal) {
            let granted = try GrantedFields(
                permit,
                identity,
                given.head,
                given.base,
                judge.credentials,
                on: host,
                names: given.configuration.ownNames,
                as: check.form,
                by: check.profile,
                own: judge.findings.answerLines
            )
            let status = granted.answer.response.status
            let lines = String(decoding: granted.lines, as: UTF8.self).split(separator: "\r\n")
            self.granted = (host.publicURL, route)
            self.say("decision", ["allowed"])
            self.say(
                "answer to the proxy",
                ["\(status) \(StatusText.phrase(status))"] + lines.map { Self.redacted($0, audience: audience) }
            )
        } catch {
            self.explain(.problem(error.reason, requestID: judge.findings.requestID), given, judge.findings)
        }
    }
}
