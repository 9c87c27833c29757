import Glibc

/// The parsed head of an app's answer. Its slices are offsets into the answer's bytes.
package final class ResponseHead {
    package var fields: FieldLines
    package var status = 0
    package var reasonPhrase = Slice.empty
    package var minorVersion = 1
    package var byteCount = 0
    package var framing = BodyFraming.untilClose
    package var contentLength: Int?
    package var isChunked = false
    package var keepsAlive = true
    package var upgradesToWebSocket = false
    /// True for NTLM and Negotiate. They sign in the connection, so it must not serve other clients (CVE-2026-88007).
    package var bindsConnection = false
    /// The app's idle timeout in seconds (`Keep-Alive`). `nil` if the app does not state it.
    package var idleSeconds: Int?
    package var isEventStream = false
    package var hasCacheControl = false
    package var hasLocation = false
    package var hasDate = false
    /// The number of references that may grow when they are rewritten (`PublicReferences`).
    package var referenceCount = 0
    /// Why the head is malformed or the content's length is unknown. Ignored if there is no content.
    package var fault: ResponseFault?
    /// True if the fields announce content although the status forbids it. The app may still send content.
    package var announcesContent = false
    /// True if `Connection` names other fields. Those are dropped.
    var connectionListsFields = false
    /// The maximum number of fields in a head.
    static let maxFields = 200

    package init(fieldCount: Int) {
        self.fields = FieldLines(capacity: fieldCount)
    }

    /// Removes `Content-Length`, because the gateway changes the content.
    func forgetLength() {
        if case .length = self.framing { self.framing = .untilClose }
        for index in 0..<self.fields.count where self.fields[index].role == .contentLength {
            self.fields[index].isDropped = true
        }
    }

    @inline(__always)
    func reset() {
        self.fields.removeAll()
        self.framing = .untilClose
        self.contentLength = nil
        self.isChunked = false
        self.keepsAlive = true
        self.upgradesToWebSocket = false
        self.bindsConnection = false
        self.idleSeconds = nil
        self.isEventStream = false
        self.hasCacheControl = false
        self.hasLocation = false
        self.hasDate = false
        self.referenceCount = 0
        self.fault = nil
        self.announcesContent = false
        self.connectionListsFields = false
    }
}

/// The result of parsing the bytes of a head received so far.
package enum ResponseParseResult: Equatable {
    case incomplete
    case complete
    /// The head is invalid (`ResponseHead.fault`). The client gets 502, and the connection closes.
    case malformed
}

/// Parses an answer's head strictly. If gateway and client understood an answer differently, the client could mistake a
/// part of it for the next answer.
package struct ResponseParser: Sendable {
    private let names: FieldNames
    /// The maximum size of a head in bytes.
    let limit: Int

    /// - Parameter limit: The maximum size of a head in bytes.
    package init(names: FieldNames, limit: Int) {
        self.names = names
        self.limit = limit
    }

    /// Parses the `count` bytes at `base` into `head` and determines the framing (RFC 9112 6.3).
    ///
    /// - Parameter answersHead: True if the request's method was HEAD.
    package func parse(
        _ base: Bytes,
        _ count: Int,
        into head: ResponseHead,
        answersHead: Bool = false
    ) -> ResponseParseResult {
        head.reset()
        guard let lineFeed = memchr(base, 0x0A, count) else {
            guard self.startsLikeAnswer(base, count) else { return Self.refused(head, .startLine) }
            return count <= self.limit ? .incomplete : Self.refused(head, .size)
        }
        let lineEnd = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
        guard self.statusLine(base, lineEnd, head) else { return Self.refused(head, .startLine) }
        var position = lineEnd + 1
        while true {
            guard let lineFeed = memchr(base + position, 0x0A, count &- position) else {
                return count <= self.limit ? .incomplete : Self.refused(head, .size)
            }
            let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
            if end == position &+ 1, base[position] == 0x0D {
                head.byteCount = end &+ 1
                break
            }
            guard end < self.limit else { return Self.refused(head, .size) }
            guard self.field(base, position, end, head) else { return .malformed }
            position = end &+ 1
        }
        return self.conclude(base, head, answersHead) ? .complete : .malformed
    }

    private static func refused(_ head: ResponseHead, _ rule: ResponseFault.Rule) -> ResponseParseResult {
        head.fault = ResponseFault(rule)
        return .malformed
    }

    private func startsLikeAnswer(_ base: Bytes, _ count: Int) -> Bool {
        memcmp(base, "HTTP/1.", min(count, 7)) == 0
    }

    /// Reads the status line (RFC 9112 4). The SP after the status may be missing, because many apps omit it.
    private func statusLine(_ base: Bytes, _ lineFeed: Int, _ head: ResponseHead) -> Bool {
        let end = lineFeed - 1
        guard end >= 12, base[end] == 0x0D, memcmp(base, "HTTP/1.", 7) == 0 else { return false }
        let minor = base[7] &- 0x30
        guard minor <= 1, base[8] == 0x20 else { return false }
        head.minorVersion = Int(minor)
        head.keepsAlive = minor == 1
        guard let status = ByteClass.decimal(UnsafeBufferPointer(start: base + 9, count: 3)), status >= 100,
            status <= 599
        else { return false }
        head.status = status
        if end == 12 {
            head.reasonPhrase = .empty
            return true
        }
        guard base[12] == 0x20, !ByteClass.hasControl(base + 13, end - 13) else { return false }
        head.reasonPhrase = Slice(13, end - 13)
        return true
    }

    /// Reads a field line. Returns false if the head is malformed.
    @inline(__always)
    private func field(_ base: Bytes, _ start: Int, _ lineFeed: Int, _ head: ResponseHead) -> Bool {
        let end = lineFeed &- 1
        guard let name = self.names.name(of: base + start, lineFeed &+ 1 &- start) else {
            head.fault = Self.fault(ofLine: base, start, lineFeed, head)
            return false
        }
        guard base[end] == 0x0D else {
            head.fault = ResponseFault(.lineEnd, Slice(start, name.count))
            return false
        }
        // Clients do not read `Content_Length` as the length, so the gateway does not either.
        let role = name.isAlias && name.role != .managed ? .other : name.role
        var valueStart = start &+ name.count &+ 1
        var valueEnd = end
        while valueStart < valueEnd, base[valueStart] == 0x20 || base[valueStart] == 0x09 { valueStart &+= 1 }
        while valueEnd > valueStart, base[valueEnd &- 1] == 0x20 || base[valueEnd &- 1] == 0x09 { valueEnd &-= 1 }
        if ByteClass.hasControl(base + valueStart, valueEnd &- valueStart) {
            head.fault = ResponseFault(.control, Slice(start, name.count))
            return false
        }
        let line = head.fields.count
        guard
            head.fields.append(
                FieldLine(
                    name: Slice(start, name.count),
                    value: Slice(valueStart, valueEnd &- valueStart),
                    lineStart: UInt32(truncatingIfNeeded: start),
                    lineEnd: UInt32(truncatingIfNeeded: lineFeed &+ 1),
                    role: role,
                    isDropped: role.isHopByHop || role == .managed
                )
            )
        else {
            head.fault = ResponseFault(.fieldCount, Slice(start, name.count))
            return false
        }
        if role == .date { head.hasDate = true }
        return role == .other || role == .date || self.note(role, line, base, head)
    }

    /// Returns the fault of a line that does not begin with a field name and a colon.
    @inline(never)
    private static func fault(ofLine base: Bytes, _ start: Int, _ lineFeed: Int, _ head: ResponseHead) -> ResponseFault
    {
        let isBlank = { (index: Int) in base[index] == 0x20 || base[index] == 0x09 }
        // RFC 9112 5.2.
        if isBlank(start), head.fields.count > 0 {
            return ResponseFault(.folded, head.fields[head.fields.count - 1].name)
        }
        // RFC 9112 5.1.
        let end = (start..<lineFeed).first { ByteClass.normalizedToken[Int(base[$0])] == 0 } ?? lineFeed
        let colon = (end..<lineFeed).first { !isBlank($0) } ?? lineFeed
        guard end > start, colon > end, base[colon] == UInt8(ascii: ":") else { return ResponseFault(.noField) }
        return ResponseFault(.blank, Slice(start, end - start))
    }

    private func note(_ role: FieldRole, _ line: Int, _ base: Bytes, _ head: ResponseHead) -> Bool {
        let value = head.fields[line].value.bytes(in: base)
        switch role {
        case .contentLength:
            if head.contentLength != nil {
                self.doubtLength(.repeated, line, head)
            } else if let length = ByteClass.decimal(value) {
                head.contentLength = length
            } else {
                self.doubtLength(.length, line, head)
            }
        case .transferEncoding:
            if head.minorVersion == 0 {
                self.doubtLength(.encodingVersion, line, head)
            } else if head.isChunked {
                self.doubtLength(.repeated, line, head)
            } else if !ByteClass.equal(value, "chunked") {
                self.doubtLength(.encoding, line, head)
            }
            head.isChunked = true
            head.fields[line].isDropped = true
        case .connection:
            ByteClass.forEachElement(of: value) { token in
                if ByteClass.equal(token, "keep-alive") {
                    if head.minorVersion == 0 { head.keepsAlive = true }
                } else if ByteClass.equal(token, "close") {
                    head.keepsAlive = false
                } else if !ByteClass.equal(token, "upgrade") {
                    head.connectionListsFields = true
                }
            }
        case .keepAlive:
            let name: StaticString = "timeout="
            let count = name.utf8CodeUnitCount
            ByteClass.forEachElement(of: value) { element in
                guard element.count > count, ByteClass.equal(UnsafeBufferPointer(rebasing: element[..<count]), name)
                else { return }
                head.idleSeconds = ByteClass.decimal(UnsafeBufferPointer(rebasing: element[count...]))
            }
        case .upgrade:
            if ByteClass.equal(value, "websocket") { head.upgradesToWebSocket = true }
        case .authenticate:
            let scheme = value.prefix { $0 != 0x20 }
            let name = UnsafeBufferPointer(rebasing: scheme)
            if ByteClass.equal(name, "ntlm") || ByteClass.equal(name, "negotiate") { head.bindsConnection = true }
        case .contentType:
            let type: StaticString = "text/event-stream"
            let count = type.utf8CodeUnitCount
            let isLonger = value.count > count && (value[count] == 0x3B || value[count] == 0x20)
            guard value.count == count || isLonger else { break }
            if ByteClass.equal(UnsafeBufferPointer(rebasing: value[..<count]), type) { head.isEventStream = true }
        case .cacheControl:
            head.hasCacheControl = true
        case .location:
            // Clients could follow different locations.
            guard !head.hasLocation else {
                head.fault = ResponseFault(.repeated, head.fields[line].name)
                return false
            }
            head.hasLocation = true
            head.referenceCount += 1
        case .setCookie, .reference, .refresh:
            head.referenceCount += 1
        case .link:
            head.referenceCount += value.count { $0 == UInt8(ascii: "<") }
        default:
            break
        }
        return true
    }

    private func doubtLength(_ rule: ResponseFault.Rule, _ line: Int, _ head: ResponseHead) {
        if head.fault == nil { head.fault = ResponseFault(rule, head.fields[line].name) }
    }

    private func conclude(_ base: Bytes, _ head: ResponseHead, _ answersHead: Bool) -> Bool {
        if head.connectionListsFields { self.dropNominated(base, head) }
        if answersHead || head.status < 200 || head.status == 204 || head.status == 304 {
            self.concludeWithoutContent(head)
            return true
        }
        if head.fault != nil { return false }
        if head.isChunked {
            // A length with a transfer encoding "ought to be handled as an error" (RFC 9112 6.3).
            guard head.contentLength == nil else {
                for index in 0..<head.fields.count where head.fields[index].role == .contentLength {
                    head.fault = ResponseFault(.lengthAndEncoding, head.fields[index].name)
                }
                return false
            }
            head.framing = .chunked
        } else if let length = head.contentLength {
            head.framing = length == 0 ? .none : .length(length)
        } else {
            head.framing = .untilClose
        }
        return true
    }

    /// Frames an answer without content (RFC 9112 6.3). With HEAD or 304, `Content-Length` describes content that is
    /// not sent. With other statuses, it is forbidden (RFC 9110 8.6).
    private func concludeWithoutContent(_ head: ResponseHead) {
        head.framing = .none
        let mustNotFrame = head.status < 200 || head.status == 204
        head.announcesContent = mustNotFrame && (head.isChunked || head.fault != nil || (head.contentLength ?? 0) > 0)
        if mustNotFrame || head.isChunked || head.fault != nil {
            for index in 0..<head.fields.count where head.fields[index].role == .contentLength {
                head.fields[index].isDropped = true
            }
        }
        head.fault = nil
    }

    /// Drops the fields that `Connection` names (RFC 9110 7.6.1), except `Content-Length`.
    private func dropNominated(_ base: Bytes, _ head: ResponseHead) {
        for index in 0..<head.fields.count where head.fields[index].role == .connection {
            ByteClass.forEachElement(of: head.fields[index].value.bytes(in: base)) { token in
                for other in 0..<head.fields.count where head.fields[other].role != .contentLength {
                    if ByteClass.equalIgnoringCase(head.fields[other].name.bytes(in: base), token) {
                        head.fields[other].isDropped = true
                        if head.fields[other].role == .date { head.hasDate = false }
                    }
                }
            }
        }
    }
}
