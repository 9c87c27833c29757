package import NIOCore
import Settings
package import Vocabulary

/// Turns a check (a proxy's question whether its client's request is allowed) into the head of the client's request.
package enum Subrequest {
    /// The method, host and target of the original request.
    private struct Original {
        var method: UnsafeBufferPointer<UInt8>
        var authority: UnsafeBufferPointer<UInt8>
        var target: UnsafeBufferPointer<UInt8>
    }

    /// - Parameters:
    ///   - body: The collected body of the check. Empty if the form collects no body.
    ///   - buffer: An empty buffer to write to.
    /// - Throws: `authz.metadata` if the check does not describe exactly one request. `authz.address` if the client's
    ///   address is missing.
    package static func write(
        _ check: RequestHead,
        _ base: Bytes,
        _ body: [UInt8],
        _ form: CheckForm,
        needsAddress: Bool,
        into buffer: inout ByteBuffer
    ) throws(Reason) {
        switch form.source {
        case .head(let source):
            try self.write(check, base, form, source, needsAddress: needsAddress, into: &buffer)
        case .body(let question):
            try question.writeHead(of: body, needsAddress: needsAddress, into: &buffer)
        }
    }

    @inline(__always)
    private static func write(
        _ check: RequestHead,
        _ base: Bytes,
        _ form: CheckForm,
        _ source: CheckForm.HeadSource,
        needsAddress: Bool,
        into buffer: inout ByteBuffer
    ) throws(Reason) {
        // Restrictions are rejected, because ignoring them would admit everybody.
        guard !form.isOAuth2Proxy || Self.restrictions.allSatisfy({ $0.find(in: check.query, base) == nil }) else {
            throw .authorizationMetadata
        }
        let original = try self.original(check, base, source)
        // A method from a field could contain spaces and so change the request line.
        guard !original.method.isEmpty, original.method.allSatisfy({ ByteClass.normalizedToken[Int($0)] != 0 }),
            original.target.first == UInt8(ascii: "/") || original.target.elementsEqual("*".utf8)
        else { throw .authorizationMetadata }
        let address = try self.address(check, base, form, isNeeded: needsAddress)
        buffer.append(atMost: check.byteCount * 2 + 128) { writer in
            writer.write(original.method)
            writer.write(0x20)
            writer.write(original.target)
            writer.write(" HTTP/1.1\r\nHost: ")
            writer.write(original.authority)
            writer.write("\r\n")
            if let address {
                writer.write("X-Forwarded-For: ")
                writer.write(address)
                writer.write("\r\n")
            }
            var isUpgrade = check.isWebSocketUpgrade
            for index in 0..<check.fields.count where self.canBeClient(check.fields[index]) {
                let line = check.fields[index]
                if address != nil, line.role == .forwardedFor { continue }
                writer.write(base + Int(line.lineStart), Int(line.lineEnd &- line.lineStart))
                if self.asksForWebSocket(line, base) { isUpgrade = true }
            }
            if isUpgrade { writer.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
            writer.write("\r\n")
        }
    }

    /// True if the field is one that browsers send when they open a WebSocket. Proxies drop `Upgrade`, and HTTP/2 has
    /// no `Sec-WebSocket-Key` (RFC 8441 5).
    private static func asksForWebSocket(_ line: FieldLine, _ base: Bytes) -> Bool {
        if line.role == .fetchMode { return ByteClass.equal(line.value.bytes(in: base), "websocket") }
        let name = line.name.bytes(in: base)
        return ByteClass.equal(name, "sec-websocket-key") || ByteClass.equal(name, "sec-websocket-version")
    }

    /// True if the field belongs in the client's head: it neither describes the check nor was added by the proxy.
    /// The proxy's `X-Forwarded-For` and request id are kept, because the proxy is trusted.
    private static func canBeClient(_ line: FieldLine) -> Bool {
        switch line.role {
        case .host, .contentLength, .transferEncoding: false
        case .forwardedFor, .requestID, .native, .userAddress: true
        default: !line.isDropped
        }
    }

    private static func original(_ check: RequestHead, _ base: Bytes, _ source: CheckForm.HeadSource) throws(Reason)
        -> Original
    {
        switch source {
        case .fields(.forwarded):
            // The scheme must be present but its value is ignored, because `public_url` determines the scheme.
            _ = try self.value("x-forwarded-proto", check, base)
            return Original(
                method: try self.value("x-forwarded-method", check, base),
                authority: try self.value("x-forwarded-host", check, base),
                target: try self.value("x-forwarded-uri", check, base)
            )
        case .fields(.original):
            let (authority, target) = try self.parts(ofURL: try self.value("x-original-url", check, base))
            return Original(
                method: try self.value("x-original-method", check, base),
                authority: authority,
                target: target
            )
        case .hostAndURI:
            return Original(
                method: UnsafeBufferPointer(start: Self.get.utf8Start, count: Self.get.utf8CodeUnitCount),
                authority: check.authority.bytes(in: base),
                target: try self.value("x-forwarded-uri", check, base)
            )
        case .request(let prefix):
            let target = check.target
            return Original(
                method: check.method.bytes(in: base),
                authority: check.authority.bytes(in: base),
                target: Slice(target.start + prefix, target.length - prefix).bytes(in: base)
            )
        }
    }

    /// Returns the client's address from `X-Real-IP`. `nil` if the form uses `X-Forwarded-For` instead.
    private static func address(_ check: RequestHead, _ base: Bytes, _ form: CheckForm, isNeeded: Bool) throws(Reason)
        -> UnsafeBufferPointer<UInt8>?
    {
        if form.hidesMethod {
            guard let address = self.realIP(check, base) else { throw .authorizationAddress }
            return address
        }
        if isNeeded || form.dialect != .extAuthz, !self.namesClient(check, base) { throw .authorizationAddress }
        return nil
    }

    /// Returns the value of `X-Real-IP`. `nil` unless the field occurs once and contains an address.
    static func realIP(_ head: RequestHead, _ base: Bytes) -> UnsafeBufferPointer<UInt8>? {
        guard let address = try? self.value("x-real-ip", head, base), ForwardedField.address(address) != nil else {
            return nil
        }
        return address
    }

    /// True if `X-Forwarded-For` ends with an address. Otherwise the proxy would be taken for the client.
    private static func namesClient(_ check: RequestHead, _ base: Bytes) -> Bool {
        for index in (0..<check.fields.count).reversed() where check.fields[index].role == .forwardedFor {
            var list = check.fields[index].value.bytes(in: base)
            while !list.isEmpty {
                let comma = list.lastIndex(of: 0x2C)
                let element = ByteClass.trimmed(UnsafeBufferPointer(rebasing: list[(comma.map { $0 + 1 } ?? 0)...]))
                if !element.isEmpty { return ForwardedField.address(element) != nil }
                list = UnsafeBufferPointer(rebasing: list[..<(comma ?? 0)])
            }
        }
        return false
    }

    private static let get: StaticString = "GET"

    /// oauth2-proxy's query parameters that restrict access.
    private static let restrictions = ["allowed_groups", "allowed_emails", "allowed_email_domains"]
        .map { HandoffParameter(name: $0) }

    /// Returns the value of the only field with exactly this name (`X_Forwarded_Uri` does not match).
    private static func value(_ name: StaticString, _ check: RequestHead, _ base: Bytes) throws(Reason)
        -> UnsafeBufferPointer<UInt8>
    {
        var found: UnsafeBufferPointer<UInt8>?
        for index in 0..<check.fields.count where ByteClass.equal(check.fields[index].name.bytes(in: base), name) {
            guard found == nil else { throw .authorizationMetadata }
            found = check.fields[index].value.bytes(in: base)
        }
        guard let found, !found.isEmpty else { throw .authorizationMetadata }
        return found
    }

    /// Splits an absolute URL into its host and the unchanged path and query.
    private static func parts(ofURL url: UnsafeBufferPointer<UInt8>) throws(Reason)
        -> (authority: UnsafeBufferPointer<UInt8>, target: UnsafeBufferPointer<UInt8>)
    {
        for scheme: StaticString in ["https://", "http://"] where url.count > scheme.utf8CodeUnitCount {
            guard ByteClass.equal(UnsafeBufferPointer(rebasing: url[..<scheme.utf8CodeUnitCount]), scheme) else {
                continue
            }
            let rest = UnsafeBufferPointer(rebasing: url[scheme.utf8CodeUnitCount...])
            guard let slash = rest.firstIndex(where: { $0 == 0x2F || $0 == 0x3F }), rest[slash] == 0x2F else { break }
            return (UnsafeBufferPointer(rebasing: rest[..<slash]), UnsafeBufferPointer(rebasing: rest[slash...]))
        }
        throw .authorizationMetadata
    }
}
