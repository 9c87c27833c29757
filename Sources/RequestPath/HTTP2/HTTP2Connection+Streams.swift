import NIOCore

/// The parts of a connection that its streams use.
extension HTTP2Connection {
    /// True while the connection can queue more bytes of answers.
    var hasRoom: Bool { self.queuedBytes < Self.highMark }

    /// Lets the client send more on a stream, because content of the stream was used.
    func consume(_ count: Int, of id: Int32) {
        self.session?.consume(count, of: id)
        self.sendSoon()
    }

    /// Opens a wide window for a stream with a long body.
    ///
    /// - Returns: False if the limit of wide windows is reached.
    func widen(_ stream: HTTP2Stream) -> Bool {
        guard self.wideCount < HTTP2Session.mostWide else { return false }
        self.wideCount += 1
        self.session?.widen(stream.id)
        return true
    }

    /// Lets the client send more on the connection, because content for a closed stream was dropped.
    func consume(_ count: Int) {
        if count > 0 { self.session?.consume(count) }
    }

    /// Sends an interim answer. `head` contains its head in the form of HTTP/1.
    func announce(_ head: ByteBuffer, on stream: HTTP2Stream) {
        self.send(head) { session, fields in session.announce(fields, on: stream.id) }
    }

    /// Begins an answer. `head` contains its head in the form of HTTP/1.
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
    func trailerComes(
        of id: Int32,
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let stream = self.session?.stream(id) else { return true }
        guard HTTP2RequestHead.isField(name, value) else {
            self.session?.reset(id, .protocolError)
            return false
        }
        if stream.trailerCame(name, value) { return true }
        self.session?.reset(id, .enhanceYourCalm)
        return false
    }

    /// Ends an answer with its stream's trailers, after its content.
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
