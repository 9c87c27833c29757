import CNGHTTP2

/// The state machine of an HTTP/2 connection (RFC 9113), by libnghttp2. It turns received bytes into calls of its
/// connection, and answers into bytes to send. It does no I/O. libnghttp2 checks frames, states, windows and messages.
/// `HTTP2Budget` limits what the library does not limit. `HTTP2Session+Server` adds the server's side.
///
/// During `receive` or `nextOutput`, only methods that queue frames may be called.
final class HTTP2Session {
    /// Error codes (RFC 9113 7).
    enum Code: UInt32 {
        case none = 0
        case protocolError = 1
        case internalError = 2
        case refusedStream = 7
        case cancel = 8
        case enhanceYourCalm = 11
    }

    /// The library's session.
    let session: OpaquePointer

    /// Owns a session of the library that was made with `options`.
    init(_ session: OpaquePointer) {
        self.session = session
    }

    deinit {
        nghttp2_session_del(self.session)
    }

    // MARK: Bytes

    /// Reads all bytes. Returns false if no more can be read.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return nghttp2_session_mem_recv(self.session, start, bytes.count) >= 0
    }

    /// Returns the next frames, valid until the next call. `nil` if no frames are ready.
    func nextOutput() -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(self.session, &start)
        guard count > 0, let start else { return nil }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// True when the session neither reads nor sends any more frames, so that the connection can be closed.
    var isOver: Bool {
        nghttp2_session_want_read(self.session) == 0 && !self.hasOutput
    }

    /// Whether frames are ready to be sent.
    var hasOutput: Bool { nghttp2_session_want_write(self.session) != 0 }

    /// The number of frames that wait to be sent, without DATA.
    var queueCount: Int { nghttp2_session_get_outbound_queue_size(self.session) }

    // MARK: Streams

    /// Attaches a pointer to a stream, for `attached(to:)`. `nil` removes it.
    func attach(_ object: UnsafeMutableRawPointer?, to id: Int32) {
        nghttp2_session_set_stream_user_data(self.session, id, object)
    }

    /// Returns the pointer that is attached to the stream with this number. `nil` if there is no stream or no pointer.
    @inline(__always)
    func attached(to id: Int32) -> UnsafeMutableRawPointer? { nghttp2_session_get_stream_user_data(self.session, id) }

    /// Removes the pointer of a stream, so that its object can be reused.
    func detach(_ id: Int32) {
        self.attach(nil, to: id)
    }

    /// Lets the peer send `count` more bytes of a stream's content.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(self.session, id, count)
    }

    /// Lets the peer send `count` more bytes on the connection, to replace bytes that a closed stream held.
    func consume(_ count: Int) {
        nghttp2_session_consume_connection(self.session, count)
    }

    /// Sets how many unread bytes the peer may send on a stream, or on all streams together (0).
    func setWindow(_ size: Int32, of id: Int32) {
        nghttp2_session_set_local_window_size(self.session, 0, id, size)
    }

    func reset(_ id: Int32, _ code: Code) {
        nghttp2_submit_rst_stream(self.session, 0, id, code.rawValue)
    }

    /// Asks a stream that had no content for content again.
    func resume(_ id: Int32) {
        nghttp2_session_resume_data(self.session, id)
    }

    /// Ends the session with a GOAWAY. Nothing more is read.
    func end(_ code: Code) {
        nghttp2_session_terminate_session(self.session, code.rawValue)
    }

    /// The options of all sessions. Never changes.
    nonisolated(unsafe) static let options: OpaquePointer? = {
        var made: OpaquePointer?
        nghttp2_option_new(&made)
        guard let made else { return nil }
        // Windows are opened by `consume`, when received bytes have been used.
        nghttp2_option_set_no_auto_window_update(made, 1)
        nghttp2_option_set_no_closed_streams(made, 1)
        nghttp2_option_set_max_outbound_ack(made, 100)
        // Above the limit of `HTTP2Budget`: at the budget's limit, the client is sent an error code.
        nghttp2_option_set_max_continuations(made, 2 * HTTP2Budget.mostContinuations)
        nghttp2_option_set_max_deflate_dynamic_table_size(made, 4096)
        // Larger than any head. The library would not send a head above this limit.
        nghttp2_option_set_max_send_header_block_length(made, 1 << 19)
        return made
    }()
}
