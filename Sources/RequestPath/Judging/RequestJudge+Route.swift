import AddressIntelligence
import Endpoints
import Settings
import Vocabulary

/// Determines where a request goes: its host, client address, path, and endpoint or route.
extension RequestJudge {
    /// Chooses the route. Returns an action if the request has no route or is for an endpoint.
    mutating func chooseRoute(_ given: JudgingContext) -> JudgeAction? {
        let (head, base, configuration) = (given.head, given.base, given.configuration)
        self.findings.clientAddress = self.clientAddress(given)
        if self.findings.isMisdirected { return self.refuseConnection() }
        let authority = head.authority.bytes(in: base)
        guard let host = configuration.routes.pinnedHost(for: authority, kept: given.namedHosts) else {
            if configuration.routes.isElsewhere(authority) { return self.refuseConnection() }
            self.findings.events.append(.unknownHost(head.authority))
            return .answer(configuration.unknownHost(for: given.peer, self.findings.requestID))
        }
        self.findings.pinnedHost = host
        var end: JudgeAction?
        host.use { end = self.chooseRoute(on: $0, given) }
        return end
    }

    /// Chooses the route on `host`. Returns an action if the request has no route or is for an endpoint.
    @inline(__always)
    private mutating func chooseRoute(on host: HostEntry, _ given: JudgingContext) -> JudgeAction? {
        let (head, base, configuration) = (given.head, given.base, given.configuration)
        // `Strict-Transport-Security` must not be sent over plain http (RFC 6797 7.2).
        if let line = configuration.strictTransport, host.publicURL.isHTTPS, !self.findings.isPlainHTTP {
            self.findings.answerLines.append(line)
        }
        if let id = self.trustedRequestID(given) { self.findings.requestID.given = id }
        // `OPTIONS *` asks about the server, and the gateway is the server (RFC 9110 9.3.7).
        if head.hasAsteriskTarget(in: base) {
            return .answer(LocalAnswer(EndpointResponse(status: 204, fields: [("Allow", MethodSet.allow)])))
        }
        switch PathReading.read(head.path.bytes(in: base), into: given.scratch) {
        case .refused(let reason):
            return self.refuseRoute(reason)
        case .read(let reading):
            let method = head.method.bytes(in: base)
            if self.findings.dialect != nil, self.isNotAsked(of: reading, method, given, host) {
                return self.refuseRoute(.authorizationEndpoint)
            }
            switch configuration.endpoints.match(reading, method: method, host: host) {
            case .endpoint(let endpoint):
                return self.call(endpoint, reading, given, host)
            case .forward(let route):
                self.findings.pinnedRoute = Pinned(route)
                return nil
            case .refused(let reason, let envelope):
                self.findings.envelope = envelope
                return self.refuseRoute(reason)
            case .methodNotAllowed(let allow, let envelope):
                self.findings.envelope = envelope
                return self.refuseRoute(.routeMethodNotAllowed, [("Allow", allow)])
            case .none:
                break
            }
            // If a proxy passes on a browser's request, the pages of Authelia's portal take precedence over routes.
            if !self.findings.asker.isEmpty, self.findings.dialect == nil,
                let answer = self.portalAnswer(reading, method, given, host)
            {
                return answer
            }
            switch configuration.routes.match(host: host, head: head, base, reading: reading) {
            case .route(let route):
                self.findings.pinnedRoute = route
                // Do not return an optional action from `use`: it would be copied for each request.
                if route.use({ $0.upstreamIndex == nil }), self.findings.dialect == nil {
                    return self.portalAnswer(reading, method, given, host) ?? self.refuseRoute(.routeNotForwarded)
                }
                if route.use({ $0.changesPath && Self.isOutside($0, head, base, on: host) }) {
                    return self.refuseRoute(.pathAmbiguous)
                }
                return nil
            case .notFound:
                // Only a listener for operators has `anyHost`. It has no app and no start page.
                let isForOperators = configuration.routes.anyHost != nil
                return self.refuseRoute(
                    .routeNotFound,
                    explanation: isForOperators ? "nothing is served at this path: GET / lists what is" : nil
                )
            case .methodNotAllowed(let allow):
                return self.refuseRoute(.routeMethodNotAllowed, [("Allow", allow)])
            case .refused(let reason):
                return self.refuseRoute(reason)
            }
        }
    }

    /// Returns whether the path or the `Destination` field lies outside the paths of the app. Called on routes that
    /// change paths.
    @inline(never)
    private static func isOutside(_ route: RouteEntry, _ head: RequestHead, _ base: Bytes, on host: HostEntry) -> Bool {
        if route.prefixes?.fits(head.path.bytes(in: base)) == false { return true }
        guard let destination = head.value(.destination, in: base) else { return false }
        return AppReferences(route, publicOrigin: host.origin)?.misses(destination) == true
    }

    /// Calls the endpoint if the request may reach it.
    private mutating func call(
        _ endpoint: Endpoint,
        _ reading: PathReading,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> JudgeAction {
        let (head, base, configuration) = (given.head, given.base, given.configuration)
        self.findings.endpoint = endpoint.path
        self.findings.envelope = endpoint.envelope
        // Early data may be a replay, and most endpoints use up a code or token.
        if head.line(.earlyData) != nil { return self.refuseRoute(.requestEarlyData) }
        if let readers = endpoint.readers, let preflight = self.admitReaders(readers, of: endpoint, given) {
            return .answer(preflight)
        }
        if case .length(let length) = head.framing, length > endpoint.bodyLimit {
            return self.refuseRoute(.requestBodyTooLarge)
        }
        guard head.findOwnCookies(configuration.ownNames.cookies(of: host), in: base) else {
            return self.refuseRoute(.credentialRepeated)
        }
        var request = EndpointRequest(
            to: endpoint,
            head,
            base,
            path: reading.bytes,
            host: host,
            cookies: configuration.ownNames.cookies(of: host),
            address: self.findings.clientAddress ?? given.peer,
            requestID: self.findings.requestID,
            design: configuration.settings.pages
        )
        request.certificate = self.findings.certificate
        let call = OutOfLine(EndpointCall(endpoint: endpoint, request: request))
        return endpoint.usesTransferTokens ? self.handOff(before: call, on: host, given) : .collect(call)
    }

    /// Answers a request for a page of Authelia's portal. Returns `nil` for any other path.
    @inline(never)
    private mutating func portalAnswer(
        _ reading: PathReading,
        _ method: UnsafeBufferPointer<UInt8>,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> JudgeAction? {
        switch given.configuration.endpoints.portal(reading, method: method, host: host) {
        case .endpoint(let endpoint): return self.call(endpoint, reading, given, host)
        case .refused(let reason, _): return self.refuseRoute(reason)
        case .methodNotAllowed(let allow, _): return self.refuseRoute(.routeMethodNotAllowed, [("Allow", allow)])
        case .none, .forward: return nil
        }
    }

    /// Returns whether a check of this path is refused. Proxies must not forward the gateway's own paths to an app.
    @inline(never)
    private func isNotAsked(
        of reading: PathReading,
        _ method: UnsafeBufferPointer<UInt8>,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> Bool {
        let match = given.configuration.endpoints.match(reading, method: method, host: host)
        // A check has no body of the client, so only GET is possible.
        if self.findings.asker.contains(.showsPages), given.head.knownMethod == .get, case .endpoint = match {
            return false
        }
        return match.isThere
    }

    /// Sets the CORS fields of the endpoint for the request's origin. Returns the answer if the request is a preflight.
    private mutating func admitReaders(
        _ readers: CrossOriginReaders,
        of endpoint: Endpoint,
        _ given: JudgingContext
    ) -> LocalAnswer? {
        let (head, base) = (given.head, given.base)
        let origin = head.value(.origin, in: base).map { String(decoding: $0, as: UTF8.self) }
        let lines = readers.fields(for: origin).map { "\($0.name): \($0.value)\r\n" }.joined()
        self.findings.crossOriginLines = Array(lines.utf8)
        guard head.method.bytes(in: base).elementsEqual("OPTIONS".utf8),
            !endpoint.answersOptions || head.value(.preflightMethod, in: base) != nil
        else { return nil }
        let requestID = self.findings.requestID.text
        return LocalAnswer(readers.preflight(from: origin, methods: endpoint.methods, requestID: requestID))
    }

    /// Answers 421 and closes the connection, so that every client retries on a new connection.
    private func refuseConnection() -> JudgeAction {
        .answer(.problem(.requestMisdirected, requestID: self.findings.requestID, closes: true))
    }

    private func refuseRoute(
        _ reason: Reason,
        _ fields: [(name: String, value: String)] = [],
        explanation: String? = nil
    ) -> JudgeAction {
        .answer(.problem(reason, explanation: explanation, requestID: self.findings.requestID, fields: fields))
    }

    @inline(__always)
    private mutating func clientAddress(_ given: JudgingContext) -> IPAddress {
        if !self.findings.asker.isEmpty { return self.addressFromProxy(given) }
        let rule = given.configuration.clientAddress
        guard rule.trusts(given.peer) else {
            if given.notesStrayForwarding, let field = Self.strayForwarding(given) {
                self.findings.events.append(.strayForwarding(field: field))
            }
            return given.peer
        }
        return rule.client(of: given.head, given.base, peer: given.peer)
    }

    /// Returns the client's address as reported by the proxies that send checks.
    @inline(never)
    private func addressFromProxy(_ given: JudgingContext) -> IPAddress {
        guard let checks = given.configuration.authorization else { return given.peer }
        if self.findings.dialect == nil, checks.namesPageClientsInRealIP {
            return Subrequest.realIP(given.head, given.base).flatMap { ForwardedField.address($0) } ?? given.peer
        }
        return checks.addresses.client(of: given.head, given.base, peer: given.peer)
    }

    /// Returns the name of a field in which an untrusted peer names a client. The peer is usually a proxy that
    /// `trusted_proxies` should list.
    private static func strayForwarding(_ given: JudgingContext) -> String? {
        let head = given.head
        if head.line(.forwardedFor) != nil { return "X-Forwarded-For" }
        if head.line(.forwarded) != nil { return "Forwarded" }
        guard head.line(.managed) != nil else { return nil }
        for index in 0..<head.fields.count where head.fields[index].role == .managed {
            if ByteClass.equal(head.fields[index].name.bytes(in: given.base), "x-real-ip") { return "X-Real-IP" }
        }
        return nil
    }

    /// Returns a trusted proxy's request id. `nil` if there is none or it is not accepted (`RequestID.isFit`).
    @inline(__always)
    private func trustedRequestID(_ given: JudgingContext) -> [UInt8]? {
        guard let value = given.head.value(.requestID, in: given.base),
            !self.findings.asker.isEmpty || given.configuration.clientAddress.trusts(given.peer),
            RequestID.isFit(value)
        else { return nil }
        return Array(value)
    }
}
