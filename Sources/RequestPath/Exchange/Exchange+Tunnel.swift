package import NIOCore
import Sessions
import Transport
import Vocabulary

/// Forwards the bytes of a WebSocket in both directions. Closes it when the session ends.
extension Exchange: SessionHolder {
    package func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool {
        self.answerBegins(head, buffer)
        guard let stream = self.stream, self.phase == .exchange else { return false }
        self.phase = .tunnel
        self.tunnel = Tunnel()
        stream.flush()
        guard self.phase == .tunnel else { return false }
        stream.beginTunnel()
        return true
    }

    package func tunnelled(_ bytes: ByteBuffer) {
        guard let isLeaving = self.tunnel?.isLeaving else { return }
        if isLeaving { return self.passLastFrame(bytes) }
        bytes.withUnsafeReadableBytes { self.tunnel?.fromApp.pass($0.bindMemory(to: UInt8.self)) }
        self.passToClient(bytes)
    }

    /// Sends the rest of the app's current frame and then ends the tunnel.
    private func passLastFrame(_ bytes: ByteBuffer) {
        let count = bytes.withUnsafeReadableBytes { self.tunnel?.fromApp.passFrame($0.bindMemory(to: UInt8.self)) }
        guard let frame = bytes.getSlice(at: bytes.readerIndex, length: count ?? 0) else { return }
        self.passToClient(frame)
        if self.tunnel?.fromApp.isBetweenFrames == true { self.leaveTunnel() }
    }

    @inline(__always)
    private func passToClient(_ bytes: ByteBuffer) {
        guard let stream = self.stream else { return }
        self.record.bytesOut &+= bytes.readableBytes
        self.facts.lastProgress = self.loop.now
        stream.tunnel(bytes)
        if self.phase == .tunnel, !stream.isWritable { self.upstream?.pause() }
    }

    /// Forwards bytes from the client to the app.
    package func tunnelToUpstream(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        bytes.withUnsafeReadableBytes { self.tunnel?.fromClient.pass($0.bindMemory(to: UInt8.self)) }
        self.facts.tunnelInput &+= bytes.readableBytes
        self.facts.lastProgress = self.loop.now
        upstream.tunnel(bytes)
        if self.upstream === upstream, !upstream.isWritable { self.stream?.pauseReading() }
    }

    /// Called when the client has ended its stream. Ends the stream to the app after the bytes written so far.
    func tunnelInputEnded() {
        self.tunnel?.clientHasEnded = true
        self.facts.lastProgress = self.loop.now
        self.upstream?.endOutput()
    }

    package func tunnelEnded() {
        self.upstream = nil
        self.finish()
    }

    // MARK: The end from this side

    /// Checks the deadlines of a tunnel.
    func sweepTunnel(_ now: NIODeadline) {
        guard let tunnel = self.tunnel else { return }
        if self.loop.closesIdle, !tunnel.isLeaving {
            // The gateway ends the tunnel, because client and app would not end it in the remaining time.
            self.tunnel?.isLeaving = true
            if !tunnel.fromApp.isWithinFrame { return self.leaveTunnel() }
        }
        if tunnel.clientHasEnded, let upstream = self.upstream {
            // The write timeout restarts whenever the app accepts some of the remaining bytes.
            let waiting = upstream.unacknowledgedBytes
            if waiting > 0, self.facts.appOutput.moves(waiting, now: now) { self.facts.lastProgress = now }
            if now - self.facts.lastProgress > self.configuration.timeouts.write {
                if waiting > 0 { return self.abort(.upstreamTimeout) }
                self.dropUpstream()
                return self.finish()
            }
        } else if now - self.facts.lastProgress > self.configuration.timeouts.streamIdle {
            return self.abort(.upstreamTimeout)
        }
        self.checkSession()
    }

    /// Ends a WebSocket with the status `goingAway`, because the gateway stops.
    func leaveTunnel() {
        self.closeTunnel(.gatewayDraining, .goingAway)
    }

    /// Ends the stream of a session that has ended. A WebSocket gets a close frame, and a begun answer is aborted. If
    /// the answer begins later, the next sweep aborts it.
    package func sessionEnded() {
        self.facts.hasSessionEnded = true
        // The app must not receive a request of an ended session. If the client retries, the request is judged again.
        if self.phase == .queued { return self.refuseQueued() }
        self.endStream(.sessionRevoked, .policyViolation)
    }

    /// Ends the stream of a session that may have ended, because the store could not be read for too long.
    package func sessionUnreadable() {
        self.endStream(.storeUnavailable, .tryAgainLater)
    }

    /// Ends the stream of a client whose certificate has expired.
    func certificateExpired() {
        self.endStream(.requireClientCertificate, .policyViolation)
    }

    private func endStream(_ reason: Reason, _ status: WebSocketStatus) {
        switch self.phase {
        case .tunnel:
            self.closeTunnel(reason, status)
        case .exchange where self.facts.hasBegunAnswer,
            .ending where self.record.isAppsAnswer && self.facts.endReason == nil:
            self.abort(reason)
        case .idle, .judging, .waiting, .collecting, .expecting, .connecting, .queued, .exchange, .ending:
            break
        }
    }

    /// Ends a WebSocket with close frames. Sends none inside another frame or after a close frame.
    func closeTunnel(_ reason: Reason, _ status: WebSocketStatus) {
        guard let tunnel = self.tunnel else { return }
        if tunnel.fromApp.mayClose { self.stream?.tunnel(ByteBuffer(bytes: status.closeFrame)) }
        // The client may have left during the previous call.
        guard self.phase == .tunnel else { return }
        if tunnel.fromClient.mayClose, !tunnel.clientHasEnded {
            self.upstream?.tunnel(ByteBuffer(bytes: status.maskedCloseFrame))
        }
        // Unless the gateway is stopping, the session may have ended, so unsent bytes for the app are dropped.
        if status == .goingAway { self.finishUpstream() } else { self.dropUpstream() }
        self.finish(reason)
    }
}

/// The state of a WebSocket.
struct Tunnel {
    var fromApp = WebSocketFrames()
    var fromClient = WebSocketFrames()
    /// True if the client has ended its stream.
    var clientHasEnded = false
    /// True if the tunnel ends after the app's current frame.
    var isLeaving = false

    /// Returns true if data was forwarded since the last call. Ignores control frames: they do not show a user.
    mutating func takeData() -> Bool {
        // Both calls are needed, because each resets one direction.
        let (down, up) = (self.fromApp.takeData(), self.fromClient.takeData())
        return down || up
    }
}
