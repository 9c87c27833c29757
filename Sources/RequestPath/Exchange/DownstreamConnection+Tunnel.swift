import NIOCore
import Sessions
import Vocabulary

/// A WebSocket after the app has agreed to it: bytes both ways, and an end from us when the session ends.
extension DownstreamConnection {
    /// Writes the 101 to the client; false when the client is gone.
    func tunnelBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool {
        guard let context = self.context, self.answerBegins(head, buffer) != nil else { return false }
        self.phase = .tunnel
        self.facts.keepsAlive = false
        self.loop.stage.flush(to: context, exactly: true)
        guard self.phase == .tunnel else { return false }
        self.resumeReading()
        // What the client sent behind its request waited until the upgrade was confirmed.
        if let input = self.input {
            self.input = nil
            self.tunnelToUpstream(input)
        }
        return true
    }

    /// Bytes of the app.
    func tunnelled(_ buffer: ByteBuffer) {
        guard let context = self.context else { return }
        self.answerPassed(buffer.readableBytes)
        context.writeAndFlush(NIOAny(buffer), promise: nil)
        if !context.channel.isWritable { self.upstream?.pause() }
    }

    func tunnelToUpstream(_ buffer: ByteBuffer) {
        guard let upstream = self.upstream, let context = upstream.context else { return }
        self.facts.lastProgress = self.loop.now
        context.writeAndFlush(NIOAny(buffer), promise: nil)
        if self.upstream === upstream, !context.channel.isWritable { self.pauseReading() }
    }

    /// The app has closed.
    func tunnelEnded() {
        self.upstream = nil
        self.conclude(nil)
        self.linger()
    }

    /// The session behind a stream has ended: a WebSocket is told so between two frames, any other stream breaks off. An
    /// answer that has not begun may be a stream: if it is still on its way at the next sweep, it ends then.
    func sessionEnded() {
        self.facts.hasSessionEnded = true
        self.endStream(.sessionRevoked, WebSocketFrames.sessionEnded)
    }

    /// The session behind a stream could not be read for too long, so that it is not known whether it still lives.
    func sessionUnreadable() {
        self.endStream(.storeUnavailable, WebSocketFrames.tryAgainLater)
    }

    private func endStream(_ reason: Reason, _ close: [UInt8]) {
        guard self.phase == .tunnel else {
            if self.phase == .exchange, self.facts.hasBegunAnswer { self.abort(reason) }
            return
        }
        if self.frames.isBetweenFrames, let context = self.context {
            context.writeAndFlush(NIOAny(ByteBuffer(bytes: close)), promise: nil)
        }
        self.upstream?.abandon()
        self.upstream = nil
        self.conclude(reason)
        self.linger()
    }

    /// Whether this exchange ends with what has ended.
    func isEnded(by endings: Endings) -> Bool {
        guard self.facts.isOpen, self.phase == .tunnel || self.phase == .exchange || self.phase == .connecting,
            let entry = self.facts.session
        else { return false }
        return endings.ends(entry)
    }
}
