import Glibc
package import Vocabulary

/// The result of parsing the bytes received so far.
package enum ParseResult: Equatable {
    /// The bytes are valid so far, but the head is incomplete.
    case incomplete
    case complete
    case refused(Reason)
}

/// The limits of a request head: the sizes in bytes of its request line, of one field line and of all field lines, and
/// the number of field lines.
package struct HeadLimits: Sendable {
    package var line: Int
    package var field: Int
    package var fields: Int
    package var fieldCount: Int

    package init(line: Int, field: Int, fields: Int, fieldCount: Int) {
        self.line = line
        self.field = field
        self.fields = fields
        self.fieldCount = fieldCount
    }
}

/// Parses a request head once, in its buffer, and rejects everything that two readers could interpret differently (RFC
/// 9112).
///
/// Nothing is normalised: parsing changes no byte of the head.
package struct RequestParser: Sendable {
    package let names: FieldNames
    package let limits: HeadLimits
    // Immutable for the life of the process.
    private nonisolated(unsafe) let table = ByteClass.normalizedToken
    /// Whether client fields with `_` in their names are removed.
    private let dropsUnderscore: Bool
    private let allowsMissingHost: Bool

    /// - Parameter allowsMissingHost: Whether an HTTP/1.0 request may omit `Host`. An HTTP/1.1 request never may (RFC
    ///   9112 3.2).
    package init(names: FieldNames, limits: HeadLimits, dropsUnderscore: Bool, allowsMissingHost: Bool = false) {
        self.names = names
        self.limits = limits
        self.dropsUnderscore = dropsUnderscore
        self.allowsMissingHost = allowsMissingHost
    }

    /// Parses the `count` bytes at `base` into `head`.
    package func parse(_ base: Bytes, _ count: Int, into head: RequestHead) -> ParseResult {
        head.reset()
        var start = 0
        // "a server that is expecting to receive and parse a request-line SHOULD ignore at least one empty line (CRLF)
        // received prior to the request-line" (RFC 9112 2.2). We ignore one.
        if count >= 1, base[0] == 0x0D {
            if count == 1 { return .incomplete }
            guard base[1] == 0x0A else { return .refused(.requestMalformed) }
            start = 2
        }
        guard let lineFeed = memchr(base + start, 0x0A, count - start) else {
            return self.partialRequestLine(base, start, count)
        }
        let lineEnd = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
        if lineEnd - start > self.limits.line { return .refused(.requestLineTooLong) }
        if let refusal = self.requestLine(base, start, lineEnd, head) { return .refused(refusal) }
        var position = lineEnd + 1
        head.fieldsStart = position
        let fieldsStart = position
        while true {
            guard let lineFeed = memchr(base + position, 0x0A, count &- position) else {
                return self.partialField(base, position, count, fieldsStart)
            }
            let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
            if end == position &+ 1, base[position] == 0x0D {
                head.byteCount = end &+ 1
                break
            }
            if end &+ 1 &- fieldsStart > self.limits.fields || end &- position > self.limits.field {
                return .refused(.requestFieldsTooLarge)
            }
            if let refusal = self.field(base, position, end, head) { return .refused(refusal) }
            position = end &+ 1
        }
        if let refusal = self.conclude(base, head) { return .refused(refusal) }
        return .complete
    }

    /// Checks the received part of a request line, so that garbage is rejected before the line ends.
    private func partialRequestLine(_ base: Bytes, _ start: Int, _ count: Int) -> ParseResult {
        if count - start > self.limits.line { return .refused(.requestLineTooLong) }
        var index = start
        while index < count, self.table[Int(base[index])] != 0 { index += 1 }
        guard index < count else { return .incomplete }
        guard base[index] == 0x20, index > start else { return .refused(.requestMalformed) }
        index += 1
        let target = index
        while index < count, base[index] != 0x20 {
            if base[index] &- 0x21 >= 0x5E || base[index] == 0x23 { return .refused(.requestTarget) }
            index += 1
        }
        guard index < count else { return .incomplete }
        guard index > target else { return .refused(.requestTarget) }
        // The received part of "HTTP/1.x" CR.
        let version: StaticString = "HTTP/1."
        index += 1
        for offset in 0..<(count - index) {
            let byte = base[index + offset]
            let isExpected =
                switch offset {
                case 0..<7: byte == version.utf8Start[offset]
                case 7: byte == 0x30 || byte == 0x31
                default: offset == 8 && byte == 0x0D
                }
            guard isExpected else { return .refused(.requestMalformed) }
        }
        return .incomplete
    }

    private func partialField(_ base: Bytes, _ start: Int, _ count: Int, _ fieldsStart: Int) -> ParseResult {
        if count - start > self.limits.field || count - fieldsStart > self.limits.fields {
            return .refused(.requestFieldsTooLarge)
        }
        var index = start
        while index < count, self.table[Int(base[index])] != 0 { index += 1 }
        guard index < count else { return .incomplete }
        // The bytes are valid so far only if this is the CR of the empty line or the colon after a name.
        let isEnd = index == start && base[index] == 0x0D && index + 1 == count
        let isName = index > start && base[index] == 0x3A
        return isEnd || isName ? .incomplete : .refused(.requestMalformed)
    }

    // MARK: Request line

    /// Parses `method SP request-target SP HTTP-version CRLF` (RFC 9112 3), with single spaces.
    private func requestLine(_ base: Bytes, _ start: Int, _ lineFeed: Int, _ head: RequestHead) -> Reason? {
        guard lineFeed - start >= 2, base[lineFeed - 1] == 0x0D else { return .requestMalformed }
        let end = lineFeed - 1
        var index = start
        while self.table[Int(base[index])] != 0 { index &+= 1 }
        guard index > start, base[index] == 0x20 else { return .requestMalformed }
        head.method = Slice(start, index - start)
        head.knownMethod = Self.knownMethod(base + start, index - start)
        let targetStart = index + 1
        index = targetStart
        var queryMark = -1
        while true {
            index = Self.targetRunEnd(base, index, end)
            if index == end || base[index] == 0x20 { break }
            // Clients send no fragment (RFC 9112 3.2; CVE-2026-41059). Controls, DEL and bytes beyond ASCII are
            // invalid.
            guard base[index] == 0x3F else { return .requestTarget }
            if queryMark < 0 { queryMark = index }
            index &+= 1
        }
        guard index > targetStart else { return .requestTarget }
        head.target = Slice(targetStart, index - targetStart)
        // "HTTP/1.1" or "HTTP/1.0" must end the line.
        guard end - index == 9, base[index] == 0x20 else { return .requestMalformed }
        let version = base + index + 1
        guard version[0] == 0x48, version[1] == 0x54, version[2] == 0x54, version[3] == 0x50, version[4] == 0x2F,
            version[5] &- 0x30 <= 9, version[6] == 0x2E, version[7] &- 0x30 <= 9
        else { return .requestMalformed }
        guard version[5] == 0x31, version[7] <= 0x31 else { return .requestVersion }
        head.minorVersion = Int(version[7] &- 0x30)
        head.keepsAlive = head.minorVersion == 1
        return self.target(base, queryMark, head)
    }

    /// Returns the index of the first target mark (`ByteWord.targetMarks`) from `index`, or `end` if none exists.
    @inline(__always)
    private static func targetRunEnd(_ base: Bytes, _ index: Int, _ end: Int) -> Int {
        var index = index
        while index &+ 8 <= end {
            let marks = ByteWord.targetMarks(ByteWord.load(base + index))
            if marks != 0 { return index &+ ByteWord.first(marks) }
            index &+= 8
        }
        while index < end, base[index] &- 0x21 < 0x5E, base[index] != 0x23, base[index] != 0x3F { index &+= 1 }
        return index
    }

    /// Splits the target into path and query. The target is in origin form, in absolute form, or `*` for OPTIONS. An
    /// absolute form is reduced to its origin-form part and its authority is kept for the comparison with `Host`.
    private func target(_ base: Bytes, _ queryMark: Int, _ head: RequestHead) -> Reason? {
        // A gateway does not tunnel (CONNECT), and TRACE would echo credentials. Case is ignored, because an app may
        // ignore it.
        if head.knownMethod == .other {
            let method = head.method.bytes(in: base)
            if ByteClass.equal(method, "connect") || ByteClass.equal(method, "trace") { return .requestMethod }
        }
        var start = head.target.start
        let end = head.target.end
        head.authority = .empty
        if base[start] != 0x2F {
            if end - start == 1, base[start] == 0x2A {
                guard head.knownMethod == .options else { return .requestTarget }
                head.path = head.target
                return nil
            }
            guard let slash = self.absoluteForm(base, start, end, head) else { return .requestTarget }
            start = slash
            // `http://host` and `http://host?query` have an empty path, which apps read differently.
            guard start < end, base[start] == 0x2F else { return .requestTarget }
            head.target = Slice(start, end - start)
        }
        if queryMark >= 0 {
            head.path = Slice(start, queryMark - start)
            head.query = Slice(queryMark + 1, end - queryMark - 1)
            head.hasQuery = true
        } else {
            head.path = head.target
        }
        return nil
    }

    /// Returns the offset after `http://authority` and keeps the authority for the comparison with `Host`.
    private func absoluteForm(_ base: Bytes, _ start: Int, _ end: Int, _ head: RequestHead) -> Int? {
        var index = start
        let bytes = UnsafeBufferPointer(start: base + start, count: end - start)
        if bytes.count > 8, ByteClass.equal(UnsafeBufferPointer(rebasing: bytes[0..<8]), "https://") {
            index += 8
        } else if bytes.count > 7, ByteClass.equal(UnsafeBufferPointer(rebasing: bytes[0..<7]), "http://") {
            index += 7
        } else {
            return nil
        }
        let authority = index
        while index < end, base[index] != 0x2F, base[index] != 0x3F { index += 1 }
        guard index > authority else { return nil }
        head.authority = Slice(authority, index - authority)
        return index
    }

    @inline(__always)
    private static func knownMethod(_ bytes: Bytes, _ count: Int) -> KnownMethod {
        switch count {
        case 3:
            if bytes[0] == 0x47, bytes[1] == 0x45, bytes[2] == 0x54 { return .get }
            if bytes[0] == 0x50, bytes[1] == 0x55, bytes[2] == 0x54 { return .put }
        case 4:
            if memcmp(bytes, "POST", 4) == 0 { return .post }
            if memcmp(bytes, "HEAD", 4) == 0 { return .head }
        case 5:
            if memcmp(bytes, "PATCH", 5) == 0 { return .patch }
        case 6:
            if memcmp(bytes, "DELETE", 6) == 0 { return .delete }
        case 7:
            if memcmp(bytes, "OPTIONS", 7) == 0 { return .options }
        default: break
        }
        return .other
    }

    /// Returns the path from the start of a request that could not be parsed. `nil` if the path is incomplete.
    static func path(ofUnparsed bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        // Empty lines before the request line are skipped (RFC 9112 2.2).
        let line = bytes.drop { $0 == 0x0D || $0 == 0x0A }.prefix { $0 != 0x0D && $0 != 0x0A }
        guard let method = line.firstIndex(of: 0x20) else { return nil }
        let target = line[(method + 1)...]
        guard let end = target.firstIndex(where: { $0 == 0x20 || $0 == UInt8(ascii: "?") }) else { return nil }
        return UnsafeBufferPointer(rebasing: target[..<end])
    }

    // MARK: Field lines

    /// Parses `field-name ":" OWS field-value OWS CRLF` without space before the colon (RFC 9112 5.1) or folding (5.2).
    @inline(__always)
    private func field(_ base: Bytes, _ start: Int, _ lineFeed: Int, _ head: RequestHead) -> Reason? {
        let end = lineFeed &- 1
        guard end > start, base[end] == 0x0D, let name = self.names.name(of: base + start, lineFeed &+ 1 &- start)
        else { return .requestMalformed }
        var role = name.role
        var valueStart = start &+ name.count &+ 1
        var valueEnd = end
        while valueStart < valueEnd, base[valueStart] == 0x20 || base[valueStart] == 0x09 { valueStart &+= 1 }
        while valueEnd > valueStart, base[valueEnd &- 1] == 0x20 || base[valueEnd &- 1] == 0x09 { valueEnd &-= 1 }
        if ByteClass.hasControl(base + valueStart, valueEnd &- valueStart) { return .requestMalformed }
        var isDropped = false
        if name.isAlias {
            // `Content_Length` is not Content-Length to the gateway, but may be to an app behind a CGI-like interface.
            if role != .other, role != .managed { isDropped = true }
            if role != .managed { role = .other }
            if name.hasUnderscore, self.dropsUnderscore { isDropped = true }
        }
        let line = head.fields.count
        let kept = head.fields.append(
            FieldLine(
                name: Slice(start, name.count),
                value: Slice(valueStart, valueEnd &- valueStart),
                lineStart: UInt32(truncatingIfNeeded: start),
                lineEnd: UInt32(truncatingIfNeeded: lineFeed &+ 1),
                role: role,
                isDropped: isDropped
            )
        )
        guard kept else { return .requestFieldsTooLarge }
        if role != .other { return self.note(role, line, base, head) }
        return nil
    }

    /// Applies the meaning of a known field to the head.
    private func note(_ role: FieldRole, _ line: Int, _ base: Bytes, _ head: RequestHead) -> Reason? {
        let isFirst = head.note(role, at: line)
        if !isFirst, role.isSingleton {
            switch role {
            case .host: return .requestHost
            case .contentLength, .transferEncoding: return .requestFraming
            case .authorization, .sessionToken, .dpop: return .credentialRepeated
            default: return .requestMalformed
            }
        }
        let value = head.fields[line].value.bytes(in: base)
        switch role {
        case .contentLength:
            // One number is accepted. Two parsers can read a list or a sign as different lengths (RFC 9112 6.3).
            guard let length = ByteClass.decimal(value) else { return .requestFraming }
            if head.hasTransferEncoding { return .requestFraming }
            head.framing = .length(length)
        case .transferEncoding:
            guard head.minorVersion == 1, ByteClass.equal(value, "chunked"), head.framing == .none else {
                return .requestFraming
            }
            head.framing = .chunked
            head.hasTransferEncoding = true
        case .expect:
            guard ByteClass.equal(value, "100-continue") else { return .requestExpectation }
            head.expectsContinue = head.minorVersion == 1
            head.fields[line].isDropped = true
        case .host:
            guard HostField.isValid(value) else { return .requestHost }
        case .managed, .forwardedFor, .forwarded, .requestID, .native, .userAddress, .wantedPage:
            head.fields[line].isDropped = true
        case .te:
            head.fields[line].isDropped = true
            Self.noteTransferCodings(value, in: head)
        case .cookie where !isFirst:
            // HTTP/2 clients divide their cookies (RFC 9113 8.2.3), and some proxies forward the parts as separate
            // fields. The length limit applies to all parts joined as one field.
            head.hasSeveralCookies = true
            if head.cookieByteCount > self.limits.field { return .requestFieldsTooLarge }
        default:
            if role.isHopByHop { head.fields[line].isDropped = true }
        }
        return nil
    }

    /// Reads `TE` (RFC 9110 10.1.4). Not inlined because few clients send it.
    @inline(never)
    private static func noteTransferCodings(_ value: UnsafeBufferPointer<UInt8>, in head: RequestHead) {
        ByteClass.forEachElement(of: value) { coding in
            if ByteClass.equal(coding, "trailers") { head.acceptsTrailers = true }
        }
    }

    // MARK: The whole head

    private func conclude(_ base: Bytes, _ head: RequestHead) -> Reason? {
        if let host = head.line(.host) {
            let authority = head.fields[host].value
            if !head.authority.isEmpty {
                // The authority of absolute-form must equal Host. Otherwise, an intermediary and the gateway may serve
                // different hosts (RFC 9112 3.2.2).
                guard ByteClass.equalIgnoringCase(head.authority.bytes(in: base), authority.bytes(in: base)) else {
                    return .requestHost
                }
            }
            head.authority = authority
        } else if head.minorVersion != 0 || !self.allowsMissingHost {
            return .requestHost
        } else if !head.authority.isEmpty, !HostField.isValid(head.authority.bytes(in: base)) {
            return .requestHost
        }
        if head.framing == .length(0) { head.framing = .none }
        if head.line(.connection) != nil { return self.connection(base, head) }
        return nil
    }

    /// Applies `Connection`: persistence, upgrade, and the fields to remove from the message (RFC 9110 7.6.1).
    private func connection(_ base: Bytes, _ head: RequestHead) -> Reason? {
        var refusal: Reason?
        var closes = false
        var upgrades = false
        for index in 0..<head.fields.count where head.fields[index].role == .connection {
            ByteClass.forEachElement(of: head.fields[index].value.bytes(in: base)) { token in
                if ByteClass.equal(token, "close") {
                    closes = true
                } else if ByteClass.equal(token, "keep-alive") {
                    head.keepsAlive = true
                } else if ByteClass.equal(token, "upgrade") {
                    upgrades = true
                } else if let refused = self.nominated(token, base, head) {
                    refusal = refused
                }
            }
        }
        if let refusal { return refusal }
        if closes { head.keepsAlive = false }
        if upgrades, let upgrade = head.value(.upgrade, in: base), ByteClass.equal(upgrade, "websocket"),
            head.knownMethod == .get, head.minorVersion == 1, head.framing == .none
        {
            head.isWebSocketUpgrade = true
        }
        return nil
    }

    /// Removes a field that `Connection` names. Rejects the request if the gateway interprets or sets the field, unless
    /// it belongs to a trace, because the app might drop the gateway's value (CVE-2024-45410, GHSA-w9mr-28mw-j8hg).
    private func nominated(_ token: UnsafeBufferPointer<UInt8>, _ base: Bytes, _ head: RequestHead) -> Reason? {
        for byte in token where self.table[Int(byte)] == 0 { return .requestMalformed }
        let role = self.names.role(of: token)
        if role.isHopByHop { return nil }
        guard role == .other || role.isOfTrace else { return .requestConnectionNamesIdentity }
        head.connectionListsFields = true
        for index in 0..<head.fields.count {
            if ByteClass.equalIgnoringCase(head.fields[index].name.bytes(in: base), token) {
                head.fields[index].isDropped = true
            }
        }
        return nil
    }
}

/// The accepted grammar of `Host`: a name or an address, followed by an optional port.
package enum HostField {
    /// Whether `value` is `uri-host [":" port]` (RFC 9110 7.2) without userinfo, path, list or percent-encoding.
    package static func isValid(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = value.first, value.count <= 255 else { return false }
        var index = 0
        if first == 0x5B {  // "[": an IPv6 address
            index = 1
            while index < value.count, value[index] != 0x5D {
                let byte = value[index]
                guard Hexadecimal.value(byte) != nil || byte == 0x3A || byte == 0x2E else { return false }
                index += 1
            }
            guard index > 2, index < value.count else { return false }
            index += 1
        } else {
            guard let base = value.baseAddress else { return false }
            while index < value.count, value[index] != 0x3A {
                let length = ByteClass.nameLength(base + index, value.count - index, besides: 0x2E)
                if length == 0, value[index] != 0x5F { return false }
                index &+= max(length, 1)
            }
            guard index > 0 else { return false }
        }
        if index == value.count { return true }
        guard value[index] == 0x3A else { return false }
        guard let port = ByteClass.decimal(UnsafeBufferPointer(rebasing: value[(index + 1)...])) else { return false }
        return port <= 65_535
    }

}
