import CNGHTTP2

/// The state machine of an HTTP/2 connection (RFC 9113), without I/O. libnghttp2 checks frames, states, windows and
/// messages. `HTTP2Budget` limits what libnghttp2 does not limit.
///
/// During `receive` and `nextOutput`, neither of the two may be called again.
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

    let session: OpaquePointer

    /// Takes over a session of libnghttp2 that was made with `options`.
    init(_ session: OpaquePointer) {
        self.session = session
    }

    deinit {
        nghttp2_session_del(self.session)
    }

    // MARK: Bytes

    /// Reads all bytes. Returns false if the session cannot continue.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return nghttp2_session_mem_recv(self.session, start, bytes.count) >= 0
    }

    /// Returns the next frames to send, valid until the next call. `nil` if there are none.
    func nextOutput() -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(self.session, &start)
        guard count > 0, let start else { return nil }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// True if the session neither reads nor sends any more.
    var isOver: Bool {
        nghttp2_session_want_read(self.session) == 0 && !self.hasOutput
    }

    /// True if frames are ready to be sent.
    var hasOutput: Bool { nghttp2_session_want_write(self.session) != 0 }

    /// The number of queued frames, without DATA.
    var queueCount: Int { nghttp2_session_get_outbound_queue_size(self.session) }

    // MARK: Streams

    /// Attaches a pointer to a stream. `nil` detaches it.
    func attach(_ object: UnsafeMutableRawPointer?, to id: Int32) {
        nghttp2_session_set_stream_user_data(self.session, id, object)
    }

    /// Returns the pointer attached to the stream with this number. `nil` if there is none.
    @inline(__always)
    func attached(to id: Int32) -> UnsafeMutableRawPointer? { nghttp2_session_get_stream_user_data(self.session, id) }

    /// Detaches a stream's object, so that the object can be reused.
    func detach(_ id: Int32) {
        self.attach(nil, to: id)
    }

    /// Lets the peer send `count` more bytes of a stream's content.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(self.session, id, count)
    }

    /// Lets the peer send `count` more bytes on the connection, after a closed stream has dropped bytes.
    func consume(_ count: Int) {
        nghttp2_session_consume_connection(self.session, count)
    }

    /// Sets how many unread bytes the peer may send on a stream. With `id` 0, on all streams together.
    func setWindow(_ size: Int32, of id: Int32) {
        nghttp2_session_set_local_window_size(self.session, 0, id, size)
    }

    func reset(_ id: Int32, _ code: Code) {
        nghttp2_submit_rst_stream(self.session, 0, id, code.rawValue)
    }

    /// Asks a stream for content again.
    func resume(_ id: Int32) {
        nghttp2_session_resume_data(self.session, id)
    }

    /// Ends the session with GOAWAY. Nothing more is read.
    func end(_ code: Code) {
        nghttp2_session_terminate_session(self.session, code.rawValue)
    }

    /// The options of all sessions. Immutable.
    nonisolated(unsafe) static let options: OpaquePointer? = {
        var made: OpaquePointer?
        nghttp2_option_new(&made)
        guard let made else { return nil }
        // `consume` opens the windows when received bytes have been used.
        nghttp2_option_set_no_auto_window_update(made, 1)
        nghttp2_option_set_no_closed_streams(made, 1)
        nghttp2_option_set_max_outbound_ack(made, 100)
        // Higher than the limit of `HTTP2Budget`, so that the budget acts first and sends the client an error code.
        nghttp2_option_set_max_continuations(made, 2 * HTTP2Budget.maxContinuations)
        nghttp2_option_set_max_deflate_dynamic_table_size(made, 4096)
        // Larger than any head, because libnghttp2 would not send a larger one.
        nghttp2_option_set_max_send_header_block_length(made, 1 << 19)
        return made
    }()
}
