import CNGHTTP2

/// The state machine of one connection of HTTP/2 (RFC 9113), by libnghttp2: bytes in, bytes out, and calls of its
/// connection for what they mean. It does no I/O. The library checks frames, states, windows and messages; what it leaves
/// to its user is counted by `HTTP2Budget`. This file has what a server and a client do alike; `HTTP2Session+Server` makes a
/// server's session, and says what its callbacks call.
///
/// Nothing of a session is called from within its own `receive` or `nextOutput`, except what only queues frames.
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

    /// The library's.
    let session: OpaquePointer

    /// Takes over a session of the library, which was made with `options`.
    init(_ session: OpaquePointer) {
        self.session = session
    }

    deinit {
        nghttp2_session_del(self.session)
    }

    // MARK: Bytes

    /// Takes all bytes. False: nothing more can be read.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return nghttp2_session_mem_recv(self.session, start, bytes.count) >= 0
    }

    /// The next frames; nil: there are none for now. They are valid until the next call.
    func nextOutput() -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(self.session, &start)
        guard count > 0, let start else { return nil }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Whether the connection has ended by the protocol's rules.
    var isOver: Bool {
        nghttp2_session_want_read(self.session) == 0 && !self.hasOutput
    }

    /// Whether frames wait that can be sent.
    var hasOutput: Bool { nghttp2_session_want_write(self.session) != 0 }

    /// The number of frames that wait to be sent, without DATA.
    var queueCount: Int { nghttp2_session_get_outbound_queue_size(self.session) }

    // MARK: Streams

    /// Keeps a pointer with a stream, for `attached(to:)`. `nil` removes it.
    func attach(_ object: UnsafeMutableRawPointer?, to id: Int32) {
        nghttp2_session_set_stream_user_data(self.session, id, object)
    }

    /// The pointer that is kept with the stream of this number. `nil` if there is no such stream, or no pointer.
    @inline(__always)
    func attached(to id: Int32) -> UnsafeMutableRawPointer? { nghttp2_session_get_stream_user_data(self.session, id) }

    /// Forgets the stream, whose object is used for another one.
    func detach(_ id: Int32) {
        self.attach(nil, to: id)
    }

    /// Lets the other side send as many bytes more of a stream's content.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(self.session, id, count)
    }

    /// Lets the other side send as many bytes more on the connection, because a stream that has closed had them.
    func consume(_ count: Int) {
        nghttp2_session_consume_connection(self.session, count)
    }

    /// Lets the other side send so many bytes of a stream, or of all streams together (0), before they are used.
    func setWindow(_ size: Int32, of id: Int32) {
        nghttp2_session_set_local_window_size(self.session, 0, id, size)
    }

    /// Ends a stream at once.
    func reset(_ id: Int32, _ code: Code) {
        nghttp2_submit_rst_stream(self.session, 0, id, code.rawValue)
    }

    /// Asks for content again, after there was none.
    func resume(_ id: Int32) {
        nghttp2_session_resume_data(self.session, id)
    }

    /// Ends everything: the other side is told why, and nothing more is read.
    func end(_ code: Code) {
        nghttp2_session_terminate_session(self.session, code.rawValue)
    }

    /// The options of all sessions. They never change.
    nonisolated(unsafe) static let options: OpaquePointer? = {
        var made: OpaquePointer?
        nghttp2_option_new(&made)
        guard let made else { return nil }
        // Windows open as what came is taken.
        nghttp2_option_set_no_auto_window_update(made, 1)
        nghttp2_option_set_no_closed_streams(made, 1)
        nghttp2_option_set_max_outbound_ack(made, 100)
        // Behind the budget, which tells the client what was too much.
        nghttp2_option_set_max_continuations(made, 2 * HTTP2Budget.mostContinuations)
        nghttp2_option_set_max_deflate_dynamic_table_size(made, 4096)
        // More than any head: the library would leave out a larger one.
        nghttp2_option_set_max_send_header_block_length(made, 1 << 19)
        return made
    }()
}
