import CNGHTTP2
import Settings

/// The server's side of an HTTP/2 session.
extension HTTP2Session {
    /// The window of a stream in bytes. It limits how much of a body the gateway holds.
    static let streamWindow = 65_536

    /// The window of a stream with a long body. A client sends one window per round trip. With `streamWindow`, an
    /// upload with a round trip of 50 ms would be limited to 1.3 MB/s.
    static let wideWindow = 1 << 20

    /// The maximum number of streams with a wide window in one connection.
    static let maxWideWindows = 4

    /// Returns the window of the connection. It is twice what all streams together may hold, because libnghttp2 opens
    /// the window again only when half of it is used. So the connection never blocks a stream.
    static func connectionWindow(_ limits: LimitSettings) -> Int32 {
        let added = Self.maxWideWindows * (Self.wideWindow - Self.streamWindow)
        return Int32(clamping: 2 * (limits.http2.streams * Self.streamWindow + added))
    }

    // MARK: The session

    /// - Parameter connection: The connection. Must outlive the session.
    convenience init?(for connection: HTTP2Connection, _ limits: LimitSettings) {
        var made: OpaquePointer?
        let owner = Unmanaged.passUnretained(connection).toOpaque()
        nghttp2_session_server_new2(&made, Self.callbacks, owner, Self.options)
        guard let made else { return nil }
        self.init(made)
        let entries = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.http2.streams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, Self.streamWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.fields),
            (NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ].map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: UInt32(clamping: $1)) }
        nghttp2_submit_settings(made, 0, entries, entries.count)
        self.setWindow(Self.connectionWindow(limits), of: 0)
    }

    // MARK: Streams

    /// Attaches a stream. Its DATA frames alternate with those of other streams, whatever priority the client sends.
    func attach(_ stream: HTTP2Stream, to id: Int32) {
        self.attach(Unmanaged.passUnretained(stream).toOpaque(), to: id)
        var priority = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        nghttp2_session_change_extpri_stream_priority(self.session, id, &priority, 1)
    }

    /// Returns the attached stream with this number. `nil` if there is none.
    @inline(__always)
    func stream(_ id: Int32) -> HTTP2Stream? {
        self.attached(to: id).map { Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Widens a stream's window to `wideWindow` bytes.
    func widen(_ id: Int32) { self.setWindow(Int32(Self.wideWindow), of: id) }

    /// Sends an interim answer.
    func announce(_ fields: HTTP2AnswerFields, on id: Int32) {
        fields.lend { _ = nghttp2_submit_headers(self.session, 0, id, nil, $0, $1, nil) }
    }

    /// Begins an answer.
    ///
    /// - Parameter hasContent: True if content follows. libnghttp2 then asks the stream for it.
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

    /// Ends an answer with trailers, after its content.
    func end(_ id: Int32, with trailers: HTTP2AnswerFields) {
        trailers.lend { _ = nghttp2_submit_trailer(self.session, id, $0, $1) }
    }

    // MARK: The end

    /// Asks the client to open no more streams. Streams that are already on their way are served.
    func announceEnd() {
        nghttp2_submit_shutdown_notice(self.session)
    }

    /// Refuses all streams that have not arrived yet.
    func acceptNoMore() {
        let last = nghttp2_session_get_last_proc_stream_id(self.session)
        nghttp2_submit_goaway(self.session, 0, last, Code.none.rawValue, nil, 0)
    }

    // MARK: Shared by all servers

    /// The callbacks of all sessions. Immutable.
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
