/// One field line of a head, as offsets into the head's buffer.
package struct FieldLine {
    package var name: Slice
    package var value: Slice
    /// The offsets of the line and of the next line.
    package var lineStart: UInt32
    package var lineEnd: UInt32
    package var role: FieldRole
    /// Whether forwarding omits the line.
    package var isDropped: Bool
}

/// The field lines of one head. Their storage is reused for the next head.
package struct FieldLines: ~Copyable {
    private let lines: UnsafeMutablePointer<FieldLine>
    package let capacity: Int
    package private(set) var count = 0

    package init(capacity: Int) {
        self.capacity = capacity
        self.lines = .allocate(capacity: capacity)
    }

    deinit {
        self.lines.deallocate()
    }

    @inline(__always)
    package subscript(index: Int) -> FieldLine {
        unsafeAddress {
            precondition(index < self.count)
            return UnsafePointer(self.lines + index)
        }
        unsafeMutableAddress {
            precondition(index < self.count)
            return self.lines + index
        }
    }

    /// Appends a line. Returns false if there are already `capacity` lines.
    @inline(__always)
    package mutating func append(_ line: FieldLine) -> Bool {
        guard self.count < self.capacity else { return false }
        (self.lines + self.count).initialize(to: line)
        self.count &+= 1
        return true
    }

    @inline(__always)
    package mutating func removeAll() {
        self.count = 0
    }
}

/// How the end of a message body is determined (RFC 9112 6.3).
package enum BodyFraming: Equatable, Sendable {
    case none
    case length(Int)
    case chunked
    /// Responses only: the body ends when the connection closes.
    case untilClose
    /// HTTP/2 requests only: the body ends with the stream (RFC 9113 8.1).
    case byStream

    /// Whether the framing means that there is no body.
    @inline(__always)
    package var isEmpty: Bool {
        switch self {
        case .none, .length(0): true
        case .length, .chunked, .untilClose, .byStream: false
        }
    }
}

/// The request head that routing, authorisation, logging and forwarding read.
///
/// Slices refer to the buffer from which the head was parsed. Each loop has one head object and refills it for each
/// request. An exchange that must wait takes the object and returns it later.
package final class RequestHead {
    package var fields: FieldLines
    package var method = Slice.empty
    /// The origin-form part of the request target as sent: path and query, or `*`.
    package var target = Slice.empty
    /// The path without the query.
    package var path = Slice.empty
    /// The query without its `?`. Empty if there is no query.
    package var query = Slice.empty
    package var hasQuery = false
    /// The validated value of `Host`. If `Host` is missing (HTTP/1.0), the target's authority, or empty.
    package var authority = Slice.empty
    package var minorVersion = 1
    /// The length of the head including the empty line, which is the offset of the body.
    package var byteCount = 0
    /// The offset of the first field line.
    package var fieldsStart = 0
    package var framing = BodyFraming.none
    package var keepsAlive = true
    package var expectsContinue = false
    package var isWebSocketUpgrade = false
    package var hasTransferEncoding = false
    /// Whether the client accepts trailers in the answer (RFC 9110 10.1.4).
    package var acceptsTrailers = false
    /// Whether `Connection` lists a field that is not hop-by-hop by definition.
    package var connectionListsFields = false
    /// Whether the head has more than one `Cookie` line.
    package var hasSeveralCookies = false
    /// The index of the first line with each role. -1 if no line has the role.
    private let firstLines: UnsafeMutablePointer<Int16>
    private static let roleCount = 48
    /// The method, or `.other` if the gateway does not distinguish it.
    package var knownMethod = KnownMethod.other

    package init(fieldCount: Int) {
        self.fields = FieldLines(capacity: fieldCount)
        self.firstLines = .allocate(capacity: Self.roleCount)
        self.firstLines.initialize(repeating: -1, count: Self.roleCount)
    }

    deinit {
        self.firstLines.deallocate()
    }

    /// Returns the index of the first line with `role`. Returns `nil` if there is no such line.
    @inline(__always)
    package func line(_ role: FieldRole) -> Int? {
        let index = self.firstLines[Int(role.rawValue)]
        return index < 0 ? nil : Int(index)
    }

    /// Returns the value of the first field with `role`. Returns `nil` if there is no such field.
    @inline(__always)
    package func value(_ role: FieldRole, in base: Bytes) -> UnsafeBufferPointer<UInt8>? {
        guard let index = self.line(role) else { return nil }
        return self.fields[index].value.bytes(in: base)
    }

    /// Records line `index` as the first one with `role`. Returns false if an earlier line has that role.
    @inline(__always)
    func note(_ role: FieldRole, at index: Int) -> Bool {
        guard self.firstLines[Int(role.rawValue)] < 0 else { return false }
        self.firstLines[Int(role.rawValue)] = Int16(truncatingIfNeeded: index)
        return true
    }

    /// The length of all `Cookie` values joined with `; `. The head must have a `Cookie` line.
    var cookieByteCount: Int {
        var count = -2
        for index in 0..<self.fields.count where self.fields[index].role == .cookie {
            count += self.fields[index].value.length + 2
        }
        return count
    }

    /// Makes `line(role)` return `index`.
    func choose(_ index: Int, as role: FieldRole) {
        self.firstLines[Int(role.rawValue)] = Int16(truncatingIfNeeded: index)
    }

    /// Whether the target is `*`, which is valid only for OPTIONS (RFC 9112 3.2.4).
    @inline(__always)
    package func hasAsteriskTarget(in base: Bytes) -> Bool {
        self.path.length == 1 && base[self.path.start] == UInt8(ascii: "*")
    }

    @inline(__always)
    func reset() {
        self.fields.removeAll()
        self.firstLines.update(repeating: -1, count: Self.roleCount)
        self.framing = .none
        self.keepsAlive = true
        self.expectsContinue = false
        self.isWebSocketUpgrade = false
        self.hasTransferEncoding = false
        self.acceptsTrailers = false
        self.connectionListsFields = false
        self.hasSeveralCookies = false
        self.hasQuery = false
        self.query = .empty
    }
}

/// The request methods that the gateway distinguishes.
package enum KnownMethod: UInt8, Sendable {
    case get, head, post, put, patch, delete, options, other

    /// Whether the method is safe (RFC 9110 9.2.1) and needs no cross-site check.
    @inline(__always)
    package var isSafe: Bool { self == .get || self == .head || self == .options }

    /// Whether the method is idempotent (RFC 9110 9.2.2). An idempotent request may be retried if a reused connection
    /// is lost before a response.
    @inline(__always)
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete: true
        case .post, .patch, .other: false
        }
    }
}
