import Glibc
package import NIOCore
package import Observability
import Settings

/// What the gateway adds to the head for the app.
package struct ForwardedFacts {
    /// The client's address as text.
    package var address: [UInt8]
    /// The public host.
    package var host: Pinned<HostEntry>
    package var requestID: RequestID
    /// The lines about the user. `nil` if the app receives no identity.
    package var identity: IdentityLines?
    /// The trace that the app joins. `nil` if the client's trace fields are forwarded unchanged.
    package var trace: ForwardedTrace?
}

/// The trace context for the app.
package struct ForwardedTrace {
    package let trace: TraceID
    /// The parent of the app's spans.
    let span: UInt64
    let isRecorded: Bool
    /// True if the client's `tracestate` is forwarded, because the trace is the client's.
    let keepsState: Bool

    /// Creates a recorded trace.
    init(_ trace: TraceID, span: UInt64, keepsState: Bool) {
        self.trace = trace
        self.span = span
        self.isRecorded = true
        self.keepsState = keepsState
    }

    /// Creates a trace that is not recorded. The span's id is taken from the trace's id, because no span is written.
    init(unrecorded trace: TraceID) {
        self.trace = trace
        self.span = trace.low == 0 ? trace.high : trace.low
        self.isRecorded = false
        self.keepsState = false
    }

    /// Writes the line `traceparent`.
    ///
    /// - Parameter requestID: The request id. The previous line ends with it.
    @inline(__always)
    func write(to writer: inout ByteWriter, after requestID: RequestID) {
        let length = writer.count
        writer.write("traceparent: 00-")
        if requestID.given == nil, requestID.seed == self.trace.high, requestID.sequence == self.trace.low {
            // Copies the digits from the end of the previous line.
            writer.writeAgain(from: length &- 34, 32)
        } else {
            writer.writeHexadecimal(self.trace.high)
            writer.writeHexadecimal(self.trace.low)
        }
        writer.write(0x2D)
        if self.span == self.trace.low {
            writer.writeAgain(from: writer.count &- 17, 16)
        } else {
            writer.writeHexadecimal(self.span)
        }
        writer.write(self.isRecorded ? "-01\r\n" : "-00\r\n")
    }
}

/// Writes the head for the app from the client's lines and the lines of the route and the gateway.
package enum RequestWriter {
    /// Writes the head. Lines that a client may not send are always dropped, even if the gateway writes no such line
    /// (CVE-2026-30851).
    @inline(__always)
    package static func write(
        _ head: RequestHead,
        _ base: Bytes,
        permit: borrowing Permit,
        credentials: Credentials,
        facts: ForwardedFacts,
        own names: OwnNames,
        into buffer: inout ByteBuffer
    ) {
        permit.pinnedRoute.use { Self.write(head, base, on: $0, credentials, facts, names, into: &buffer) }
    }

    @inline(__always)
    private static func write(
        _ head: RequestHead,
        _ base: Bytes,
        on route: RouteEntry,
        _ credentials: Credentials,
        _ facts: ForwardedFacts,
        _ names: OwnNames,
        into buffer: inout ByteBuffer
    ) {
        let lines =
            (facts.identity?.count ?? 0) + facts.host.use { $0.forwardedLines.count } + route.lines.count
            + (route.takesHostLine ? facts.host.use { $0.hostLine.count } : 0)
        var room = head.byteCount + lines + 384
        if route.changesPath { room += AppReferences.growth(head, base, on: route) }
        if route.tellsAddress { room += route.room(forAddress: facts.address) }
        buffer.append(atMost: room) { writer in
            writer.write(base + head.method.start, head.method.length)
            writer.write(0x20)
            if credentials.handoffParameter == nil, !route.changesPath {
                writer.write(base + head.target.start, head.target.length)
            } else {
                Self.writeTarget(head, base, route, credentials, names.parameter, &writer)
            }
            writer.write(" HTTP/1.1\r\n")
            if route.takesHostLine { facts.host.use { writer.write($0.hostLine) } }
            writer.write(route.lines)
            if route.tellsAddress { route.write(address: facts.address, &writer) }
            Self.writeFields(head, base, route, credentials, facts.host, facts.trace, names, &writer)
            writer.write("X-Forwarded-For: ")
            writer.write(facts.address)
            writer.write("\r\n")
            facts.host.use { writer.write($0.forwardedLines) }
            writer.write("X-Request-Id: ")
            facts.requestID.write(to: &writer)
            writer.write("\r\n")
            if let trace = facts.trace { trace.write(to: &writer, after: facts.requestID) }
            if case .byStream = head.framing { writer.write("Transfer-Encoding: chunked\r\n") }
            if head.isWebSocketUpgrade { writer.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
            if let identity = facts.identity {
                identity.session.withUnsafeBufferPointer { writer.write($0) }
                if let assertion = identity.assertion { assertion.withUnsafeBufferPointer { writer.write($0) } }
            }
            writer.write("\r\n")
        }
    }

    /// Writes the target with the app's path and without the handoff parameter.
    private static func writeTarget(
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ parameter: HandoffParameter,
        _ writer: inout ByteWriter
    ) {
        if let prefixes = route.prefixes {
            prefixes.writeOwn(head.path.bytes(in: base), &writer)
        } else {
            writer.write(base + head.path.start, head.path.length)
        }
        if credentials.handoffParameter == nil {
            writer.write(base + head.path.end, head.target.end - head.path.end)
        } else {
            Self.writeQuery(head, base, parameter, &writer)
        }
    }

    /// Writes the target without the handoff parameter.
    package static func writeTarget(
        _ head: RequestHead,
        _ base: Bytes,
        _ parameter: HandoffParameter,
        _ writer: inout ByteWriter
    ) {
        writer.write(base + head.path.start, head.path.length)
        Self.writeQuery(head, base, parameter, &writer)
    }

    /// True if the app receives `Referer` without its query, because the query contains the handoff parameter.
    static func shortensReferer(
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ parameter: HandoffParameter
    ) -> Bool {
        guard let line = head.line(.referer), !route.settings.passesHandoffToApp else { return false }
        return Self.endOfReferer(head.fields[line].value, base, parameter) != nil
    }

    /// Writes the query without the handoff parameter.
    private static func writeQuery(
        _ head: RequestHead,
        _ base: Bytes,
        _ parameter: HandoffParameter,
        _ writer: inout ByteWriter
    ) {
        var mark: UInt8? = 0x3F
        parameter.forEachForwardedRun(of: head.query, base) { kept in
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
        _ host: Pinned<HostEntry>,
        _ trace: ForwardedTrace?,
        _ names: OwnNames,
        _ writer: inout ByteWriter
    ) {
        // Adjacent kept lines are copied as one run.
        var runStart = head.fieldsStart
        var index = 0
        let count = head.fields.count
        let edits = route.editsRequests
        var hasCookies = false
        while index < count {
            let line = head.fields[index]
            var drops = line.isDropped || (edits && route.removes(line.name.bytes(in: base)))
            var rewritesCookie = false
            var refererEnd = 0
            var isReference = false
            switch line.role {
            case .other: break
            case .authorization: drops = drops || credentials.dropsAuthorization || route.replacesAuthorization
            case .sessionToken: drops = drops || !route.leavesSessionToken
            case .dpop: drops = drops || route.ownsBearer
            case .host: drops = true
            case .methodOverride: drops = drops || route.dropsMethodOverride
            case .traceParent: drops = drops || trace != nil
            case .traceState: drops = drops || trace?.keepsState == false
            case .cookie:
                if Self.rewritesCookies(head, route, credentials) {
                    drops = true
                    rewritesCookie = !hasCookies
                    hasCookies = true
                }
            case .referer:
                if !drops, !route.settings.passesHandoffToApp,
                    let end = Self.endOfReferer(line.value, base, names.parameter)
                {
                    drops = true
                    refererEnd = end
                }
            case .destination, .condition:
                if !drops, route.changesReferences {
                    drops = true
                    isReference = true
                }
            default: break
            }
            if drops {
                writer.write(base + runStart, Int(line.lineStart) &- runStart)
                runStart = Int(line.lineEnd)
                if rewritesCookie {
                    Self.writeCookies(head, base, route, host.use { names.cookies(of: $0) }, &writer)
                }
                if refererEnd > 0 {
                    writer.write(base + line.name.start, refererEnd &- line.name.start)
                    writer.write("\r\n")
                }
                if isReference {
                    host.use {
                        Self.writeReferences(of: line, base, AppReferences(route, publicOrigin: $0.origin), &writer)
                    }
                }
            }
            index &+= 1
        }
        writer.write(base + runStart, head.byteCount &- 2 &- runStart)
    }

    /// Writes a client's line with its references rewritten for the app.
    private static func writeReferences(
        of line: FieldLine,
        _ base: Bytes,
        _ references: AppReferences?,
        _ writer: inout ByteWriter
    ) {
        let value = line.value.bytes(in: base)
        writer.write(base + line.name.start, line.value.start - line.name.start)
        if line.role == .destination {
            references?.write(value, &writer)
        } else {
            references?.writeCondition(value, &writer)
        }
        writer.write("\r\n")
    }

    /// Returns the offset of the query in a `Referer` that contains the handoff parameter. The query is dropped,
    /// because the token may still be valid. `nil` if the field is forwarded unchanged.
    @inline(__always)
    private static func endOfReferer(_ value: Slice, _ base: Bytes, _ parameter: HandoffParameter) -> Int? {
        guard let mark = memchr(base + value.start, 0x3F, value.length) else { return nil }
        let end = UnsafeRawPointer(mark) - UnsafeRawPointer(base)
        return parameter.occurs(in: Slice(end, value.end - end), base) ? end : nil
    }

    /// True if the client's `Cookie` lines are replaced by one rewritten line.
    @inline(__always)
    static func rewritesCookies(_ head: RequestHead, _ route: RouteEntry, _ credentials: Credentials) -> Bool {
        head.hasSeveralCookies || credentials.cookies.session.isThere || credentials.cookies.attempt.isThere
            || credentials.cookies.handled.isThere
            || credentials.cookies.hasCompanion
            || (credentials.cookies.handoff.isThere && !route.settings.passesHandoffToApp)
            || (credentials.cookies.provider.isThere && !route.isPublic)
    }

    /// Appends the `Cookie` line for the app to the lines of an answer to a check (forward auth).
    static func appendCookies(
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ cookies: OwnCookies,
        to lines: inout [UInt8]
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: head.byteCount + 2) { room in
            guard let start = room.baseAddress else { return }
            var writer = ByteWriter(start)
            Self.writeCookies(head, base, route, cookies, &writer)
            lines.append(contentsOf: UnsafeBufferPointer(start: start, count: writer.count))
        }
    }

    /// Writes all `Cookie` lines as one line, without the gateway's cookies. Writes nothing if none are left.
    private static func writeCookies(
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ cookies: OwnCookies,
        _ writer: inout ByteWriter
    ) {
        var isEmpty = true
        for index in 0..<head.fields.count where head.fields[index].role == .cookie {
            let line = head.fields[index]
            var isFirst = true
            cookies.forEachForwardedRun(
                of: line.value,
                base,
                dropsHandoff: !route.settings.passesHandoffToApp,
                dropsProviderCookie: !route.isPublic
            ) { kept in
                if isEmpty {
                    writer.write(base + line.name.start, line.value.start - line.name.start)
                } else if isFirst {
                    writer.write("; ")
                }
                isEmpty = false
                isFirst = false
                writer.write(base + kept.start, kept.length)
            }
        }
        if !isEmpty { writer.write("\r\n") }
    }
}

extension RequestHead {
    /// Returns the target without the handoff parameter, otherwise unchanged.
    func target(in base: Bytes, without parameter: HandoffParameter) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: self.target.length + 1) { room in
            guard let start = room.baseAddress else { return "/" }
            var writer = ByteWriter(start)
            if self.hasQuery {
                RequestWriter.writeTarget(self, base, parameter, &writer)
            } else {
                writer.write(base + self.path.start, self.path.length)
            }
            return String(decoding: UnsafeBufferPointer(start: start, count: writer.count), as: UTF8.self)
        }
    }
}
