import Endpoints
import NIOCore
import Pages
import Sessions
import Settings
import Transport
import Vocabulary

/// Sends the gateway's own answers.
extension Exchange {
    /// Sends an answer by the gateway and ends the exchange.
    func answer(_ answer: LocalAnswer) {
        let answer = self.configuration.withPublicPath(self.inFormat(answer))
        let lines = self.record.extraLines + [self.record.crossOriginLines]
        if let check = self.check {
            self.checkResult = CheckResult(answer)
            let url = self.record.host?.publicURL
            let origin = url.flatMap { $0.isWildcard ? nil : $0.description }
            self.send(check.denial(answer, on: origin, signIn: self.signInURL(answer, origin)), check.lines(lines))
        } else {
            self.send(self.service == .checks ? CheckForm.marked(answer) : answer, Array(lines.joined()))
        }
    }

    /// Returns the URL of the host's sign-in page. `nil` if the host has none or is unknown.
    private func signInURL(_ answer: LocalAnswer, _ origin: String?) -> String? {
        guard let origin, self.configuration.provider(of: self.record.host)?.signsIn == true else { return nil }
        return origin + self.configuration.settings.pages.path(answer.response.signIn ?? SignInPath.path)
    }

    /// Sends an answer with these field lines, each with its CRLF.
    func send(_ answer: LocalAnswer, _ lines: [UInt8]) {
        guard let stream = self.stream, self.phase != .idle, self.phase != .ending else { return }
        var answer = answer
        if self.facts.isWebSocket, self.wouldOpen(answer.response.status, on: stream) {
            answer = .problem(.requestProtocol, requestID: self.record.requestID)
        }
        // A proxy may send its client's `Content-Length` without the body. Its next check would be read as the body.
        if self.service == .checks, self.facts.hasBody { answer.closes = true }
        self.releaseWaiting()
        self.releaseUpstreamHead()
        self.record.status = answer.response.status
        self.facts.hasBegunAnswer = true
        // Bytes that arrive from now on do not belong to this exchange, and writing may end the exchange.
        self.phase = .ending
        self.exchangeNumber &+= 1
        self.facts.endReason = answer.response.reason
        self.facts.clientOutput = OutputWatch()
        let hasContent = !self.facts.wantsHeadOnly && answer.hasContent && !answer.response.body.isEmpty
        if hasContent { self.record.bytesOut += answer.response.body.count }
        stream.answer(LocalAnswerHead(answer, requestID: self.record.requestID, lines: lines), hasContent: hasContent)
    }

    /// Returns a refusal in the format of the endpoint's protocol, or as a page for a person.
    private func inFormat(_ answer: LocalAnswer) -> LocalAnswer {
        if let envelope = self.record.judge.findings.envelope {
            return answer.enclosed(in: envelope, requestID: self.record.requestID)
        }
        guard self.facts.wantsPage else { return answer }
        return answer.page(
            by: self.configuration.settings.pages.writer(Int(self.facts.pageLanguage))
                .on(self.record.host?.publicURL.authority),
            requestID: self.record.requestID,
            isForm: self.facts.method == .post,
            hasHost: self.record.host != nil && self.configuration.routes.anyHost == nil,
            hasSignIn: self.configuration.provider(of: self.record.host)?.signsIn == true
        )
    }

    // MARK: A collected body

    /// Collects the request's body for `endpoint`. If `endpoint` is `nil`, the body belongs to a check.
    func collectBody(atMost limit: Int) {
        self.collected = []
        self.collectedLimit = limit
        self.phase = .collecting
        self.facts.lastProgress = self.loop.now
        self.stream?.askForBody()
    }

    func bodyCollected(_ progress: BodyProgress) {
        if self.collected.count > self.collectedLimit { return self.refuseCollected(.requestBodyTooLarge) }
        switch progress {
        case .more: break
        case .end: if self.endpoint == nil { self.checkCollected() } else { self.callEndpoint() }
        case .malformed: self.refuseCollected(.requestFraming)
        }
    }

    func refuseCollected(_ reason: Reason) {
        self.endpoint = nil
        self.answer(.problem(reason, requestID: self.record.requestID, closes: true))
    }

    // MARK: The gateway's endpoints

    func beginCollecting(_ pending: PendingEndpoint) {
        self.endpoint = pending
        self.collected = []
        if self.facts.isRequestWhole { return self.callEndpoint() }
        self.collectBody(atMost: pending.endpoint.bodyLimit)
    }

    /// Calls the endpoint in a task and sends its answer on the loop.
    private func callEndpoint() {
        guard let pending = self.endpoint else { return }
        var request = pending.request
        request.body = self.collected
        self.collected = []
        let exchange = self.beginWaiting()
        self.callCount += 1
        let loop = self.loop.eventLoop
        let answered = NIOLoopBound(
            { (response: EndpointResponse) in
                self.callCount -= 1
                guard self.isWaiting(in: exchange) else { return }
                self.endpoint = nil
                self.answer(LocalAnswer(response))
                self.process()
            },
            eventLoop: loop
        )
        let trace = self.record.trace == nil ? nil : self.keptTrace?.callTrace
        pending.task = CallTrace.with(trace) {
            ProviderCaller.$endpointClient.withValue(self.clientKey) {
                Task(executorPreference: loop.taskExecutor) { [request, answer = pending.endpoint.answer] in
                    let response = await answer(request)
                    if loop.inEventLoop { answered.value(response) } else { loop.execute { answered.value(response) } }
                }
            }
        }
    }

    // MARK: The end of an exchange

    /// Sends the last written bytes. The exchange ends when the system has accepted them.
    ///
    /// - Parameter reason: Why the answer is incomplete. `nil` if it is complete.
    func finish(_ reason: Reason? = nil) {
        if let stream = self.stream { self.finish(on: stream, reason) }
    }

    @inline(__always)
    func finish(on stream: any ClientStream, _ reason: Reason? = nil, trailers: Trailers? = nil) {
        self.phase = .ending
        self.facts.endReason = reason
        self.facts.clientOutput = OutputWatch()
        if let trailers { stream.complete(with: trailers) } else { stream.complete() }
    }

    /// Ends the exchange. Called when the system has accepted all bytes for the client.
    package func answerSent() {
        guard self.phase == .ending else { return }
        self.conclude(self.facts.endReason)
        self.phase = .idle
    }

    /// Records the end of the exchange in the metrics, the access log and the trace.
    func conclude(_ reason: Reason?) {
        guard self.facts.isOpen else { return }
        self.facts.isOpen = false
        self.record.end(reason)
        let slot = self.record.count(in: self.metrics)
        if self.service == .checks, self.record.endpointPath == nil {
            self.metrics.checkEnded(self.check?.dialect, self.checkResult)
        }
        if self.isRecorded {
            if let log = self.loop.accessLog {
                self.record.write(to: log, client: self.clientText, on: self.client, asked: self.check?.dialect)
            }
            if self.record.trace != nil { self.endTrace(slot) }
            if let bytes = self.record.log.takeBytes() { self.loop.giveBack(bytes) }
        }
        if self.holderPlace >= 0 {
            // The last bytes of a long request may be another use of the session.
            self.noteUse()
            self.loop.sessions?.holders.remove(self)
        }
        self.tunnel = nil
        self.record.session = nil
        if !self.record.extraLines.isEmpty { self.record.extraLines = [] }
    }
}

/// A request to one of the gateway's endpoints. If the client leaves, the task is cancelled unless the endpoint may
/// have consumed a single-use value.
final class PendingEndpoint {
    let endpoint: Endpoint
    let request: EndpointRequest
    var task: Task<Void, Never>?

    init(endpoint: Endpoint, request: EndpointRequest) {
        self.endpoint = endpoint
        self.request = request
    }

    func clientLeft() {
        if !self.endpoint.outlivesClient { self.task?.cancel() }
    }
}
