import Endpoints
import NIOCore
import Pages
import Sessions
import Settings
import Transport
import Vocabulary

/// The gateway's own answers.
extension Exchange {
    /// Sends one of the gateway's own answers and ends the exchange.
    func answer(_ answer: LocalAnswer) {
        guard let stream = self.stream, self.phase != .idle, self.phase != .ending else { return }
        let answer = self.inFormat(answer)
        self.releaseWaiting()
        self.releaseUpstreamHead()
        // A client that got no "100 Continue" may or may not send the body, so the connection has to close.
        let mayReadOn = !answer.closes && !self.facts.expectsContinue && self.mayDrain
        self.facts.keepsAlive = self.facts.keepsAlive && mayReadOn && !self.loop.isDraining
        self.facts.status = answer.status
        self.facts.hasBegunAnswer = true
        let bytes = answer.serialized(
            requestID: self.facts.requestID,
            date: self.loop.date,
            extraLines: self.facts.extraLines,
            crossOriginLines: self.facts.crossOriginLines,
            isHead: self.facts.method == .head,
            keepsAlive: self.facts.keepsAlive,
            saysKeepAlive: self.facts.keepsAlive && self.facts.minorVersion == 0
        )
        if self.facts.method != .head { self.facts.bytesOut += answer.body.count }
        // Bytes that arrive during the write do not belong to this exchange, and the write itself may end it.
        self.phase = .ending
        self.exchangeNumber &+= 1
        stream.writeAndFlush(ByteBuffer(bytes: bytes))
        guard self.phase == .ending else { return }
        if !self.facts.keepsAlive {
            self.finish(.close, answer.reason)
        } else if self.body.isDone {
            self.finish(.next, answer.reason)
        } else {
            self.finish(.body(self.body), answer.reason)
        }
    }

    /// A refusal as the client can read it: in the envelope of the endpoint's protocol, or as a page for a person.
    private func inFormat(_ answer: LocalAnswer) -> LocalAnswer {
        if let envelope = self.facts.judge.findings.envelope {
            return answer.enclosed(in: envelope, requestID: self.facts.requestID)
        }
        guard self.facts.wantsPage else { return answer }
        return answer.page(
            by: self.configuration.settings.pages.writer(Int(self.facts.pageLanguage)),
            requestID: self.facts.requestID,
            isForm: self.facts.method == .post,
            hasHost: self.facts.host != nil && self.configuration.routes.anyHost == nil,
            hasSignIn: self.configuration.provider(of: self.facts.host)?.signsIn == true
        )
    }

    /// Whether the rest of the request's body is small enough to be discarded.
    private var mayDrain: Bool {
        if self.body.isDone { return true }
        guard let remaining = self.body.remaining else { return true }
        return remaining <= self.configuration.limits.drainBody
    }

    // MARK: The gateway's endpoints

    func beginCollecting(_ pending: PendingEndpoint) {
        self.endpoint = pending
        self.collected = []
        if self.body.isDone { return self.callEndpoint() }
        self.phase = .collecting
        self.facts.lastProgress = self.loop.now
        self.sendContinue()
    }

    func collectBody(_ buffer: inout ByteBuffer) {
        guard let pending = self.endpoint else { return }
        self.facts.expectsContinue = false
        let outcome = self.body.collect(&buffer, into: &self.collected)
        if self.collected.count > pending.endpoint.bodyLimit {
            self.endpoint = nil
            return self.answer(.problem(.requestBodyTooLarge, requestID: self.facts.requestID, closes: true))
        }
        switch outcome {
        case .more: break
        case .end: self.callEndpoint()
        case .malformed:
            self.endpoint = nil
            self.answer(.problem(.requestFraming, requestID: self.facts.requestID, closes: true))
        }
    }

    private func callEndpoint() {
        guard let pending = self.endpoint else { return }
        var request = pending.request
        request.body = self.collected
        self.collected = []
        let exchange = self.beginWaiting()
        pending.start(request, on: self.loop.eventLoop) { [self] response in
            guard self.isWaiting(in: exchange) else { return }
            self.endpoint = nil
            self.answer(LocalAnswer(response))
            self.process()
        }
    }

    // MARK: The end of an exchange

    /// Ends the exchange, whose last bytes have been written, when the system has taken them: until then the client may
    /// be slow, and what it does not take is no part of the answer.
    ///
    /// - Parameter reason: nil: the answer is complete.
    @inline(__always)
    func finish(_ end: AnswerEnd, _ reason: Reason? = nil) {
        if let stream = self.stream, stream.unsentBytes > 0 { return self.wait(for: stream, PendingEnd(end, reason)) }
        self.conclude(reason)
        self.end(end)
    }

    private func wait(for stream: any ClientStream, _ pending: PendingEnd) {
        self.phase = .ending
        self.pendingEnd = pending
        self.facts.clientOutput = OutputWatch()
        guard pending.discardsInput else { return }
        // A client that sends everything before it reads would wait for us, and we for it.
        stream.resumeReading()
        self.process()
    }

    /// Called when the system has taken everything that was written for the client.
    package func outputSent() {
        guard self.phase == .ending, let pending = self.pendingEnd.take() else { return }
        self.conclude(pending.reason)
        self.end(pending.end)
    }

    /// The stream handles the rest of the request.
    private func end(_ end: AnswerEnd) {
        self.phase = .idle
        self.stream?.answerEnded(end)
    }

    /// What was decided; nil: the connection ended before. A permitted request that the gateway answers itself, because its
    /// app failed, counts by its reason, so that the metrics name it.
    var decision: RequestDecision? {
        guard let reason = self.facts.reason, !(self.facts.isForwarded && self.facts.isAppsAnswer)
        else { return .allowed }
        guard reason == .clientGone || reason == .gatewayDraining else { return .denied(reason) }
        return self.facts.isForwarded || self.facts.endpointPath != nil ? .allowed : nil
    }

    /// Records the end of the exchange in the metrics and the access log.
    func conclude(_ reason: Reason?) {
        guard self.facts.isOpen else { return }
        self.facts.isOpen = false
        self.facts.reason = reason == .sessionUnknown ? self.facts.absence ?? reason : reason
        let duration = (NIODeadline.now() - self.facts.startedAt).nanoseconds
        self.metrics.requestEnded(
            route: self.facts.pinnedRoute?.use { $0.index },
            endpoint: self.facts.endpointPath,
            status: self.facts.status,
            reason: self.facts.reason,
            decision: self.decision,
            nanoseconds: duration
        )
        if self.facts.logBytes != nil { self.log(nanoseconds: duration) }
        if let bytes = self.facts.logBytes.take() { self.loop.giveBack(bytes) }
        if self.holderPlace >= 0 {
            // It has lasted, so its last bytes may be a use of their own.
            self.noteUse()
            self.loop.holders.remove(self)
        }
        self.tunnel = nil
        self.facts.session = nil
        if !self.facts.extraLines.isEmpty { self.facts.extraLines = [] }
    }
}

/// How an exchange ends whose answer the client has not taken yet.
struct PendingEnd {
    let end: AnswerEnd
    /// Why the answer is not what the client asked for; nil: it is complete.
    let reason: Reason?

    init(_ end: AnswerEnd, _ reason: Reason?) {
        self.end = end
        self.reason = reason
    }

    /// Whether nothing more is read of what the client sends.
    var discardsInput: Bool { if case .close = self.end { true } else { false } }
}

/// A request to one of the gateway's endpoints. Its body is collected on the loop, and a task answers it, on the same loop
/// but for work that takes long (`offLoop`). The task is cancelled when the client leaves, unless it may have written
/// something single-use.
final class PendingEndpoint {
    let endpoint: Endpoint
    let request: EndpointRequest
    private var task: Task<Void, Never>?

    init(endpoint: Endpoint, request: EndpointRequest) {
        self.endpoint = endpoint
        self.request = request
    }

    /// Runs the endpoint and returns its answer on `loop`.
    func start(
        _ request: EndpointRequest,
        on loop: any TurnLoop,
        _ then: @escaping (EndpointResponse) -> Void
    ) {
        let answer = self.endpoint.answer
        let done = NIOLoopBound(then, eventLoop: loop)
        self.task = Task(executorPreference: loop.taskExecutor) {
            let response = await answer(request)
            if loop.inEventLoop { done.value(response) } else { loop.execute { done.value(response) } }
        }
    }

    func clientLeft() {
        if !self.endpoint.outlivesClient { self.task?.cancel() }
    }
}
