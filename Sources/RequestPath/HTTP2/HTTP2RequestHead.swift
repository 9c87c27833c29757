import Glibc
package import NIOCore
package import Vocabulary

/// Writes the head of an HTTP/2 request as HTTP/1, so that one parser reads the requests of both protocols.
///
/// HTTP/2 names and values may contain any bytes, even line ends. Everything that the parser could misread is refused
/// first (RFC 9113 8.2, 8.3, 10.3). The parser then finds at most one head and no bytes after it.
package struct HTTP2RequestHead {
    /// The result of writing the head.
    package enum Outcome: Equatable, Sendable {
        case written
        /// The fields are not a valid HTTP/2 request. The stream must be reset (RFC 9113 8.1.1).
        case malformed
        /// The request must be refused with this reason.
        case refused(Reason)
    }

    /// The maximum number of `Cookie` fields in a request. Browsers send one for each cookie (RFC 9113 8.2.3).
    package static let maxCookieFields = 256
    /// The overhead added to the size of each field (`SETTINGS_MAX_HEADER_LIST_SIZE`, RFC 9113 6.5.2).
    package static let fieldOverhead = 32

    private enum Pseudo: Int, CaseIterable { case method, path, scheme, authority, `protocol` }

    private let limits: HeadLimits
    /// The field lines. `values` holds the pseudo-fields and `Host`, `cookies` holds the `Cookie` fields.
    private var lines: [UInt8] = []
    private var values: [UInt8] = []
    private var cookies: [UInt8] = []
    private var pseudo: [Slice?] = Array(repeating: nil, count: Pseudo.allCases.count)
    private var host: Slice?
    private var contentLength: Int?
    private var crumbCount = 0
    private var hasFields = false
    private var isMalformed = false
    private var refusal: Reason?
    /// The size of all fields in bytes, each with its overhead.
    package private(set) var byteCount = 0

    package init(limits: HeadLimits) {
        self.limits = limits
    }

    /// True if the fields are so large that the stream is reset instead of answering the request.
    package var isFarTooLarge: Bool { self.byteCount > 4 * self.limits.fields }

    /// True if the request opens a WebSocket (RFC 8441). Valid once the pseudo-fields are added.
    package var opensWebSocket: Bool { self.value(.protocol)?.elementsEqual("websocket".utf8) ?? false }

    /// True if the request declares a content length of 0.
    package var declaresNoContent: Bool { self.contentLength == 0 }

    /// Removes all fields. Keeps memory of the usual size.
    package mutating func begin() {
        let isUsual = self.lines.capacity <= 4096 && self.values.capacity <= 4096 && self.cookies.capacity <= 4096
        self.lines.removeAll(keepingCapacity: isUsual)
        self.values.removeAll(keepingCapacity: isUsual)
        self.cookies.removeAll(keepingCapacity: isUsual)
        for index in self.pseudo.indices { self.pseudo[index] = nil }
        self.host = nil
        self.contentLength = nil
        self.crumbCount = 0
        self.hasFields = false
        self.isMalformed = false
        self.refusal = nil
        self.byteCount = 0
    }

    // MARK: Fields

    /// Adds a field.
    package mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        self.byteCount &+= name.count &+ value.count &+ Self.fieldOverhead
        // libnghttp2 reads all fields to keep its compression table correct. Fields above the limit are not stored.
        guard self.byteCount <= self.limits.fields else { return self.refuse(.requestFieldsTooLarge) }
        guard let first = name.first, Self.isValue(value) else { return self.isMalformed = true }
        if first == 0x3A { return self.appendPseudo(name, value) }
        self.hasFields = true
        guard Self.isToken(name, allowsUpperCase: false) else { return self.isMalformed = true }
        switch self.meaning(name, value) {
        case .line: self.appendLine(name, value)
        case .cookie: self.appendCrumb(value)
        case .host:
            // Of several `Host` fields, readers could choose different ones.
            guard self.host == nil else { return self.refuse(.requestHost) }
            self.host = self.keep(value)
        case .nothing: break
        case .malformed: self.isMalformed = true
        }
    }

    private enum Meaning { case line, cookie, host, nothing, malformed }

    /// Returns what a regular field means for the head.
    private mutating func meaning(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Meaning {
        switch name.count {
        case 2 where ByteClass.equal(name, "te"):
            return ByteClass.equal(value, "trailers") ? .nothing : .malformed
        case 4 where ByteClass.equal(name, "host"):
            return .host
        case 6 where ByteClass.equal(name, "cookie"):
            return .cookie
        case 7 where ByteClass.equal(name, "upgrade"),
            10 where ByteClass.equal(name, "connection") || ByteClass.equal(name, "keep-alive"),
            14 where ByteClass.equal(name, "http2-settings"),
            16 where ByteClass.equal(name, "proxy-connection"),
            17 where ByteClass.equal(name, "transfer-encoding"):
            // HTTP/2 forbids the hop-by-hop and framing fields of HTTP/1 (RFC 9113 8.2.2).
            return .malformed
        case 14 where ByteClass.equal(name, "content-length"):
            guard self.contentLength == nil, let length = ByteClass.decimal(value) else { return .malformed }
            self.contentLength = length
            return .line
        case 17 where ByteClass.equal(name, "sec-websocket-key"):
            // The gateway creates its own key for the app (RFC 8441 5).
            return self.opensWebSocket ? .nothing : .line
        default:
            return .line
        }
    }

    private mutating func appendPseudo(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        let known: Pseudo? =
            switch name.count {
            case 5 where ByteClass.equal(name, ":path"): .path
            case 7 where ByteClass.equal(name, ":method"): .method
            case 7 where ByteClass.equal(name, ":scheme"): .scheme
            case 9 where ByteClass.equal(name, ":protocol"): .protocol
            case 10 where ByteClass.equal(name, ":authority"): .authority
            default: nil
            }
        // Pseudo-field names are in lower case.
        guard let known, !self.hasFields, self.pseudo[known.rawValue] == nil, Self.isLowerCase(name) else {
            return self.isMalformed = true
        }
        self.pseudo[known.rawValue] = self.keep(value)
    }

    private mutating func appendLine(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        self.lines.append(contentsOf: name)
        self.lines.append(0x3A)
        self.lines.append(0x20)
        self.lines.append(contentsOf: value)
        self.lines.append(0x0D)
        self.lines.append(0x0A)
    }

    /// Adds the value of a `Cookie` field. The app receives all of them as one field (RFC 9113 8.2.3).
    private mutating func appendCrumb(_ value: UnsafeBufferPointer<UInt8>) {
        self.crumbCount += 1
        guard self.crumbCount <= Self.maxCookieFields, self.cookies.count + value.count + 2 <= self.limits.field else {
            return self.refuse(.requestFieldsTooLarge)
        }
        guard !value.isEmpty else { return }
        if !self.cookies.isEmpty { self.cookies += [0x3B, 0x20] }
        self.cookies.append(contentsOf: value)
    }

    private mutating func keep(_ value: UnsafeBufferPointer<UInt8>) -> Slice {
        defer { self.values.append(contentsOf: value) }
        return Slice(self.values.count, value.count)
    }

    /// Records a refusal unless there is already one.
    private mutating func refuse(_ reason: Reason) {
        if self.refusal == nil { self.refusal = reason }
    }

    // MARK: The head

    /// Writes the head into the empty `buffer`.
    ///
    /// - Parameters:
    ///   - isSecure: True if the connection uses TLS.
    ///   - endsStream: True if the request has no body.
    ///   - webSocketKey: The value of `Sec-WebSocket-Key` if the request opens a WebSocket.
    package func write(
        isSecure: Bool,
        endsStream: Bool,
        webSocketKey: [UInt8] = [],
        into buffer: inout ByteBuffer
    ) -> Outcome {
        if self.isMalformed { return .malformed }
        if let refusal { return .refused(refusal) }
        guard let method = self.value(.method), let scheme = self.value(.scheme) ?? self.schemeOfConnect(method) else {
            return .malformed
        }
        if let outcome = self.checkMethod(method, endsStream: endsStream) { return outcome }
        guard Self.isScheme(scheme, isSecure: isSecure), let path = self.value(.path),
            Self.isPath(path, of: method)
        else { return .refused(.requestTarget) }
        guard let authority = self.authorityOrHost else { return .refused(.requestHost) }
        if let length = self.contentLength, length > 0, endsStream { return .malformed }
        if self.opensWebSocket { buffer.writeStaticString("GET") } else { buffer.writeBytes(method) }
        buffer.writeStaticString(" ")
        buffer.writeBytes(path)
        buffer.writeStaticString(" HTTP/1.1\r\nHost: ")
        buffer.writeBytes(authority)
        buffer.writeStaticString("\r\n")
        if self.opensWebSocket {
            buffer.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ")
            buffer.writeBytes(webSocketKey)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeBytes(self.lines)
        if !self.cookies.isEmpty {
            buffer.writeStaticString("Cookie: ")
            buffer.writeBytes(self.cookies)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString("\r\n")
        return .written
    }

    /// Writes the known part of a refused head. Used only to choose the form of the refusal.
    package func writeRefused(into buffer: inout ByteBuffer) {
        if let method = self.value(.method) { buffer.writeBytes(method) }
        buffer.writeStaticString(" ")
        if let path = self.value(.path) { buffer.writeBytes(path) }
        buffer.writeStaticString(" HTTP/1.1\r\n")
        buffer.writeBytes(self.lines)
    }

    /// Returns an empty scheme for `CONNECT` without `:protocol` (RFC 9113 8.5). The method is refused later.
    private func schemeOfConnect(_ method: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        method.elementsEqual("CONNECT".utf8) ? [] : nil
    }

    /// Returns the outcome for an invalid method. `nil` if the method is valid.
    private func checkMethod(_ method: ArraySlice<UInt8>, endsStream: Bool) -> Outcome? {
        let isToken = method.withUnsafeBufferPointer { Self.isToken($0, allowsUpperCase: true) }
        guard isToken else { return .refused(.requestMethod) }
        let connects = method.elementsEqual("CONNECT".utf8)
        guard let wanted = self.value(.protocol) else { return connects ? .refused(.requestMethod) : nil }
        // `:protocol` requires CONNECT (RFC 8441 4), and a tunnel has no length.
        guard connects, self.contentLength == nil, !endsStream else { return .malformed }
        return wanted.elementsEqual("websocket".utf8) ? nil : .refused(.requestProtocol)
    }

    /// The host in `:authority` or `Host`. `nil` if it is missing or invalid, or if the fields differ.
    private var authorityOrHost: ArraySlice<UInt8>? {
        let host = self.host.map { self.values[$0.start..<$0.end] }
        guard let authority = self.value(.authority) ?? host else { return nil }
        return authority.withUnsafeBufferPointer { bytes in
            guard HostField.isValid(bytes) else { return nil }
            guard let host else { return authority }
            return host.withUnsafeBufferPointer { ByteClass.equalIgnoringCase($0, bytes) } ? authority : nil
        }
    }

    private func value(_ field: Pseudo) -> ArraySlice<UInt8>? {
        self.pseudo[field.rawValue].map { self.values[$0.start..<$0.end] }
    }

    // MARK: Bytes

    /// True if the name and value form a valid field that is no pseudo-field (RFC 9113 8.2.1).
    static func isField(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        self.isValue(value) && self.isToken(name, allowsUpperCase: false)
    }

    /// True if `path` is a path with or without a query, or `*` with OPTIONS. Other values could be read as a URL of
    /// another host (CVE-2021-39240) or end the request target.
    private static func isPath(_ path: ArraySlice<UInt8>, of method: ArraySlice<UInt8>) -> Bool {
        guard path.first == 0x2F else { return path.elementsEqual("*".utf8) && method.elementsEqual("OPTIONS".utf8) }
        return path.allSatisfy { $0 &- 0x21 < 0x5E && $0 != 0x23 }
    }

    /// True if the scheme is allowed. `https` is also allowed without TLS, because a proxy may have terminated TLS (RFC
    /// 9113 8.3.1). HAProxy always sends `https`.
    private static func isScheme(_ scheme: ArraySlice<UInt8>, isSecure: Bool) -> Bool {
        scheme.elementsEqual("https".utf8) || !isSecure && scheme.elementsEqual("http".utf8)
    }

    private static func isToken(_ name: UnsafeBufferPointer<UInt8>, allowsUpperCase: Bool) -> Bool {
        let table = ByteClass.normalizedToken
        for byte in name where table[Int(byte)] == 0 { return false }
        return !name.isEmpty && (allowsUpperCase || self.isLowerCase(name))
    }

    private static func isLowerCase(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        for byte in name where byte &- 0x41 < 26 { return false }
        return true
    }

    /// True if a value has no control characters and no white space at its ends (RFC 9113 8.2.1).
    private static func isValue(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = value.baseAddress, let first = value.first, let last = value.last else { return true }
        if first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 { return false }
        return !ByteClass.hasControl(base, value.count)
    }
}
