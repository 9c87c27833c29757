package import NIOCore
import Sessions
import Vocabulary

/// A WebSocket after the app has agreed to it: passes bytes in both directions and closes the tunnel when the session
/// ends.
extension Exchange: SessionHolder {
    package func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool {
        guard let stream = self.stream, self.writeAnswerHead(head, buffer) else { return false }
        self.phase = .tunnel
        self.facts.keepsAlive = false
        self.stage.flush(to: stream, exactly: true)
        guard self.phase == .tunnel else { return false }
        stream.beginTunnel()
        return true
    }

    package func tunnelled(_ bytes: ByteBuffer) {
        guard let stream = self.stream else { return }
        self.answerPassed(bytes.readableBytes)
        stream.writeAndFlush(bytes)
        if !stream.isWritable { self.upstream?.pause() }
    }

    /// Passes bytes of the client to the app.
    package func tunnelToUpstream(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        self.facts.lastProgress = self.loop.now
        upstream.writeAndFlush(bytes)
        if self.upstream === upstream, !upstream.isWritable { self.stream?.pauseReading() }
    }

    package func tunnelEnded() {
        self.upstream = nil
        self.conclude(nil)
        self.end(.close)
    }

    /// Ends the stream of a session that has ended. A WebSocket gets a close frame between two frames; any other stream
    /// breaks off. An answer that has not begun may become a stream, and then ends at the next sweep.
    package func sessionEnded() {
        self.facts.hasSessionEnded = true
        // It was judged with the session, so it must not reach the app any more. If it comes again, it is judged anew.
        if self.phase == .queued { return self.refuseQueued() }
        self.endStream(.sessionRevoked, WebSocketFrames.sessionEnded)
    }

    /// Ends the stream of a session that could not be read for too long, so that it is unknown whether it has ended.
    package func sessionUnreadable() {
        self.endStream(.storeUnavailable, WebSocketFrames.tryAgainLater)
    }

    private func endStream(_ reason: Reason, _ close: [UInt8]) {
        guard self.phase == .tunnel else {
            if self.phase == .exchange, self.facts.hasBegunAnswer { self.abort(reason) }
            return
        }
        if self.upstream?.isBetweenFrames ?? true { self.stream?.writeAndFlush(ByteBuffer(bytes: close)) }
        self.dropUpstream()
        self.conclude(reason)
        self.end(.close)
    }
}
