import AddressIntelligence
import Endpoints
import NIOCore
import Settings
import Vocabulary

/// Answers checks, in which a proxy asks whether a request of its client is allowed. The request is judged like any
/// other request. Only the judged head and the use of the permit differ.
extension Exchange {
    /// True if the request is not a check, but a browser's request for one of the gateway's own pages. Some proxies
    /// send checks and such requests to one address.
    func isBrowsers(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) -> Bool {
        self.check = nil
        self.checkResult = .denied
        guard let profile = configuration.authorization, profile.servesPages, self.mayAsk(profile)
        else { return false }
        let isPage = buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                profile.form(of: head.path.bytes(in: base)) == nil,
                let host = configuration.routes.host(for: head.authority.bytes(in: base), kept: self.loop.namedHosts),
                case .read(let reading) = PathReading.read(head.path.bytes(in: base), into: self.loop.scratch.reading)
            else { return false }
            let method = head.method.bytes(in: base)
            return configuration.endpoints.match(reading, method: method, host: host).isThere
                || configuration.endpoints.portal(reading, method: method, host: host).isThere
        }
        if isPage { self.record.judge.findings.asker = .namesClient }
        return isPage
    }

    /// True if the peer's address and, if required, the peer's certificate belong to a proxy that may send checks.
    private func mayAsk(_ profile: AuthorizationProfile) -> Bool {
        profile.peers.contains(self.peer)
            && profile.settings.peerCertificate?.isMet(by: self.client?.certificate) != false
    }

    /// Judges the request that a check describes. First collects the check's body if the form of the check requires it.
    ///
    /// - Parameter buffer: A buffer that begins with the bytes of the check. These bytes are removed.
    func beginCheck(_ buffer: inout ByteBuffer, by configuration: PathConfiguration) {
        let check = self.loop.takeRequestHead()
        var bytes = self.loop.takeBuffer()
        var bodyLimit: Int?
        let refusal = buffer.withUnsafeReadableBytes { input -> Reason? in
            guard let base = input.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return .requestMalformed }
            do throws(Reason) {
                let (form, profile) = try self.findForm(of: check, base, by: configuration)
                if self.facts.hasBody { bodyLimit = form.bodyLimit(of: check) }
                if bodyLimit == nil { try self.read(check, base, [], form, profile, by: configuration, into: &bytes) }
            } catch {
                return error
            }
            return nil
        }
        if let bodyLimit {
            self.loop.giveBack(bytes)
            self.waitingHead = check
            self.waitingBytes = self.loop.copy(buffer, count: check.byteCount)
            buffer.moveReaderIndex(forwardBy: check.byteCount)
            self.endpoint = nil
            return self.collectBody(atMost: bodyLimit)
        }
        buffer.moveReaderIndex(forwardBy: check.byteCount)
        self.loop.giveBack(check)
        self.judge(bytes, unless: refusal, by: configuration)
    }

    /// Judges the request that a check describes, after the check's body has been collected.
    func checkCollected() {
        guard let check = self.waitingHead, let input = self.waitingBytes, let form = self.check,
            let profile = self.configuration.authorization
        else { return }
        let (body, configuration) = (self.collected, self.configuration)
        self.collected = []
        // The body has been read completely, so another check may follow.
        self.facts.hasBody = false
        var bytes = self.loop.takeBuffer()
        let refusal = input.withUnsafeReadableBytes { input -> Reason? in
            guard let base = input.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return .requestMalformed }
            do throws(Reason) {
                try self.read(check, base, body, form, profile, by: configuration, into: &bytes)
            } catch {
                return error
            }
            return nil
        }
        self.releaseWaiting()
        self.judge(bytes, unless: refusal, by: configuration)
    }

    /// Judges the original request of a check. The head of this request has been parsed into the loop's head.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the head.
    ///   - refusal: The reason why there is no head. `nil` if the head was parsed.
    private func judge(_ bytes: ByteBuffer, unless refusal: Reason?, by configuration: PathConfiguration) {
        if let refusal {
            self.loop.giveBack(bytes)
            return self.refuseCheck(refusal)
        }
        let head = self.loop.requestHead
        self.facts.method = head.knownMethod
        let step = self.judge(head, in: bytes, by: configuration)
        if !step.waits { self.loop.giveBack(bytes) }
        self.take(step)
    }

    /// Finds the form of a check. The form of the answer depends on it, too.
    @inline(__always)
    private func findForm(
        of check: RequestHead,
        _ base: Bytes,
        by configuration: PathConfiguration
    ) throws(Reason) -> (CheckForm, AuthorizationProfile) {
        guard let profile = configuration.authorization else { throw .authorizationDialect }
        guard self.mayAsk(profile) else { throw .authorizationPeer }
        guard let form = profile.form(of: check.path.bytes(in: base)) else { throw .authorizationDialect }
        self.check = form
        self.record.judge.findings.note(form)
        return (form, profile)
    }

    /// Converts a check into the head of the original request, parsed into the loop's head.
    ///
    /// - Parameter body: The collected body of the check. Empty if its form does not collect a body.
    @inline(__always)
    private func read(
        _ check: RequestHead,
        _ base: Bytes,
        _ body: [UInt8],
        _ form: CheckForm,
        _ profile: AuthorizationProfile,
        by configuration: PathConfiguration,
        into bytes: inout ByteBuffer
    ) throws(Reason) {
        try Subrequest.write(check, base, body, form, needsAddress: profile.needsAddress, into: &bytes)
        let head = self.loop.requestHead
        let count = bytes.readableBytes
        let result = bytes.withUnsafeReadableBytes { bytes -> ParseResult in
            guard let base = bytes.baseAddress else { return .incomplete }
            return configuration.requestParser.parse(base.assumingMemoryBound(to: UInt8.self), bytes.count, into: head)
        }
        switch result {
        case .complete where head.byteCount == count: break
        case .complete, .incomplete: throw .authorizationMetadata
        case .refused(let reason): throw reason
        }
    }

    private func refuseCheck(_ reason: Reason) {
        var answer = LocalAnswer.problem(
            reason,
            requestID: self.record.requestID,
            fields: reason == .requestMethod ? [("Allow", MethodSet.allow)] : []
        )
        // The check itself was well-formed, so another check may follow.
        answer.closes = false
        self.answer(answer)
    }

    /// Returns the form of a check that cannot be parsed. `nil` if the peer may not send checks or the path is unknown.
    ///
    /// - Parameter bytes: The bytes where a head was expected.
    func form(ofUnparsed bytes: ByteBuffer, by configuration: PathConfiguration) -> CheckForm? {
        guard self.service == .checks, let profile = configuration.authorization, self.mayAsk(profile) else {
            return nil
        }
        return bytes.withUnsafeReadableBytes { bytes in
            RequestParser.path(ofUnparsed: bytes.bindMemory(to: UInt8.self)).flatMap { profile.form(of: $0) }
        }
    }

    /// Uses the permit of a check: writes the fields for the app into the answer.
    @inline(never)
    func report(
        _ permit: consuming Permit,
        _ identity: consuming IdentityLines?,
        _ given: JudgingContext,
        as form: CheckForm
    ) -> Step {
        guard let host = self.record.host, let profile = given.configuration.authorization else {
            preconditionFailure("a check of no host is permitted")
        }
        let detour = GrantedFields.detour(
            bringsToken: self.record.judge.credentials.handoffParameter != nil,
            bringsSession: self.record.judge.findings.bringsSession,
            given.head,
            given.base,
            host,
            self.record.requestID,
            names: given.configuration.ownNames,
            as: form,
            by: profile
        )
        if let detour { return .answer(detour) }
        if self.record.judge.findings.isAssertionDue, let session = self.record.session {
            self.loop.renewAssertion(of: session, for: permit.route.audience(on: host), by: given.configuration)
        }
        do throws(IdentityRefusal) {
            return .grant(
                try GrantedFields(
                    permit,
                    identity,
                    given.head,
                    given.base,
                    self.record.judge.credentials,
                    on: host,
                    names: given.configuration.ownNames,
                    as: form,
                    by: profile,
                    own: self.record.extraLines
                )
            )
        } catch {
            return .answer(.problem(error.reason, requestID: self.record.requestID))
        }
    }
}

extension CheckResult {
    /// Creates the result for an answer that does not allow the request.
    init(_ denial: LocalAnswer) {
        switch denial.response.status {
        case 300..<400: self = .redirected
        case 429, 500...: self = .failed
        default: self = .denied
        }
    }
}
