import RequestPath
import Testing

/// Decodes chunked bodies, whatever the sizes of the pieces in which they arrive.
@Suite struct ChunkedDecoderTests {
    enum Outcome: Equatable, Sendable {
        case content(String, rest: String)
        case unfinished(String)
        case malformed
    }

    /// Feeds `text` in pieces of `step` bytes.
    static func decode(
        _ text: String,
        step: Int = .max,
        ofAnswer isAnswers: Bool = false,
        lenient isLenient: Bool = false
    ) -> Outcome {
        let bytes = Array(text.utf8)
        var decoder = ChunkedDecoder(ofAnswer: isAnswers, lenient: isLenient)
        var content: [UInt8] = []
        var start = 0
        while start < bytes.count {
            var piece = bytes[start..<(step < bytes.count - start ? start + step : bytes.count)]
            while !piece.isEmpty {
                switch piece.withUnsafeBufferPointer({ decoder.next($0) }) {
                case .skip(let count):
                    guard count > 0 else { return .malformed }
                    piece = piece.dropFirst(count)
                case .data(let count):
                    guard count > 0 else { return .malformed }
                    content += piece.prefix(count)
                    piece = piece.dropFirst(count)
                case .trailer(let count):
                    guard count > 0 else { return .malformed }
                    piece = piece.dropFirst(count)
                case .end(let count):
                    let rest = bytes[(piece.startIndex + count)...]
                    guard decoder.isDone else { return .malformed }
                    return .content(
                        String(decoding: content, as: UTF8.self),
                        rest: String(decoding: rest, as: UTF8.self)
                    )
                case .malformed:
                    return .malformed
                }
            }
            start = piece.endIndex
        }
        return .unfinished(String(decoding: content, as: UTF8.self))
    }

    @Test(
        "Chunks of old servers may have blanks behind their size and LF alone at ends of lines, and only theirs",
        arguments: [
            ("5  \r\nhello\r\n0 \r\n\r\n", .content("hello", rest: "")),
            ("5\t\r\nhello\r\n0\r\n\r\nx", .content("hello", rest: "x")),
            ("5\nhello\n0\n\nx", .content("hello", rest: "x")),
            ("5 \nhello\r\n0\r\nA: b\n\n", .content("hello", rest: "")),
            ("5\nhello\n0\nA: b\r\nC: d\n\r\n", .content("hello", rest: "")), ("0\n\n", .content("", rest: "")),
            ("5\nhel", .unfinished("hel")), ("5\nhello\n0\n", .unfinished("hello")),
            ("5 5\r\nhello\r\n0\r\n\r\n", .malformed), ("5\rhello", .malformed), (" 5\r\nhello", .malformed),
            ("5\nhellox\n0\n\n", .malformed), ("\n5\nhello", .malformed), ("-1\n", .malformed), ("0x5\n", .malformed),
        ] as [(String, Outcome)]
    )
    func lenient(text: String, expected: Outcome) {
        for step in [1, 2, 3, .max] {
            #expect(Self.decode(text, step: step, ofAnswer: true, lenient: true) == expected, "\(step)")
        }
        if case .content = expected { #expect(Self.decode(text, ofAnswer: true) == .malformed) }
    }

    static let bodies: [(String, Outcome)] = [
        ("0\r\n\r\n", .content("", rest: "")),
        ("5\r\nhello\r\n0\r\n\r\n", .content("hello", rest: "")),
        ("5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n", .content("hello", rest: "GET / HTTP/1.1\r\n")),
        ("00005\r\nhello\r\n000\r\n\r\n", .content("hello", rest: "")),
        ("a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n", .content("0123456789abcdefghij", rest: "")),
        ("2\r\n\r\n\r\n0\r\n\r\n", .content("\r\n", rest: "")),
        ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", .content("0\r\n\r\n", rest: "")),
        ("5;a\r\nhello\r\n0\r\n\r\n", .content("hello", rest: "")),
        ("5;a=b;c=\"d;\\\"e\"\r\nhello\r\n0;z=\"\t\"\r\n\r\n", .content("hello", rest: "")),
        ("5\r\nhello\r\n0\r\nA: 1\r\nb-c:\r\nContent-Length-Is: 99\r\n\r\nx", .content("hello", rest: "x")),
        ("5\r\nhel", .unfinished("hel")),
        ("5\r\nhello\r\n0\r\n", .unfinished("hello")),
        ("5\r\nhello\r\n0\r\nA: 1\r\n", .unfinished("hello")),
    ]

    static let malformed: [String] = [
        "\r\n", "\n", " 5\r\nhello\r\n", "\t5\r\n", "5 \r\nhello\r\n", "5\nhello\r\n", "5\r\rhello", "5\r", "x\r\n",
        "-5\r\n", "+5\r\n",
        "0x5\r\nhello\r\n", "5_0\r\n", "5.\r\n", "5,5\r\n", "g\r\n", ";a\r\n", "\u{660}\r\n", "5\u{0}\r\n",
        "5\u{B}\r\n",
        "5\r\nhello0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "5;a\nhello\r\n", "5;a\rhello\r\n", "5;a=\u{0}\r\n", "5;a=\u{7F}\r\n", "5;a\r\r\n",
        "0\r\n\n", "0\r\n\rx", "0\r\n: 1\r\n\r\n", "0\r\n A: 1\r\n\r\n", "0\r\nA : 1\r\n\r\n", "0\r\nA\r\n\r\n",
        "0\r\nA: 1\n\r\n",
        "0\r\nA: \u{0}\r\n\r\n", "0\r\nA: 1\rB: 2\r\n\r\n", "0\r\nA: 1\r\n folded\r\n\r\n",
        "0\r\nGET / HTTP/1.1\r\n\r\n",
        // No extension name after the semicolon, which llhttp and gunicorn accept.
        "5;\r\nhello\r\n0\r\n\r\n", "5;;a\r\nhello\r\n0\r\n\r\n", "5;=b\r\nhello\r\n0\r\n\r\n",
        "5;a=\r\nhello\r\n0\r\n\r\n",
        "5;a b\r\nhello\r\n0\r\n\r\n", "5;a=\"b\r\nhello\r\n0\r\n\r\n", "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n",
        "5;\u{E9}\r\nhello\r\n0\r\n\r\n",
        // A trailer must not hold fields for framing, routing or authentication (RFC 9110 6.5.1).
        "0\r\nContent-Length: 9\r\n\r\n", "0\r\ntransfer-ENCODING: chunked\r\n\r\n", "0\r\nA: 1\r\nHost: b\r\n\r\n",
        "0\r\ncookie:\r\n\r\n",
        "0\r\nAuthorization: x\r\n\r\n",
        // Sizes that do not fit in Int.
        "1000000000000000\r\n", "FFFFFFFFFFFFFFFF\r\n", "10000000000000000\r\n",
        "FFFFFFFFFFFFFFFFFFFFFFFF5\r\nhello\r\n",
        "8000000000000000\r\n", "7FFFFFFFFFFFFFFF\r\n",
    ]

    @Test(arguments: bodies) func decodes(_ text: String, _ outcome: Outcome) {
        #expect(Self.decode(text) == outcome)
        for step in 1...7 { #expect(Self.decode(text, step: step) == outcome, "in pieces of \(step)") }
    }

    /// Nothing of them is passed on, so an answer is not cut off for one (RFC 9110 6.5.1).
    @Test(arguments: [
        "Set-Cookie: a=b", "Content-Length: 9", "Trailer: X", "Host: a", "content-TYPE: text/plain", "TE: trailers",
    ])
    func anyTrailerOfAnAnswerIsDropped(_ line: String) {
        for step in [1, 3, 1000] {
            let text = "5\r\nhello\r\n0\r\nA: 1\r\n\(line)\r\n\r\n"
            #expect(Self.decode(text, step: step, ofAnswer: true) == .content("hello", rest: ""), "\(step)")
            #expect(Self.decode(text, step: step) == .malformed)
        }
    }

    @Test(arguments: malformed) func refuses(_ text: String) {
        if text == "5\r" {
            #expect(Self.decode(text) == .unfinished(""))
        } else {
            #expect(Self.decode(text) == .malformed, "\(text.debugDescription)")
            #expect(Self.decode(text, step: 1) == .malformed, "\(text.debugDescription)")
        }
    }

    @Test(arguments: bodies) func everySplitInTwo(_ text: String, _ outcome: Outcome) {
        let bytes = Array(text.utf8)
        for cut in 1..<bytes.count {
            var decoder = ChunkedDecoder()
            var content: [UInt8] = []
            var isOver = false
            for var piece in [bytes[..<cut], bytes[cut...]] {
                while !piece.isEmpty, !isOver {
                    switch piece.withUnsafeBufferPointer({ decoder.next($0) }) {
                    case .skip(let count), .trailer(let count): piece = piece.dropFirst(count)
                    case .data(let count):
                        content += piece.prefix(count)
                        piece = piece.dropFirst(count)
                    case .end, .malformed: isOver = true
                    }
                }
            }
            switch outcome {
            case .content(let expected, _): #expect(content == Array(expected.utf8) && decoder.isDone, "cut at \(cut)")
            case .unfinished(let expected): #expect(content == Array(expected.utf8) && !decoder.isDone, "cut at \(cut)")
            case .malformed: break
            }
        }
    }

    @Test func largestSizeIsTaken() {
        #expect(Self.decode("FFFFFFFFFFFFFFF\r\nx") == .unfinished("x"))
        #expect(Self.decode("000000000000005\r\nhello\r\n0\r\n\r\n") == .content("hello", rest: ""))
        // Any number of leading zeros is allowed (RFC 9112 7.1), within the limit.
        for zeros in [1, 14, 15, 16, 17, 100, 16_000] {
            let text =
                String(repeating: "0", count: zeros) + "5\r\nhello\r\n\(String(repeating: "0", count: zeros))\r\n\r\n"
            #expect(Self.decode(text) == .content("hello", rest: ""), "\(zeros) zeros")
            #expect(Self.decode(text, step: 3) == .content("hello", rest: ""), "\(zeros) zeros")
        }
        #expect(Self.decode(String(repeating: "0", count: 20_000) + "5\r\nhello\r\n") == .malformed)
        #expect(Self.decode("00000000000000001000000000000000\r\n") == .malformed)
    }

    /// CVE-2023-39326 and similar ones: bytes that are not content are limited for each chunk, and for the trailers.
    @Test func overheadIsBounded() {
        let long = String(repeating: "x", count: 20_000)
        #expect(Self.decode("1;\(long)\r\n") == .malformed)
        #expect(Self.decode("0\r\nA: \(long)\r\n\r\n") == .malformed)
        #expect(Self.decode("0\r\n\(long): 1\r\n\r\n") == .malformed)
        #expect(Self.decode("0\r\n" + String(repeating: "A: 1\r\n", count: 10_000) + "\r\n") == .malformed)
        // Many small chunks without extensions are allowed.
        let many = String(repeating: "1\r\nx\r\n", count: 50_000) + "0\r\n\r\n"
        #expect(Self.decode(many) == .content(String(repeating: "x", count: 50_000), rest: ""))
    }

    /// A long upload with a signature on every chunk, as S3 clients send it.
    @Test func extensionsOfOneChunkDoNotCountForTheNext() {
        let chunk = "1;chunk-signature=\(String(repeating: "0", count: 64))\r\nx\r\n"
        let text = String(repeating: chunk, count: 5000) + "0;chunk-signature=1\r\nA: 1\r\n\r\n"
        #expect(Self.decode(text) == .content(String(repeating: "x", count: 5000), rest: ""))
        let large = String(repeating: "1;\(String(repeating: "y", count: 16_000))\r\nx\r\n", count: 20)
        #expect(Self.decode(large + "0\r\n\r\n") == .content(String(repeating: "x", count: 20), rest: ""))
    }
}
