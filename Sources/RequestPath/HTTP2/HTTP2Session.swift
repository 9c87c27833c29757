import CNGHTTP2
import NIOCore
import Settings

/// The state machine of one connection of HTTP/2 (RFC 9113), by libnghttp2: bytes in, bytes out, and calls of its
/// connection for what they mean. It does no I/O. The library checks frames, states, windows and messages; what it leaves
/// to its user is counted by `HTTP2Budget`.
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

    /// The window of a stream: a client can make each stream hold so many bytes of its request's body.
    static let streamWindow = 65_536

    /// The window of a stream whose app takes a long body. A client sends one window in each round trip, so an upload over a
    /// round trip of 50 ms would have 1.3 MB/s with `streamWindow`.
    static let wideWindow = 1 << 20

    /// The most streams of a connection that have a wide window at the same time.
    static let mostWide = 4

    /// The window of the connection. It never stops a stream whose own window is open, whatever others hold that their apps
    /// do not read: those hold less than half of it, and the library opens it again when the other half has been read.
    static func connectionWindow(_ limits: LimitSettings) -> Int32 {
        let added = Self.mostWide * (Self.wideWindow - Self.streamWindow)
        return Int32(clamping: 2 * (limits.http2.streams * Self.streamWindow + added))
    }

    private let session: OpaquePointer

    /// - Parameter connection: Outlives the session.
    init?(for connection: HTTP2Connection, _ limits: LimitSettings) {
        var made: OpaquePointer?
        let owner = Unmanaged.passUnretained(connection).toOpaque()
        nghttp2_session_server_new2(&made, Self.callbacks, owner, Self.options)
        guard let made else { return nil }
        self.session = made
        let entries = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.http2.streams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, Self.streamWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.fields),
            (NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ].map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: UInt32(clamping: $1)) }
        nghttp2_submit_settings(made, 0, entries, entries.count)
        nghttp2_session_set_local_window_size(made, 0, 0, Self.connectionWindow(limits))
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

    /// Attaches a stream, and has its DATA sent in turns with that of the others, whatever the client's priorities are.
    func attach(_ stream: HTTP2Stream, to id: Int32) {
        nghttp2_session_set_stream_user_data(self.session, id, Unmanaged.passUnretained(stream).toOpaque())
        var priority = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        nghttp2_session_change_extpri_stream_priority(self.session, id, &priority, 1)
    }

    /// The stream of this number; nil: there is none, or it is none of ours any more.
    @inline(__always)
    func stream(_ id: Int32) -> HTTP2Stream? {
        nghttp2_session_get_stream_user_data(self.session, id)
            .map { Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Forgets the stream, whose object is used for another one.
    func detach(_ id: Int32) {
        nghttp2_session_set_stream_user_data(self.session, id, nil)
    }

    /// Lets the client send as many bytes more of the body.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(self.session, id, count)
    }

    /// The same for bytes of a stream that has closed.
    func consume(_ count: Int) {
        nghttp2_session_consume_connection(self.session, count)
    }

    /// Lets the client send up to `wideWindow` of a stream's body before its app takes it.
    func widen(_ id: Int32) {
        nghttp2_session_set_local_window_size(self.session, 0, id, Int32(Self.wideWindow))
    }

    /// Ends a stream at once.
    func reset(_ id: Int32, _ code: Code) {
        nghttp2_submit_rst_stream(self.session, 0, id, code.rawValue)
    }

    /// Sends an interim answer.
    func announce(_ fields: HTTP2AnswerFields, on id: Int32) {
        fields.lend { _ = nghttp2_submit_headers(self.session, 0, id, nil, $0, $1, nil) }
    }

    /// Begins an answer.
    ///
    /// - Parameter hasContent: Whether content follows, which the stream is asked for. False: the answer ends.
    func answer(_ fields: HTTP2AnswerFields, on id: Int32, hasContent: Bool) {
        fields.lend { start, count in
            guard hasContent else {
                nghttp2_submit_response(self.session, id, start, count, nil)
                return
            }
            var provider = nghttp2_data_provider()
            provider.read_callback = { _, id, room, count, flags, _, owner in
                guard let room, let flags,
                    let content = HTTP2Connection.of(owner).takeContent(
                        of: id,
                        into: UnsafeMutableRawBufferPointer(start: room, count: count)
                    )
                else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
                switch content.end {
                case nil: break
                case .content: flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
                case .trailers:
                    flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue)
                    HTTP2Connection.of(owner).sendTrailers(of: id)
                }
                return content.count
            }
            nghttp2_submit_response(self.session, id, start, count, &provider)
        }
    }

    /// Ends an answer with these trailers, behind the content that is being taken.
    func end(_ id: Int32, with trailers: HTTP2AnswerFields) {
        trailers.lend { _ = nghttp2_submit_trailer(self.session, id, $0, $1) }
    }

    /// Asks for content again, after there was none.
    func resume(_ id: Int32) {
        nghttp2_session_resume_data(self.session, id)
    }

    // MARK: The end

    /// Tells the client to open no more streams; those that it has sent meanwhile are served.
    func announceEnd() {
        nghttp2_submit_shutdown_notice(self.session)
    }

    /// Serves the streams that have come, and no others.
    func acceptNoMore() {
        let last = nghttp2_session_get_last_proc_stream_id(self.session)
        nghttp2_submit_goaway(self.session, 0, last, Code.none.rawValue, nil, 0)
    }

    /// Ends everything: the client is told why, and nothing more is read.
    func end(_ code: Code) {
        nghttp2_session_terminate_session(self.session, code.rawValue)
    }

    // MARK: What all sessions share

    // Both are not changed any more.
    private nonisolated(unsafe) static let options: OpaquePointer? = {
        var made: OpaquePointer?
        nghttp2_option_new(&made)
        guard let made else { return nil }
        // Windows open as the apps take what came.
        nghttp2_option_set_no_auto_window_update(made, 1)
        nghttp2_option_set_no_closed_streams(made, 1)
        nghttp2_option_set_max_outbound_ack(made, 100)
        // Behind the budget, which tells the client what was too much.
        nghttp2_option_set_max_continuations(made, 2 * HTTP2Budget.mostContinuations)
        nghttp2_option_set_max_deflate_dynamic_table_size(made, 4096)
        // More than the head of any answer: the library would leave out a larger one.
        nghttp2_option_set_max_send_header_block_length(made, 1 << 19)
        return made
    }()

    private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
        var made: OpaquePointer?
        nghttp2_session_callbacks_new(&made)
        guard let made else { return nil }
        nghttp2_session_callbacks_set_on_begin_frame_callback(made) { _, header, owner in
            guard let header else { return 0 }
            let goesOn = HTTP2Connection.of(owner).frameBegins(header.pointee.type)
            return goesOn ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(made) { _, frame, owner in
            guard let frame else { return 0 }
            let isRequest = frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            let goesOn = HTTP2Connection.of(owner).fieldsBegin(of: frame.pointee.hd.stream_id, ofRequest: isRequest)
            return goesOn ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_header_callback(made) { _, frame, name, count, value, length, _, owner in
            guard let frame else { return 0 }
            let goesOn = HTTP2Connection.of(owner).fieldComes(
                of: frame.pointee.hd.stream_id,
                UnsafeBufferPointer(start: name, count: count),
                UnsafeBufferPointer(start: value, count: length)
            )
            return goesOn ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_invalid_header_callback(made) { _, frame, _, _, _, _, _, owner in
            guard let frame else { return 0 }
            HTTP2Connection.of(owner).fieldIsInvalid(of: frame.pointee.hd.stream_id)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made) { _, _, id, bytes, count, owner in
            HTTP2Connection.of(owner).dataCome(of: id, UnsafeRawBufferPointer(start: bytes, count: count))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(made) { _, frame, owner in
            guard let frame else { return 0 }
            let header = frame.pointee.hd
            let endsStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
            let connection = HTTP2Connection.of(owner)
            var goesOn = true
            switch HTTP2FrameType(rawValue: header.type) {
            case .headers:
                let isRequest = frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
                connection.fieldsEnd(of: header.stream_id, ofRequest: isRequest, endsStream: endsStream)
            case .data where endsStream:
                connection.streamInputEnds(header.stream_id)
            case .data where header.length == frame.pointee.data.padlen:
                goesOn = connection.emptyDataCome()
            default: break
            }
            return goesOn ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(made) { _, frame, owner in
            guard let frame else { return 0 }
            let header = frame.pointee.hd
            let type = HTTP2FrameType(rawValue: header.type)
            let connection = HTTP2Connection.of(owner)
            switch type {
            case .data: connection.dataSent(header.length)
            case .headers: connection.fieldsSent()
            case .reset:
                connection.resetSent(on: header.stream_id, frame.pointee.rst_stream.error_code)
                return 0
            case .goAway where frame.pointee.goaway.error_code != Code.none.rawValue:
                connection.faultSent()
                return 0
            default: return 0
            }
            if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                connection.streamOutputEnds(header.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(made) { _, id, _, owner in
            HTTP2Connection.of(owner).streamCloses(id)
            return 0
        }
        return made
    }()
}
