package import NIOCore
import Sessions
import Transport
import Vocabulary

/// A WebSocket after the app has agreed to it: passes bytes in both directions and closes the tunnel when the session
/// ends.
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

    /// Passes what belongs to the app's current frame, and leaves the tunnel at its end.
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

    /// Passes bytes of the client to the app.
    package func tunnelToUpstream(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        bytes.withUnsafeReadableBytes { self.tunnel?.fromClient.pass($0.bindMemory(to: UInt8.self)) }
        self.facts.tunnelInput &+= bytes.readableBytes
        self.facts.lastProgress = self.loop.now
        upstream.tunnel(bytes)
        if self.upstream === upstream, !upstream.isWritable { self.stream?.pauseReading() }
    }

    /// Called when the client sends nothing more: neither does the app get more, behind what was written for it.
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
            // Its peers would not end it by themselves in the time that is left.
            self.tunnel?.isLeaving = true
            if !tunnel.fromApp.isWithinFrame { return self.leaveTunnel() }
        }
        if tunnel.clientHasEnded, let upstream = self.upstream {
            // The app has the time of a write for each part of what is left, and then to end.
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

    /// Ends a WebSocket because the gateway stops: both peers are told that it goes away.
    func leaveTunnel() {
        self.closeTunnel(.gatewayDraining, .goingAway)
    }

    /// Ends the stream of a session that has ended. A WebSocket gets a close frame between two frames; any other stream
    /// breaks off. An answer that has not begun may become a stream, and then ends at the next sweep.
    package func sessionEnded() {
        self.facts.hasSessionEnded = true
        // It was judged with the session, so it must not reach the app any more. If it comes again, it is judged anew.
        if self.phase == .queued { return self.refuseQueued() }
        self.endStream(.sessionRevoked, .policyViolation)
    }

    /// Ends the stream of a session that could not be read for too long, so that it is unknown whether it has ended.
    package func sessionUnreadable() {
        self.endStream(.storeUnavailable, .tryAgainLater)
    }

    /// Ends the stream of a client whose certificate has expired: a request of it would be refused now.
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

    /// Ends a WebSocket. Each peer gets a close frame, unless that would be within another frame or behind one that closes.
    func closeTunnel(_ reason: Reason, _ status: WebSocketStatus) {
        guard let tunnel = self.tunnel else { return }
        if tunnel.fromApp.mayClose { self.stream?.tunnel(ByteBuffer(bytes: status.closeFrame)) }
        // The client may turn out to be gone.
        guard self.phase == .tunnel else { return }
        if tunnel.fromClient.mayClose, !tunnel.clientHasEnded {
            self.upstream?.tunnel(ByteBuffer(bytes: status.maskedCloseFrame))
        }
        // What a user sent before the session ended does not count any more.
        if status == .goingAway { self.finishUpstream() } else { self.dropUpstream() }
        self.finish(reason)
    }
}

/// Both directions of a WebSocket.
struct Tunnel {
    var fromApp = WebSocketFrames()
    var fromClient = WebSocketFrames()
    /// Whether the client sends nothing more.
    var clientHasEnded = false
    /// Whether it ends when the app's current frame does.
    var isLeaving = false

    /// Whether data were passed on since the last call. Control frames are none: they keep connections open, without a
    /// user.
    mutating func takeData() -> Bool {
        // Each is asked.
        let (down, up) = (self.fromApp.takeData(), self.fromClient.takeData())
        return down || up
    }
}
