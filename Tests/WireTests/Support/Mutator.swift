import TestSupport

/// Makes small changes to valid requests, of a kind that parsers disagree about.
struct Mutator {
    private var generator: SeededNumbers

    init(seed: UInt64) {
        self.generator = SeededNumbers(seed: seed)
    }

    static let seeds: [String] = [
        head("GET /a/b?c=d&e=%20 HTTP/1.1", "Accept: */*", "User-Agent: test/1.0 (x; y)"),
        head("POST /form HTTP/1.1", "Content-Length: 5", "Content-Type: text/plain") + "hello",
        head("PUT /chunks HTTP/1.1", "Transfer-Encoding: chunked") + "5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n",
        head("POST /x HTTP/1.1", "Transfer-Encoding: chunked")
            + "3;name=value;other=\"q;s\"\r\nabc\r\n0;last\r\nX-Last: yes\r\n\r\n",
        head("GET / HTTP/1.0", "Connection: keep-alive") + head("GET /second HTTP/1.0"),
        head("HEAD /h HTTP/1.1", "Cookie: a=b; c=d", "X-Custom: 1", "X_Under: 2"),
        head("OPTIONS * HTTP/1.1", "Origin: https://other.example", "Access-Control-Request-Method: PUT"),
        head("GET http://a/absolute?q HTTP/1.1", "Accept-Encoding: gzip"),
        head("DELETE /p HTTP/1.1", "Connection: close, X-Gone", "X-Gone: 1", "TE: trailers"),
        head("GET /ws HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        head("GET /1 HTTP/1.1") + head("POST /2 HTTP/1.1", "Content-Length: 3") + "abc" + head("GET /3 HTTP/1.1"),
        "\r\n" + head("PATCH /after-empty-line HTTP/1.1", "Content-Length: 1", "Expect: 100-continue") + "x",
        head("GET /\u{7E}!$&'()*+,;=:@%41 HTTP/1.1", "If-None-Match: \"a\"", "Empty:", "Padded: \t v \t"),
    ]

    private static let pieces: [String] = [
        "\r\n", "\n", "\r", " ", "\t", "\0", ":", ",", ";", "=", "\"", "#", "?", "%", "/", "\\", "_", "-", "*", "@",
        "\u{B}", "\u{C}", "\u{7F}", "\r\n ", "\r\n\t", "\r\n\r\n", " \r\n", "0", "00", "+5", "-1", "0x5", "5 ", "1e1",
        "99999999999999999999", "FFFFFFFFFFFFFFFF1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "Host: a\r\n", "Host: b\r\n",
        "Content-Length: 5\r\n", "Content-Length: 6\r\n", "Content-Length : 5\r\n", "content_length: 5\r\n",
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding:\tchunked\r\n",
        "Transfer-Encoding: Chunked\r\n", "transfer_encoding: chunked\r\n", "Connection: close\r\n",
        "Connection: keep-alive\r\n", "Connection: upgrade\r\n", "Upgrade: h2c\r\n", "Expect: 100-continue\r\n",
        "Trailer: x\r\n", "chunked", "identity", "gzip", "0\r\n\r\n", "5\r\nhello\r\n", ";a=b", ";a=\"b\"", ";",
        "\u{E9}",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    private mutating func position(_ bytes: [UInt8]) -> Int {
        Int.random(in: 0...bytes.count, using: &self.generator)
    }

    private mutating func range(_ bytes: [UInt8], most: Int) -> Range<Int> {
        let start = self.position(bytes)
        return start..<min(bytes.count, start + Int.random(in: 0...most, using: &self.generator))
    }

    /// A valid request with one to three changes.
    mutating func next() -> [UInt8] {
        var bytes = Array((Self.seeds.randomElement(using: &self.generator) ?? "").utf8)
        for _ in 0..<Int.random(in: 1...3, using: &self.generator) { self.mutate(&bytes) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        switch Int.random(in: 0..<10, using: &self.generator) {
        case 0:
            let position = self.position(bytes)
            if position < bytes.count { bytes[position] = UInt8.random(in: 0...255, using: &self.generator) }
        case 1:
            let position = self.position(bytes)
            if position < bytes.count { bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &self.generator) }
        case 2:
            bytes.removeSubrange(self.range(bytes, most: 4))
        case 3:
            let copy = bytes[self.range(bytes, most: 24)]
            bytes.insert(contentsOf: copy, at: self.position(bytes))
        case 4, 5:
            self.insertLine(&bytes)
        case 6:
            let other = Array((Self.seeds.randomElement(using: &self.generator) ?? "").utf8)
            bytes.insert(contentsOf: other[self.range(other, most: 60)], at: self.position(bytes))
        default:
            let piece = Array((Self.pieces.randomElement(using: &self.generator) ?? "").utf8)
            bytes.insert(contentsOf: piece, at: self.position(bytes))
        }
    }

    /// Inserts a piece where a field line may begin.
    private mutating func insertLine(_ bytes: inout [UInt8]) {
        let lines = bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
        guard let position = lines.randomElement(using: &self.generator) else { return }
        let piece = Array((Self.pieces.randomElement(using: &self.generator) ?? "").utf8)
        bytes.insert(contentsOf: piece, at: position)
    }
}
