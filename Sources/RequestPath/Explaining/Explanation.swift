package import AddressIntelligence
import Endpoints
import Handoff
import NIOCore
package import Sessions
import Settings
package import Vocabulary

/// What would become of a request, in words: the steps of `Exchange` with the same parts, but nothing is
/// sent, asked or consumed (`sallyport explain`).
package struct Explanation: Sendable {
    /// The steps in their order; each with what is to be said of it.
    package private(set) var steps: [(title: String, lines: [String])] = []

    private let configuration: PathConfiguration
    private let peer: IPAddress
    private let now: UnixTime

    /// Explains the request whose head is `bytes`.
    ///
    /// - Parameters:
    ///   - peer: The address from which it comes.
    ///   - session: What its credential would turn out to be; nil: nothing that lives. To be used on its own loop.
    package init(
        of bytes: [UInt8],
        from peer: IPAddress,
        session: CachedSession?,
        configuration: PathConfiguration,
        now: UnixTime
    ) {
        self.configuration = configuration
        self.peer = peer
        self.now = now
        let head = RequestHead(fieldCount: configuration.limits.fieldCount)
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            switch configuration.requestParser.parse(base, bytes.count, into: head) {
            case .complete: self.explain(head, base, session)
            case .incomplete: self.say("request", ["the head does not come to an end"])
            case .refused(let refusal):
                let allow = refusal.status == 405 ? MethodSet.allow : nil
                self.say("request", [Self.refused(refusal.status, refusal.reason, allow: allow)])
            }
        }
    }

    private mutating func say(_ title: String, _ lines: [String]) {
        self.steps.append((title, lines))
    }

    private static func refused(_ status: Int, _ reason: Reason, allow: String? = nil) -> String {
        "refused: \(status) \(StatusText.phrase(status)), \(reason.rawValue)\(allow.map { "; Allow: \($0)" } ?? "")"
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Steps

    private mutating func explain(_ head: RequestHead, _ base: Bytes, _ session: CachedSession?) {
        let address = self.clientAddress(head, base)
        let path = head.path.bytes(in: base)
        self.say(
            "request",
            [
                "method   \(Self.text(head.method.bytes(in: base)))",
                "host     \(Self.text(head.authority.bytes(in: base)))",
                "path     \(Self.text(path))",
                // A query can hold a token.
                "query    \(head.hasQuery ? "\(head.query.length) bytes" : "none")",
                "client   \(address)\(address == self.peer ? "" : ", as \(self.peer) says")",
            ]
        )
        guard let host = self.configuration.routes.host(for: head.authority.bytes(in: base)) else {
            return self.say("route", [Self.refused(404, .routeNotFound), "no configured host has this name"])
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: path.count + 1) { scratch in
            switch PathReading.read(path, into: scratch) {
            case .refused(let reason): self.say("route", [Self.refused(400, reason)])
            case .read(let reading): self.explainRoute(head, base, host, reading, session, address)
            }
        }
    }

    private mutating func explainRoute(
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ reading: PathReading,
        _ session: CachedSession?,
        _ address: IPAddress
    ) {
        let read = reading.isRaw ? [] : ["the path reads as \(Self.text(reading.bytes))"]
        let method = head.method.bytes(in: base)
        switch self.configuration.endpoints.match(reading.bytes, method: method, servesSignIn: host.servesSignIn) {
        case .endpoint(let endpoint):
            let isOurs = reading.isRaw
            let line = isOurs ? "answered by the gateway's own \(endpoint.path)" : Self.refused(400, .pathAmbiguous)
            return self.say("route", read + [line])
        case .methodNotAllowed(let allow):
            let refused = Self.refused(405, .routeMethodNotAllowed, allow: allow)
            return self.say("route", read + [refused, "the path is the gateway's own"])
        case .none:
            break
        }
        switch self.configuration.routes.match(host: host, head: head, base, reading: reading) {
        case .notFound:
            self.say("route", read + [Self.refused(404, .routeNotFound)])
        case .methodNotAllowed(let allow):
            self.say("route", read + [Self.refused(405, .routeMethodNotAllowed, allow: allow)])
        case .refused(let reason):
            let why =
                reason == .pathAmbiguous ? ["an app may read the path as one of a route that demands otherwise"] : []
            self.say("route", read + [Self.refused(400, reason)] + why)
        case .route(let route):
            var lines = read
            let name = route.name == host.publicURL.authority + route.settings.path ? "" : " (\(route.name))"
            lines.append("\(host.publicURL)\(route.settings.path)\(name)")
            lines.append("auth \(route.settings.auth.rawValue), to \(route.settings.upstream)")
            if let client = route.settings.client, route.settings.handoff {
                lines.append("handoff as client \(client)")
            }
            if route.preflight(head) != nil {
                return self.say("route", lines + ["answered by the gateway itself, as a CORS preflight"])
            }
            self.say("route", lines)
            self.explainCredentials(head, base, host, route, session, address)
        }
    }

    private mutating func explainCredentials(
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ route: RouteEntry,
        _ session: CachedSession?,
        _ address: IPAddress
    ) {
        let read = Credentials.read(
            head,
            base,
            route: route,
            cookies: self.configuration.cookies(of: host),
            parameter: self.configuration.parameter
        )
        guard case .success(let credentials) = read else {
            if case .failure(let refusal) = read {
                self.say("credentials", [Self.refused(refusal.status, refusal.reason)])
            }
            return
        }
        var lines: [String] = []
        switch credentials.presented {
        case .none: lines.append("none")
        case .explicit: lines.append("a bearer token")
        case .unusable(let reason): lines.append("one that cannot be used: \(reason.rawValue)")
        case .cookie: lines.append("a session cookie")
        }
        if credentials.cookies.sessionIsAmbiguous {
            let reason = Reason.credentialAmbiguousCookie.rawValue
            lines.append("several session cookies: none is used, all are cleared (\(reason))")
        }
        if route.settings.handoff, credentials.cookies.hasHandoff || credentials.handoffParameter != nil {
            let client = route.settings.client.flatMap { self.configuration.clients.client($0) }
            var places: [(transport: HandoffTransport, text: String)] = []
            if credentials.cookies.hasHandoff { places.append((.cookie, "cookies")) }
            if credentials.handoffParameter != nil { places.append((.query, "query")) }
            for place in places {
                let end =
                    if !Navigation.mayConsume(head, base) {
                        ", which this request may not use"
                    } else if client?.takes(place.transport) == true {
                        ": it would be consumed first, which is not tried here"
                    } else {
                        ", where its client takes none: it is removed"
                    }
                lines.append("a transfer token in the \(place.text)\(end)")
            }
        }
        self.say("credentials", lines)
        self.explainDecision(head, base, host, route, credentials, session, address)
    }

    private mutating func explainDecision(
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ session: CachedSession?,
        _ address: IPAddress
    ) {
        var evidence = Evidence(
            session: nil,
            missing: .credentialMissing,
            isExplicit: false,
            isCrossSite: false,
            bindingMismatch: nil,
            now: self.now
        )
        var kind: Session.Kind?
        switch credentials.presented {
        case .none:
            if credentials.cookies.sessionIsAmbiguous { evidence.missing = .credentialAmbiguousCookie }
        case .unusable(let reason):
            evidence.isExplicit = true
            evidence.missing = reason
        case .explicit:
            evidence.isExplicit = true
            kind = .native
        case .cookie:
            kind = .web
            evidence.isCrossSite = CrossSite.isSuspect(head, base, origin: host.origin, trusted: route.trustedOrigins)
        }
        if let kind {
            evidence.missing = .sessionUnknown
            if session?.session.kind == kind { evidence.session = session }
        }
        if let session = evidence.session?.session, let made = session.device {
            let now = self.configuration.devices.facts(address: address, userAgent: nil)
            evidence.bindingMismatch = BindingJudge.judge(route.settings.liveBinding, minted: made, presented: now)
        }
        let live = evidence.session?.session
        self.say("session", [live.map { "\($0.kind.rawValue), of \($0.subject)" } ?? "none that lives"])
        switch Decision.judge(route, evidence) {
        case .permitted(let permit):
            self.explainForwarding(head, base, host, credentials, permit, address)
        case .denied(let denial):
            let form = DenialForm.of(
                denial,
                head,
                base,
                route.settings,
                session: live,
                provider: self.configuration.settings.provider,
                now: self.now
            )
            self.say("decision", [Self.told(denial, form)])
        }
    }

    private static func told(_ denial: Denial, _ form: DenialForm) -> String {
        let reason =
            switch denial {
            case .forbidden(let reason), .unauthenticated(let reason): reason
            }
        return switch form {
        case .signIn(isAgain: false): "303 to the login page, \(reason.rawValue)"
        case .signIn(isAgain: true): "303 to the login page, to sign in again, \(reason.rawValue)"
        case .unauthorized: self.refused(401, reason)
        case .forbidden: self.refused(403, reason)
        }
    }

    private mutating func explainForwarding(
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        _ credentials: Credentials,
        _ permit: consuming Permit,
        _ address: IPAddress
    ) {
        var identity: ContiguousArray<UInt8>?
        if let session = permit.session {
            switch self.configuration.identity.render(session.session) {
            case .success(let lines): identity = ContiguousArray(lines)
            case .failure(let refusal):
                let field = refusal.field.map { " (\($0))" } ?? ""
                return self.say("decision", [Self.refused(403, refusal.reason) + field])
            }
        }
        var buffer = ByteBuffer()
        RequestWriter.write(
            head,
            base,
            permit: permit,
            credentials: credentials,
            facts: ForwardedFacts(
                address: Array(address.description.utf8),
                hostLines: host.forwardedLines,
                requestID: RequestID(seed: 0, sequence: 0),
                identity: identity
            ),
            cookies: self.configuration.cookies(of: host),
            parameter: self.configuration.parameter,
            into: &buffer
        )
        self.say("decision", ["forwarded"])
        let lines = String(decoding: buffer.readableBytesView, as: UTF8.self).split(separator: "\r\n")
        self.say("head towards the app", lines.map(Self.redacted))
    }

    /// A password or token of the app's is none of the reader's business.
    private static func redacted(_ line: Substring) -> String {
        line.lowercased().hasPrefix("authorization:") ? "Authorization: <redacted>" : String(line)
    }

    private func clientAddress(_ head: RequestHead, _ base: Bytes) -> IPAddress {
        let rule = self.configuration.clientAddress
        let role: FieldRole = rule.header == .xForwardedFor ? .forwardedFor : .forwarded
        var values: [UnsafeBufferPointer<UInt8>] = []
        for index in 0..<head.fields.count where head.fields[index].role == role {
            values.append(head.fields[index].value.bytes(in: base))
        }
        return rule.client(peer: self.peer, values: values)
    }
}
