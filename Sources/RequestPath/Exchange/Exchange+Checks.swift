import AddressIntelligence
import Endpoints
import NIOCore
import Settings
import Vocabulary

/// Answers checks: questions of other proxies whether a request of their client is allowed (forward auth).
extension Exchange {
    /// True if the request is not a check but a browser's request for one of the gateway's pages. Some proxies send
    /// both to the same listener.
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

    /// True if the peer may send checks, by its address and, if required, its certificate.
    private func mayAsk(_ profile: AuthorizationProfile) -> Bool {
        profile.peers.contains(self.peer)
            && profile.settings.peerCertificate?.isMet(by: self.client?.certificate) != false
    }

    /// Judges the request that a check describes, after collecting the check's body if its form requires this.
    ///
    /// - Parameter buffer: A buffer that begins with the check. The check's bytes are removed.
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

    /// Judges the request that a check describes. Called after the check's body has been collected.
    func checkCollected() {
        guard let check = self.waitingHead, let input = self.waitingBytes, let form = self.check,
            let profile = self.configuration.authorization
        else { return }
        let (body, configuration) = (self.collected, self.configuration)
        self.collected = []
        // The connection can carry another check, because the body has been read completely.
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

    /// Judges the request that a check describes. Its parsed head is the loop's head.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the head.
    ///   - refusal: Why there is no head. `nil` if there is one.
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

    /// Finds the form of a check and records it for the answer.
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

    /// Parses the request that a check describes into the loop's head.
    ///
    /// - Parameter body: The collected body of the check. Empty if the form collects no body.
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
        // The check itself was well-formed, so the connection can carry another one.
        answer.closes = false
        self.answer(answer)
    }

    /// Returns the form of a check that cannot be parsed. `nil` if the peer may not send checks or the path is unknown.
    ///
    /// - Parameter bytes: The bytes received instead of a head.
    func form(ofUnparsed bytes: ByteBuffer, by configuration: PathConfiguration) -> CheckForm? {
        guard self.service == .checks, let profile = configuration.authorization, self.mayAsk(profile) else {
            return nil
        }
        return bytes.withUnsafeReadableBytes { bytes in
            RequestParser.path(ofUnparsed: bytes.bindMemory(to: UInt8.self)).flatMap { profile.form(of: $0) }
        }
    }

    /// Uses the permit of a check to write the answer with the fields for the app.
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
            setsSession: self.record.judge.findings.setsSession,
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
