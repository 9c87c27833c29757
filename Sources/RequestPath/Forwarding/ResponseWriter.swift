package import NIOCore

/// The `Connection` field of an HTTP/1 answer.
package enum ConnectionField: Equatable, Sendable {
    /// No field. The connection stays open, as the client expects.
    case none
    case close
    /// The connection stays open, because an HTTP/1.0 client has asked for it.
    case keepAlive
}

/// Writes the head of an app's answer for the client.
package struct ResponseWriter: Sendable {
    private let sessionCookies: [[UInt8]]
    private let handoffCookies: [[UInt8]]

    /// Creates a writer. Apps may not set the gateway's cookies.
    ///
    /// - Parameters:
    ///   - sessionCookies: The names of the session cookie. Names that begin with one and `-` are also reserved.
    ///   - handoffCookies: The names of the cookies that contain transfer tokens.
    package init(sessionCookies: [String], handoffCookies: [String]) {
        self.sessionCookies = sessionCookies.map { Array($0.utf8) }
        self.handoffCookies = handoffCookies.map { Array($0.utf8) }
    }

    /// Appends an answer's head to `buffer`.
    ///
    /// - Parameters:
    ///   - origin: The app's origin, such as `http://127.0.0.1:9000`. It is replaced in `Location` and similar fields.
    ///   - publicOrigin: The origin that replaces the app's.
    ///   - framing: The framing of the content.
    ///   - date: The value of `Date` if the app sends none (RFC 9110 6.6.1) and the route does not edit `Date`.
    @inline(__always)
    package func write(
        _ head: ResponseHead,
        _ base: Bytes,
        _ changes: borrowing AnswerChanges,
        origin: [UInt8],
        publicOrigin: [UInt8],
        framing: OutgoingFraming,
        connection: ConnectionField,
        date: @autoclosure () -> [UInt8],
        into buffer: inout ByteBuffer
    ) {
        let route = changes.route
        let edits = route?.use { $0.answerEdits.lines.count } ?? 0
        let room = Self.room(head, publicOrigin, changes) + edits + changes.extraLines.count + 256
        buffer.append(atMost: room) { writer in
            Self.writeStatusLine(head, base, &writer)
            self.writeFields(head, base, changes, origin, publicOrigin, &writer)
            if framing == .chunked { writer.write("Transfer-Encoding: chunked\r\n") }
            if changes.marksPrivate, !head.hasCacheControl { writer.write("Cache-Control: private\r\n") }
            if let route { route.use { writer.write($0.answerEdits.lines) } }
            writer.write(changes.extraLines)
            if !head.hasDate, head.status != 101, route?.use({ Self.leavesDate($0) }) != false {
                writer.write("Date: ")
                writer.write(date())
                writer.write("\r\n")
            }
            writer.write("X-Request-Id: ")
            changes.requestID.write(to: &writer)
            writer.write("\r\n")
            if head.status == 101 {
                writer.write("Connection: Upgrade\r\nUpgrade: websocket\r\n")
            } else {
                switch connection {
                case .none: break
                case .close: writer.write("Connection: close\r\n")
                case .keepAlive: writer.write("Connection: keep-alive\r\n")
                }
            }
            writer.write("\r\n")
        }
    }

    /// Appends an interim answer, such as 103, without the fields that a final answer gets.
    package func writeInterim(
        _ head: ResponseHead,
        _ base: Bytes,
        _ changes: borrowing AnswerChanges,
        origin: [UInt8],
        publicOrigin: [UInt8],
        into buffer: inout ByteBuffer
    ) {
        buffer.append(atMost: Self.room(head, publicOrigin, changes)) { writer in
            Self.writeStatusLine(head, base, &writer)
            self.writeFields(head, base, changes, origin, publicOrigin, &writer)
            writer.write("\r\n")
        }
    }

    /// Returns the maximum size in bytes of the app's status line and fields after rewriting.
    @inline(__always)
    private static func room(_ head: ResponseHead, _ publicOrigin: [UInt8], _ changes: borrowing AnswerChanges) -> Int {
        // Each directive of a rewritten `Cache-Control` may need one more byte, so twice the head is enough.
        let room = head.byteCount * 2 + 64
        guard head.referenceCount > 0 else { return room }
        return room + head.referenceCount * PublicReferences.growth(changes.route, publicOrigin)
    }

    @inline(__always)
    private static func writeStatusLine(_ head: ResponseHead, _ base: Bytes, _ writer: inout ByteWriter) {
        writer.write("HTTP/1.1 ")
        writer.write(base + 9, 3)
        writer.write(0x20)
        writer.write(base + head.reasonPhrase.start, head.reasonPhrase.length)
        writer.write("\r\n")
    }

    @inline(__always)
    private func writeFields(
        _ head: ResponseHead,
        _ base: Bytes,
        _ changes: borrowing AnswerChanges,
        _ origin: [UInt8],
        _ publicOrigin: [UInt8],
        _ writer: inout ByteWriter
    ) {
        var index = 0
        let count = head.fields.count
        guard count > 0 else { return }
        var runStart = Int(head.fields[0].lineStart)
        let route = changes.route
        while index < count {
            let line = head.fields[index]
            var drops = line.isDropped
            var replacement = Replacement.none
            if let route, route.use({ $0.answerEdits.removes(line.name.bytes(in: base)) }) {
                drops = true
            } else {
                switch line.role {
                case .other: drops = drops || (changes.marksPrivate && Self.isTargeted(line.name.bytes(in: base)))
                case .sharedCacheControl: drops = drops || changes.marksPrivate
                case .requestID: drops = true
                case .managed: drops = drops && !changes.keepsIdentityNames
                case .setCookie:
                    if self.setsOwnCookie(line.value.bytes(in: base)) {
                        drops = true
                    } else if !drops, route?.use({ $0.changesPath }) == true {
                        drops = true
                        replacement = .cookie
                    }
                case .location, .reference:
                    if !drops,
                        route != nil
                            || PublicReferences.hasOwnOrigin(
                                line.value.bytes(in: base),
                                origin: origin,
                                publicOrigin: publicOrigin
                            )
                    {
                        drops = true
                        replacement = .reference
                    }
                case .link, .refresh:
                    if !drops, route?.use({ $0.changesPublicReferences }) == true {
                        drops = true
                        replacement = line.role == .link ? .links : .refresh
                    }
                case .cacheControl:
                    if changes.marksPrivate, !Self.isPrivate(line.value.bytes(in: base)) {
                        drops = true
                        replacement = .cacheControl
                    }
                default: break
                }
            }
            if drops {
                writer.write(base + runStart, Int(line.lineStart) &- runStart)
                runStart = Int(line.lineEnd)
                self.write(replacement, line, base, route, origin, publicOrigin, &writer)
            }
            index &+= 1
        }
        writer.write(base + runStart, head.byteCount &- 2 &- runStart)
    }

    private enum Replacement { case none, reference, links, refresh, cookie, cacheControl }

    private func write(
        _ replacement: Replacement,
        _ line: FieldLine,
        _ base: Bytes,
        _ route: Pinned<RouteEntry>?,
        _ origin: [UInt8],
        _ publicOrigin: [UInt8],
        _ writer: inout ByteWriter
    ) {
        switch replacement {
        case .none:
            break
        case .reference, .links, .refresh, .cookie:
            let references = PublicReferences(route, origin: origin, publicOrigin: publicOrigin)
            let value = line.value.bytes(in: base)
            writer.write(base + Int(line.lineStart), line.value.start &- Int(line.lineStart))
            switch replacement {
            case .links: references.writeLinks(value, &writer)
            case .refresh: references.writeRefresh(value, &writer)
            case .cookie: references.writeCookie(value, &writer)
            default: references.write(value, &writer)
            }
            writer.write("\r\n")
        case .cacheControl:
            // Keeps the app's directives, except those that let shared caches store the answer.
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
        // Browsers return a cookie without a name as its bare value, so `=ours=x` would come back as `ours=x`.
        if value.first == 0x3D { value = UnsafeBufferPointer(rebasing: value.dropFirst()) }
        let name = ByteClass.trimmed(UnsafeBufferPointer(rebasing: value.prefix { $0 != 0x3D && $0 != 0x3B }))
        if self.handoffCookies.contains(where: { $0.elementsEqual(name) }) { return true }
        return self.sessionCookies.contains { own in
            name.starts(with: own) && (name.count == own.count || name[own.count] == UInt8(ascii: "-"))
        }
    }

    /// True if the route does not edit `Date`.
    private static func leavesDate(_ route: RouteEntry) -> Bool {
        let name: StaticString = "date"
        return name.withUTF8Buffer { !route.answerEdits.removes($0) }
    }

    /// True if the field replaces `Cache-Control` for some caches, such as `CDN-Cache-Control`. Their names end with
    /// `-Cache-Control` (RFC 9213 2).
    @inline(__always)
    static func isTargeted(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let ending: StaticString = "-cache-control"
        let count = ending.utf8CodeUnitCount
        return name.count > count
            && ByteClass.equal(UnsafeBufferPointer(rebasing: name[(name.count &- count)...]), ending)
    }

    private static func isPrivate(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var isPrivate = false
        ByteClass.forEachElement(of: value) { directive in
            if ByteClass.equal(directive, "private") || ByteClass.equal(directive, "no-store") { isPrivate = true }
        }
        return isPrivate
    }
}
