import NIOCore
import RequestPath
import Settings

/// Heads: whatever is taken would be read alike by any reader of RFC 9112.
enum HeadFuzzing {
    private static let requestParser = RequestParser(
        names: FieldNames(roles: FieldNames.requestRoles, managedNames: ["remote-user"], managedPrefixes: ["x-auth-"]),
        limits: HeadLimits(line: 1024, field: 2048, fields: 4096, fieldCount: 20),
        dropsUnderscore: true
    )
    private static let responseParser = ResponseParser(
        names: FieldNames(roles: FieldNames.responseRoles, managedNames: ["remote-user"], managedPrefixes: ["x-auth-"]),
        limit: 4096
    )
    private static let writer = ResponseWriter(
        sessionCookies: ["__Host-sallyport"],
        handoffCookies: ["stt"]
    )

    static func request(_ bytes: [UInt8]) -> String? {
        let head = RequestHead(fieldCount: 20)
        let result = bytes.withExactCopy { self.requestParser.parse($0, $1, into: head) }
        guard result == .complete else { return nil }
        guard head.byteCount <= bytes.count, head.byteCount >= 4 else { return "the head is longer than the bytes" }
        guard bytes[..<head.byteCount].suffix(4).elementsEqual("\r\n\r\n".utf8) else {
            return "the head does not end in CRLF CRLF"
        }
        let skip = bytes.starts(with: [0x0D, 0x0A]) ? 2 : 0
        if let fault = self.lines(bytes[skip..<head.byteCount]) { return fault }
        guard head.target.end <= head.byteCount, head.path.start == head.target.start, head.path.end <= head.target.end,
            head.query.end <= head.byteCount
        else { return "the target lies outside" }
        if head.hasTransferEncoding, head.framing != .chunked { return "two framings" }
        if let fault = self.fields(
            (0..<head.fields.count).map { head.fields[$0] },
            bytes,
            head.fieldsStart,
            head.byteCount
        ) {
            return fault
        }
        let lengths = (0..<head.fields.count).filter { head.fields[$0].role == .contentLength }.count
        if lengths > 1 || lengths == 1 && head.hasTransferEncoding { return "two framings" }
        let shorter = Array(bytes[..<(head.byteCount - 1)]).withExactCopy {
            self.requestParser.parse($0, $1, into: head)
        }
        return shorter == .incomplete ? nil : "a part of the head is not incomplete"
    }

    /// The check of another proxy: what is written of it is one head, or none.
    static func check(_ bytes: [UInt8]) -> String? {
        let head = RequestHead(fieldCount: 20)
        return bytes.withExactCopy { base, count in
            guard self.requestParser.parse(base, count, into: head) == .complete,
                let form = self.forms[head.path.bytes(in: base)]
            else { return nil }
            var buffer = ByteBuffer()
            guard (try? Subrequest.write(head, base, [], form, needsAddress: false, into: &buffer)) != nil else {
                return nil
            }
            let written = Array(buffer.readableBytesView)
            if let fault = self.lines(written[...]) { return "written: \(fault)" }
            let original = RequestHead(fieldCount: 20)
            return switch written.withExactCopy({ self.requestParser.parse($0, $1, into: original) }) {
            case .complete: original.byteCount == written.count ? nil : "more than one head was written"
            case .incomplete: "a part of a head was written"
            case .refused: nil
            }
        }
    }

    private static let forms = CheckForms(
        AuthorizationSettings(listen: ListenAddress(host: "127.0.0.1", port: 0), peers: []),
        oauth2Proxy: true
    )

    /// The head of an old server: what is written of it is one head in strict form, or refused by the strict parser.
    private static func lenient(_ bytes: [UInt8]) -> String? {
        guard case .rewritten(let written, let count) = LenientHead.rewrite(bytes, limit: 4096) else { return nil }
        guard count > 0, count <= bytes.count, bytes[count - 1] == 0x0A else { return "rewritten: it ends elsewhere" }
        guard LenientHead.rewrite(Array(bytes[..<(count - 1)]), limit: 4096) == .incomplete else {
            return "rewritten: a part of the head is not incomplete"
        }
        switch LenientHead.rewrite(written, limit: .max) {
        case .same: break
        case .incomplete: return "rewritten: a part of a head was written"
        case .rewritten: return "rewritten: it could be written in yet another form"
        }
        let head = ResponseHead(fieldCount: 20)
        return switch written.withExactCopy({ self.responseParser.parse($0, $1, into: head) }) {
        case .complete: head.byteCount == written.count ? self.lines(written[...]) : "rewritten: more than one head"
        case .incomplete: "rewritten: a part of a head was written"
        case .malformed: nil
        }
    }

    static func response(_ bytes: [UInt8]) -> String? {
        if let fault = self.lenient(bytes) { return fault }
        let head = ResponseHead(fieldCount: 20)
        return bytes.withExactCopy { base, count in
            guard self.responseParser.parse(base, count, into: head) == .complete else { return nil }
            guard head.byteCount <= count else { return "the head is longer than the bytes" }
            if let fault = self.lines(bytes[..<head.byteCount]) { return fault }
            var changes = AnswerChanges(requestID: RequestID(seed: 1, sequence: 2))
            changes.marksPrivate = true
            var buffer = ByteBuffer()
            self.writer.write(
                head,
                base,
                changes,
                origin: Array("http://a".utf8),
                publicOrigin: Array("https://app.example.com".utf8),
                framing: head.isChunked ? .chunked : .asIs,
                connection: .none,
                date: Array("Fri, 01 May 2026 00:00:00 GMT".utf8),
                into: &buffer
            )
            let written = Array(buffer.readableBytesView)
            if let fault = self.lines(written[...]) { return "written: \(fault)" }
            let again = ResponseHead(fieldCount: 40)
            let result = written.withExactCopy { self.responseParser.parse($0, $1, into: again) }
            // What is added may take a head at the limit beyond it; nothing else may make it unreadable.
            guard result == .complete || written.count > 4096 else { return "what was written cannot be read" }
            return result != .complete || again.framing == head.framing ? nil : "the framing changed"
        }
    }

    /// Every line ends in CRLF and holds no other control character than TAB.
    private static func lines(_ bytes: ArraySlice<UInt8>) -> String? {
        var previous: UInt8 = 0
        for byte in bytes {
            if byte == 0x0A, previous != 0x0D { return "a bare LF" }
            if previous == 0x0D, byte != 0x0A { return "a bare CR" }
            if byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0D || byte == 0x7F {
                return "a control character"
            }
            previous = byte
        }
        return nil
    }

    /// Field lines lie behind one another without a gap.
    private static func fields(_ fields: [FieldLine], _ bytes: [UInt8], _ start: Int, _ end: Int) -> String? {
        var position = start
        for line in fields {
            guard Int(line.lineStart) == position, line.name.start == position, line.name.end <= line.value.start,
                line.value.end <= Int(line.lineEnd) - 2, bytes[line.name.end] == 0x3A
            else { return "a field line lies elsewhere" }
            position = Int(line.lineEnd)
        }
        return position == end - 2 ? nil : "field lines end elsewhere"
    }
}
