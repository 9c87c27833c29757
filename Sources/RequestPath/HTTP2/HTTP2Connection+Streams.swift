import NIOCore

/// What a connection does for its streams.
extension HTTP2Connection {
    /// True if the connection can queue more bytes of answers.
    var hasRoom: Bool { self.queuedBytes < Self.highMark }

    /// Opens a stream's window again after content has been used.
    func consume(_ count: Int, of id: Int32) {
        self.session?.consume(count, of: id)
        self.sendSoon()
    }

    /// Opens a wide window for a stream with a long body.
    ///
    /// - Returns: False if the limit of wide windows is reached.
    func widen(_ stream: HTTP2Stream) -> Bool {
        guard self.wideCount < HTTP2Session.maxWideWindows else { return false }
        self.wideCount += 1
        self.session?.widen(stream.id)
        return true
    }

    /// Opens the connection's window again after a closed stream's content has been dropped.
    func consume(_ count: Int) {
        if count > 0 { self.session?.consume(count) }
    }

    /// Sends an interim answer. `head` contains an HTTP/1 head.
    func announce(_ head: ByteBuffer, on stream: HTTP2Stream) {
        self.send(head) { session, fields in session.announce(fields, on: stream.id) }
    }

    /// Begins an answer. `head` contains an HTTP/1 head.
    func answer(_ head: ByteBuffer, on stream: HTTP2Stream, hasContent: Bool) {
        self.send(head) { session, fields in session.answer(fields, on: stream.id, hasContent: hasContent) }
    }

    @inline(__always)
    private func send(_ head: ByteBuffer, _ body: (HTTP2Session, HTTP2AnswerFields) -> Void) {
        guard let session = self.session else { return }
        head.withUnsafeReadableBytes { bytes in
            self.scratch.fields.read(bytes.bindMemory(to: UInt8.self))
            body(session, self.scratch.fields)
        }
        self.sendSoon()
    }

    /// Adds a trailer of a request. Returns false if the stream is reset.
    func trailerComes(of id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let stream = self.session?.stream(id) else { return true }
        guard HTTP2RequestHead.isField(name, value) else {
            self.session?.reset(id, .protocolError)
            return false
        }
        if stream.trailerCame(name, value) { return true }
        self.session?.reset(id, .enhanceYourCalm)
        return false
    }

    /// Ends an answer with the stream's trailers.
    func sendTrailers(of id: Int32) {
        guard let session = self.session, let trailers = session.stream(id)?.takeTrailers() else { return }
        trailers.lines.withUnsafeBufferPointer { lines in
            self.scratch.fields.readTrailers(lines)
            session.end(id, with: self.scratch.fields)
        }
    }

    func resume(_ stream: HTTP2Stream) {
        self.session?.resume(stream.id)
        self.sendSoon()
    }

    func reset(_ stream: HTTP2Stream, _ code: HTTP2Session.Code) {
        self.session?.reset(stream.id, code)
        self.sendSoon()
    }
}
