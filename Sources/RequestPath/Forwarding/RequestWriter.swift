package import NIOCore
import Settings

#if canImport(Glibc)
import Glibc
#endif

/// Writes bytes behind one another; the caller has made room for all of them.
package struct ByteWriter {
    package let base: UnsafeMutablePointer<UInt8>
    package private(set) var count = 0

    @inline(__always)
    package init(_ base: UnsafeMutablePointer<UInt8>) {
        self.base = base
    }

    @inline(__always)
    package mutating func write(_ bytes: Bytes, _ length: Int) {
        memcpy(self.base + self.count, bytes, length)
        self.count &+= length
    }

    @inline(__always)
    package mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let start = bytes.baseAddress { self.write(start, bytes.count) }
    }

    @inline(__always)
    package mutating func write(_ text: StaticString) {
        self.write(text.utf8Start, text.utf8CodeUnitCount)
    }

    @inline(__always)
    package mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { self.write($0) }
    }

    @inline(__always)
    package mutating func write(_ byte: UInt8) {
        self.base[self.count] = byte
        self.count &+= 1
    }

    /// Writes `value` in hexadecimal without leading zeros, as a chunk size has it.
    @inline(__always)
    package mutating func writeHex(_ value: Int) {
        var shift = 60
        while shift > 0, (value >> shift) & 0xF == 0 { shift &-= 4 }
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: (value >> shift) & 0xF)
            self.write(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
            shift &-= 4
        }
    }
}

/// What the gateway itself says in a request towards the app; everything else is the client's bytes.
package struct ForwardedFacts {
    /// The client's address as text.
    package var address: [UInt8]
    /// `X-Forwarded-Proto` and `X-Forwarded-Host` lines of the public host, ready-made.
    package var hostLines: [UInt8]
    package var requestID: RequestID
    /// The identity lines of the session, ready-made; empty when there is none.
    package var identity: ContiguousArray<UInt8>?
}

/// Writes the head towards the app: the client's lines as they came, minus what is not the client's to say, plus ours.
package enum RequestWriter {
    /// Strip, then set: every line that is dropped was dropped before one of ours is written (CVE-2026-30851).
    ///
    /// The permit is what allows a head to be written at all.
    @inline(__always)
    package static func write(
        _ head: RequestHead,
        _ base: Bytes,
        permit: borrowing Permit,
        credentials: Credentials,
        facts: ForwardedFacts,
        cookies: OwnCookies,
        parameter: HandoffParameter,
        into buffer: inout ByteBuffer
    ) {
        let route = permit.route
        let room = head.byteCount + (facts.identity?.count ?? 0) + facts.hostLines.count + route.hostLine.count + 256
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { raw in
            guard let start = raw.baseAddress else { return 0 }
            var writer = ByteWriter(start.assumingMemoryBound(to: UInt8.self))
            writer.write(base + head.method.start, head.method.length)
            writer.write(0x20)
            if credentials.handoffParameter == nil {
                writer.write(base + head.target.start, head.target.length)
            } else {
                Self.writeTarget(head, base, parameter, &writer)
            }
            writer.write(" HTTP/1.1\r\n")
            writer.write(route.hostLine)
            Self.writeFields(head, base, route, credentials, cookies, parameter, &writer)
            writer.write("X-Forwarded-For: ")
            writer.write(facts.address)
            writer.write("\r\n")
            writer.write(facts.hostLines)
            writer.write("X-Request-Id: ")
            facts.requestID.write(to: &writer)
            writer.write("\r\n")
            if head.isWebSocketUpgrade { writer.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
            if let identity = facts.identity {
                identity.withUnsafeBufferPointer { writer.write($0) }
            }
            writer.write("\r\n")
            return writer.count
        }
    }

    /// The target without the handoff parameter.
    package static func writeTarget(
        _ head: RequestHead,
        _ base: Bytes,
        _ parameter: HandoffParameter,
        _ writer: inout ByteWriter
    ) {
        writer.write(base + head.path.start, head.path.length)
        var mark: UInt8? = 0x3F
        parameter.forEachKept(of: head.query, base) { kept in
            if let byte = mark {
                writer.write(byte)
                mark = nil
            }
            writer.write(base + kept.start, kept.length)
        }
    }

    @inline(__always)
    private static func writeFields(
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ cookies: OwnCookies,
        _ parameter: HandoffParameter,
        _ writer: inout ByteWriter
    ) {
        // Kept lines that lie side by side are copied as one run.
        var runStart = head.fieldsStart
        var index = 0
        let count = head.fields.count
        while index < count {
            let line = head.fields[index]
            var drops = line.isDropped
            var rewritesCookie = false
            var refererEnd = 0
            switch line.role {
            case .other: break
            case .authorization: drops = drops || credentials.dropsAuthorization || route.replacesAuthorization
            case .sessionToken: drops = drops || !route.leavesSessionToken
            case .dpop: drops = drops || route.settings.bearer == .gateway
            case .host: drops = true
            case .methodOverride: drops = drops || route.dropsMethodOverride
            case .cookie:
                if credentials.cookies.hasSession || credentials.cookies.hasAttempt || credentials.cookies.hasHandled
                    || (credentials.cookies.hasHandoff && !route.settings.leavesHandoffToApp)
                {
                    drops = true
                    rewritesCookie = true
                }
            case .referer:
                if !drops, !route.settings.leavesHandoffToApp,
                    let end = Self.endOfReferer(line.value, base, parameter)
                {
                    drops = true
                    refererEnd = end
                }
            default: break
            }
            if drops {
                writer.write(base + runStart, Int(line.lineStart) &- runStart)
                runStart = Int(line.lineEnd)
                if rewritesCookie { Self.writeCookie(line, base, route, cookies, &writer) }
                if refererEnd > 0 {
                    writer.write(base + line.name.start, refererEnd &- line.name.start)
                    writer.write("\r\n")
                }
            }
            index &+= 1
        }
        writer.write(base + runStart, head.byteCount &- 2 &- runStart)
    }

    /// Where the query begins of a `Referer` that has the handoff parameter in it, which the app gets without its query: the
    /// token lives for a while yet, as when a frame of the page that was asked for with it loads something. nil: the field
    /// goes on as it came.
    @inline(__always)
    private static func endOfReferer(_ value: Slice, _ base: Bytes, _ parameter: HandoffParameter) -> Int? {
        guard let mark = memchr(base + value.start, 0x3F, value.length) else { return nil }
        let end = UnsafeRawPointer(mark) - UnsafeRawPointer(base)
        return parameter.occurs(in: Slice(end, value.end - end), base) ? end : nil
    }

    /// `Cookie` without ours; no line at all when nothing is left.
    private static func writeCookie(
        _ line: FieldLine,
        _ base: Bytes,
        _ route: RouteEntry,
        _ cookies: OwnCookies,
        _ writer: inout ByteWriter
    ) {
        var isEmpty = true
        cookies.forEachKept(of: line.value, base, dropsHandoff: !route.settings.leavesHandoffToApp) { kept in
            if isEmpty {
                writer.write(base + line.name.start, line.value.start - line.name.start)
                isEmpty = false
            }
            writer.write(base + kept.start, kept.length)
        }
        if !isEmpty { writer.write("\r\n") }
    }
}

/// The id of a request: 32 hexadecimal digits, unique in this process and, by its random half, everywhere.
package struct RequestID: Sendable, Hashable {
    package var seed: UInt64
    package var sequence: UInt64
    /// An id that a trusted proxy gave; it wins.
    package var given: [UInt8]?

    package init(seed: UInt64, sequence: UInt64, given: [UInt8]? = nil) {
        self.seed = seed
        self.sequence = sequence
        self.given = given
    }

    @inline(__always)
    package func write(to writer: inout ByteWriter) {
        if let given = self.given {
            writer.write(given)
        } else {
            Self.writeHex(self.seed, &writer)
            Self.writeHex(self.sequence, &writer)
        }
    }

    @inline(__always)
    private static func writeHex(_ value: UInt64, _ writer: inout ByteWriter) {
        var shift = UInt64(64)
        while shift > 0 {
            shift &-= 4
            let digit = UInt8(truncatingIfNeeded: value &>> shift) & 0xF
            writer.write(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
        }
    }

    package var text: String {
        if let given = self.given { return String(decoding: given, as: UTF8.self) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
            guard let base = bytes.baseAddress else { return "" }
            var writer = ByteWriter(base)
            self.write(to: &writer)
            return String(decoding: UnsafeBufferPointer(start: base, count: writer.count), as: UTF8.self)
        }
    }
}
