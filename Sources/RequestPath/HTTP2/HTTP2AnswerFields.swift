import CNGHTTP2
import Glibc

/// The fields of an answer as libnghttp2 needs them. libnghttp2 copies them.
struct HTTP2AnswerFields {
    private var fields: [nghttp2_nv] = []

    mutating func removeAll() {
        self.fields.removeAll(keepingCapacity: true)
    }

    /// Adds a field. Its bytes must stay valid until `lend` has returned.
    ///
    /// - Parameter isUnique: True if the value occurs only once, so that it should not enter the compression table.
    mutating func append(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        isUnique: Bool = false
    ) {
        self.fields.append(
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.baseAddress),
                value: UnsafeMutablePointer(mutating: value.baseAddress),
                namelen: name.count,
                valuelen: value.count,
                flags: isUnique ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0
            )
        )
    }

    mutating func append(_ name: StaticString, _ value: StaticString) {
        self.append(name, UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    mutating func append(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>) {
        self.append(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    /// Passes the fields to libnghttp2.
    func lend(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Void) {
        self.fields.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
    }

    // MARK: A head of HTTP/1

    /// Reads a head that the gateway has written as HTTP/1. Omits hop-by-hop fields (RFC 9113 8.2.2) and turns status
    /// 101 into 200 (RFC 8441 5).
    mutating func read(_ head: UnsafeBufferPointer<UInt8>) {
        self.removeAll()
        guard let base = head.baseAddress, head.count > 12 else { return }
        // "HTTP/1.1 200 ..."
        let status = UnsafeBufferPointer(start: base + 9, count: 3)
        if ByteClass.equal(status, "101") { self.append(":status", "200") } else { self.append(":status", status) }
        guard let lineFeed = memchr(base, 0x0A, head.count) else { return }
        self.readLines(base, from: UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base) + 1, head.count)
    }

    /// Reads trailers that the gateway has written as HTTP/1.
    mutating func readTrailers(_ lines: UnsafeBufferPointer<UInt8>) {
        self.removeAll()
        if let base = lines.baseAddress { self.readLines(base, from: 0, lines.count) }
    }

    @inline(__always)
    private mutating func readLines(_ base: Bytes, from start: Int, _ count: Int) {
        var start = start
        while let lineFeed = memchr(base + start, 0x0A, count - start) {
            let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
            self.readLine(base + start, end - start - 1)
            start = end + 1
        }
    }

    /// - Parameter count: The length of the line in bytes, without its CRLF.
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
        // The value belongs to the gateway's own key, not to the client.
        case 20: ByteClass.equal(name, "sec-websocket-accept")
        default: false
        }
    }
}
