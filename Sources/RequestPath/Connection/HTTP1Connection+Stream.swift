import Endpoints
package import NIOCore
import Settings
import Transport

/// The client's side of an exchange: frames the answer and decides whether another request may follow.
extension HTTP1Connection: ClientStream {
    package var version: StaticString { self.message.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0" }

    package var opensBySuccess: Bool { false }

    package var isWritable: Bool { self.stream.isWritable }

    package var unacknowledgedBytes: Int {
        self.stream.unacknowledgedBytes + (self.earlyAnswer?.byteCount ?? 0)
    }

    package func askForBody() {
        guard self.message.awaitsContinue else { return }
        self.message.awaitsContinue = false
        self.stream.writeAndFlush(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
    }

    package func pauseReading() {
        self.stream.pause()
    }

    package func resumeReading() {
        self.stream.resume()
    }

    package func passBody() {
        self.useInput()
    }

    package func announce(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        guard self.message.minorVersion == 1 else { return }
        head.use { head, base, origin, publicOrigin in
            self.stage.append(&self.collection) { out in
                self.configuration.responseWriter.writeInterim(
                    head,
                    base,
                    changes,
                    origin: origin,
                    publicOrigin: publicOrigin,
                    into: &out
                )
            }
        }
        self.flush()
    }

    package func begin(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        head.use { head, base, origin, publicOrigin in
            self.message.begin(head.framing, isRequestWhole: self.body.isDone, isDraining: self.loop.isDraining)
            // The connection keeps this configuration until the next request.
            Pinned(self.configuration).use { configuration in
                self.stage.append(&self.collection) { out in
                    configuration.responseWriter.write(
                        head,
                        base,
                        changes,
                        origin: origin,
                        publicOrigin: publicOrigin,
                        framing: self.message.framing,
                        connection: self.message.connection,
                        date: self.loop.date,
                        into: &out
                    )
                }
            }
        }
        self.hasCollectedHead = true
    }

    package func answer(_ head: LocalAnswerHead, hasContent: Bool) {
        let isLarge = self.body.misses(moreThan: self.configuration.limits.drainBody)
        self.message.beginOwn(closes: head.answer.closes || isLarge || self.loop.isDraining)
        guard self.message.keepsAlive, !self.body.isDone else {
            return self.send(head, hasContent: hasContent)
        }
        // The next request must not get trailers of this one.
        self.trailers = nil
        self.earlyAnswer = EarlyAnswer(head, hasContent: hasContent)
        self.state.drains(self.body, now: self.loop.now)
        self.resumeReading()
        // The caller that is using input continues with the rest.
        if self.isUsing { return }
        self.useInput()
        if self.inputHasEnded { self.endIfOver() }
    }

    /// Sends the answer that has waited for the rest of the request's body.
    ///
    /// - Parameter isWhole: True if the whole body has arrived. If false, no other request may follow.
    func sendEarlyAnswer(isWhole: Bool) {
        guard let answer = self.earlyAnswer.take() else { return }
        self.state.drainsNoMore()
        if isWhole { self.body = BodyDecoder(.none) }
        self.message.beginOwn(closes: !isWhole || self.loop.isDraining)
        self.send(answer.head, hasContent: answer.hasContent)
    }

    private func send(_ head: LocalAnswerHead, hasContent: Bool) {
        let connection = self.message.connection
        self.stage.append(&self.collection) { out in
            LocalAnswerWriter.write(head, date: self.loop.date, connection: connection, into: &out)
        }
        if hasContent {
            var content = ByteBuffer(bytes: head.answer.response.body)
            self.write(content.readableBytes, of: &content)
        }
        // A write may reveal that the client is gone.
        if !self.state.isClosed { self.complete() }
    }

    package func write(_ count: Int, of content: inout ByteBuffer) {
        self.stage.take(count, of: &content, &self.collection, as: self.message.framing, to: self.stream)
    }

    package func flush() {
        let isFirst = self.hasCollectedHead
        self.hasCollectedHead = false
        self.stage.flush(self.collection, to: self.stream, exactly: !isFirst)
    }

    package func complete() {
        self.stage.end(&self.collection, as: self.message.framing)
        self.sendEnd()
    }

    package func complete(with trailers: Trailers) {
        guard self.message.framing == .chunked, self.message.acceptsTrailers else { return self.complete() }
        self.stage.end(&self.collection, with: trailers)
        self.sendEnd()
    }

    @inline(__always)
    private func sendEnd() {
        self.flush()
        // A flush may reveal that the client is gone.
        if self.state.isClosed { return }
        if self.stream.unsentBytes == 0 { return self.answerSent(atOnce: true) }
        self.isSendingEnd = true
        guard !self.message.keepsAlive else { return }
        // A client may send everything before it reads. Without reading here, both sides would wait for each other.
        self.resumeReading()
        self.useInput()
    }

    /// Continues after the system has accepted the answer.
    ///
    /// - Parameter atOnce: True if the system accepted all bytes at the first attempt.
    func answerSent(atOnce: Bool) {
        self.exchange.answerSent()
        switch self.requestEnds(atOnce: atOnce) {
        case .readOn:
            self.resumeReading()
            // Unused bytes are a pipelined request. A caller that is using input continues by itself.
            if self.isUsing { return }
            self.useInput()
            if self.inputHasEnded { self.endIfOver() }
        case .linger:
            self.linger()
        case .close:
            self.stream.close()
        case .none:
            break
        }
    }

    /// Ends the request after its answer.
    @inline(__always)
    private func requestEnds(atOnce: Bool) -> HTTP1State.NextStep {
        let (now, idle) = (self.loop.now, self.configuration.timeouts.idle)
        if self.message.keepsAlive { return self.state.answerEnded(.next, now: now, idle: idle) }
        // A container's network ends with its process, so a stopping process waits until the client has the answer.
        let mayCloseAtOnce =
            atOnce && self.message.mayCloseAtOnce && self.input == nil && !self.isUsing && !self.loop.isDraining
        return self.state.answerEnded(mayCloseAtOnce ? .closeAtOnce : .close, now: now, idle: idle)
    }

    package func signedIn() {
        self.sessionNotes.note(self.place, now: self.loop.now)
    }

    package func beginTunnel() {
        self.state.upgraded()
        self.resumeReading()
        // The client may have sent bytes before the upgrade was confirmed.
        if let input = self.input {
            self.input = nil
            self.exchange.tunnelToUpstream(input)
        }
        if self.inputHasEnded { _ = self.exchange.clientEnded() }
    }

    package func tunnel(_ bytes: ByteBuffer) {
        self.stream.writeAndFlush(bytes)
    }

    /// Resets the connection (RST), so that the client cannot mistake a partial body for a complete one.
    package func abort() {
        guard self.state.closed() else { return }
        self.loop.remove(self)
        self.input = nil
        self.earlyAnswer = nil
        self.stream.reset()
    }
}
