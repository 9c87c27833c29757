#if canImport(Glibc)
import Glibc
#endif

extension HTTP2AnswerFields {
    /// Reads a head that the gateway has written as HTTP/1, so its lines are whole and their names are tokens. Fields of
    /// one hop are left out (RFC 9113 8.2.2). 101, which HTTP/2 has not, is 200 (RFC 8441 5).
    mutating func read(_ head: UnsafeBufferPointer<UInt8>) {
        self.removeAll()
        guard let base = head.baseAddress, head.count > 12 else { return }
        // "HTTP/1.1 200 ..."
        let status = UnsafeBufferPointer(start: base + 9, count: 3)
        if ByteClass.equal(status, "101") { self.append(":status", "200") } else { self.append(":status", status) }
        var start = 0
        while let lineFeed = memchr(base + start, 0x0A, head.count - start) {
            let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
            if start > 0 { self.readLine(base + start, end - start - 1) }
            start = end + 1
        }
    }

    /// - Parameter count: The bytes of the line without its CRLF.
    @inline(__always)
    private mutating func readLine(_ line: Bytes, _ count: Int) {
        guard count > 0, let colon = memchr(line, 0x3A, count) else { return }
        let length = UnsafeRawPointer(colon) - UnsafeRawPointer(line)
        let name = UnsafeBufferPointer(start: line, count: length)
        guard !Self.isOfOneHop(name) else { return }
        let value = UnsafeBufferPointer(start: line + length + 1, count: count - length - 1)
        self.append(name, ByteClass.trimmed(value), isUnique: ByteClass.equal(name, "x-request-id"))
    }

    private static func isOfOneHop(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 7: ByteClass.equal(name, "upgrade")
        case 10: ByteClass.equal(name, "connection") || ByteClass.equal(name, "keep-alive")
        case 16: ByteClass.equal(name, "proxy-connection")
        case 17: ByteClass.equal(name, "transfer-encoding")
        // The key that was accepted is the gateway's.
        case 20: ByteClass.equal(name, "sec-websocket-accept")
        default: false
        }
    }
}
