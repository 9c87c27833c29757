package import NIOCore

/// How an answer's body goes on to the client.
package enum OutgoingFraming: Equatable, Sendable {
    /// The app's own length, or no body at all.
    case asIs
    /// In chunks of ours.
    case chunked
    /// As raw bytes until we close: an HTTP/1.0 client and a length that nobody knows.
    case untilClose
}

/// What the gateway changes in an answer; nothing else is touched.
package struct AnswerChanges {
    package var framing = OutgoingFraming.asIs
    package var closes = false
    /// HTTP/1.0 clients that asked for it are told that the connection stays.
    package var saysKeepAlive = false
    /// The answer carries somebody's identity: no shared cache may keep it.
    package var marksPrivate = false
    /// `Set-Cookie` lines of ours, each with its CRLF.
    package var extraLines: [UInt8] = []
    package var requestID: RequestID
    /// Hides the length of a body that is not sent as such (204, or chunked by us).
    package var dropsContentLength = false

    package init(requestID: RequestID) {
        self.requestID = requestID
    }
}

/// Writes an answer's head towards the client.
package struct ResponseWriter: Sendable {
    /// Our own cookie names: an app may not set them.
    private let ownCookies: [[UInt8]]

    package init(ownCookies: [String]) {
        self.ownCookies = ownCookies.map { Array($0.utf8) }
    }

    /// Appends the head of `head` to `buffer`.
    ///
    /// - Parameters:
    ///   - origin: the app's own origin, e.g. `http://127.0.0.1:9000`; a `Location` that begins with it is made public.
    ///   - publicOrigin: what replaces it.
    @inline(__always)
    package func write(
        _ head: ResponseHead,
        _ base: Bytes,
        changes: AnswerChanges,
        origin: [UInt8],
        publicOrigin: [UInt8],
        into buffer: inout ByteBuffer
    ) {
        // Twice the head: `Cache-Control` written anew may take a byte more for each of its directives.
        let room = head.byteCount * 2 + publicOrigin.count + changes.extraLines.count + 256
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { raw in
            guard let start = raw.baseAddress else { return 0 }
            var writer = ByteWriter(start.assumingMemoryBound(to: UInt8.self))
            writer.write("HTTP/1.1 ")
            writer.write(base + 9, 3)
            writer.write(0x20)
            writer.write(base + head.reasonPhrase.start, head.reasonPhrase.length)
            writer.write("\r\n")
            self.writeFields(head, base, changes, origin, publicOrigin, &writer)
            if changes.framing == .chunked { writer.write("Transfer-Encoding: chunked\r\n") }
            if changes.marksPrivate, !head.hasCacheControl { writer.write("Cache-Control: private\r\n") }
            writer.write(changes.extraLines)
            writer.write("X-Request-Id: ")
            changes.requestID.write(to: &writer)
            writer.write("\r\n")
            if head.status == 101 {
                writer.write("Connection: Upgrade\r\nUpgrade: websocket\r\n")
            } else if changes.closes {
                writer.write("Connection: close\r\n")
            } else if changes.saysKeepAlive {
                writer.write("Connection: keep-alive\r\n")
            }
            writer.write("\r\n")
            return writer.count
        }
    }

    @inline(__always)
    private func writeFields(
        _ head: ResponseHead,
        _ base: Bytes,
        _ changes: AnswerChanges,
        _ origin: [UInt8],
        _ publicOrigin: [UInt8],
        _ writer: inout ByteWriter
    ) {
        var index = 0
        let count = head.fields.count
        guard count > 0 else { return }
        var runStart = Int(head.fields[0].lineStart)
        while index < count {
            let line = head.fields[index]
            var drops = line.isDropped
            var replacement = Replacement.none
            switch line.role {
            case .other: break
            case .contentLength: drops = drops || changes.dropsContentLength
            case .requestID: drops = true
            case .setCookie: drops = drops || self.setsOwnCookie(line.value.bytes(in: base))
            case .location:
                if Self.begins(line.value.bytes(in: base), with: origin) {
                    drops = true
                    replacement = .location
                }
            case .cacheControl:
                if changes.marksPrivate, !Self.isPrivate(line.value.bytes(in: base)) {
                    drops = true
                    replacement = .cacheControl
                }
            default: break
            }
            if drops {
                writer.write(base + runStart, Int(line.lineStart) &- runStart)
                runStart = Int(line.lineEnd)
                self.write(replacement, line, base, origin, publicOrigin, &writer)
            }
            index &+= 1
        }
        writer.write(base + runStart, head.byteCount &- 2 &- runStart)
    }

    private enum Replacement { case none, location, cacheControl }

    private func write(
        _ replacement: Replacement,
        _ line: FieldLine,
        _ base: Bytes,
        _ origin: [UInt8],
        _ publicOrigin: [UInt8],
        _ writer: inout ByteWriter
    ) {
        switch replacement {
        case .none:
            break
        case .location:
            writer.write("Location: ")
            writer.write(publicOrigin)
            writer.write(base + line.value.start + origin.count, line.value.length - origin.count)
            writer.write("\r\n")
        case .cacheControl:
            // What the app says stays, but for what lets a shared cache keep it.
            writer.write("Cache-Control: private")
            ByteClass.forEachElement(of: line.value.bytes(in: base)) { directive in
                let name = UnsafeBufferPointer(rebasing: directive.prefix { $0 != 0x3D })
                guard !ByteClass.equal(name, "public"), !ByteClass.equal(name, "s-maxage") else { return }
                writer.write(", ")
                writer.write(directive)
            }
            writer.write("\r\n")
        }
    }

    private func setsOwnCookie(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var value = ByteClass.trimmed(value)
        // A browser sends a cookie without a name back as its bare value: `=ours=x` would come back as `ours=x`.
        if value.first == 0x3D { value = UnsafeBufferPointer(rebasing: value.dropFirst()) }
        let name = ByteClass.trimmed(UnsafeBufferPointer(rebasing: value.prefix { $0 != 0x3D && $0 != 0x3B }))
        return self.ownCookies.contains { $0.elementsEqual(name) }
    }

    private static func isPrivate(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var isPrivate = false
        ByteClass.forEachElement(of: value) { directive in
            if ByteClass.equal(directive, "private") || ByteClass.equal(directive, "no-store") { isPrivate = true }
        }
        return isPrivate
    }

    /// True when `value` is a URL on `origin`: the origin itself, followed by nothing or a path, query or fragment.
    private static func begins(_ value: UnsafeBufferPointer<UInt8>, with origin: [UInt8]) -> Bool {
        guard value.count >= origin.count, value.prefix(origin.count).elementsEqual(origin) else { return false }
        guard value.count > origin.count else { return true }
        let next = value[origin.count]
        return next == 0x2F || next == 0x3F || next == 0x23
    }
}
