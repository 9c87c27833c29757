/// One field line of a head, by offsets into its buffer.
package struct FieldLine {
    package var name: Slice
    package var value: Slice
    /// The offsets at which this line and the next one begin.
    package var lineStart: UInt32
    package var lineEnd: UInt32
    package var role: FieldRole
    /// Whether the line is not forwarded.
    package var isDropped: Bool
}

/// The field lines of one head, in storage that is reused for the next head.
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

    /// Appends a line; false when there is no room.
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

/// How the end of a message body is found (RFC 9112 6.3).
package enum BodyFraming: Equatable, Sendable {
    case none
    case length(Int)
    case chunked
    /// Responses only: the body ends with the connection.
    case untilClose
    /// Requests of HTTP/2 only: the body ends with its stream (RFC 9113 8.1).
    case byStream

    /// Whether it says that there is no body.
    @inline(__always)
    package var isEmpty: Bool {
        switch self {
        case .none, .length(0): true
        case .length, .chunked, .untilClose, .byStream: false
        }
    }
}

/// The request that routing, authorisation, logging and forwarding all read.
///
/// Slices refer to the buffer from which the head was parsed. Each loop has one object that is filled again for each
/// request; an exchange that has to wait takes it and returns it later.
package final class RequestHead {
    package var fields: FieldLines
    package var method = Slice.empty
    /// The whole request target as sent, origin-form part only: path and query.
    package var target = Slice.empty
    /// The path without the query.
    package var path = Slice.empty
    /// The query without its `?`; empty when there is none.
    package var query = Slice.empty
    package var hasQuery = false
    /// `Host`, validated.
    package var authority = Slice.empty
    package var minorVersion = 1
    /// The length of the head with its empty line: the offset of the body.
    package var byteCount = 0
    /// The offset of the field lines.
    package var fieldsStart = 0
    package var framing = BodyFraming.none
    package var keepsAlive = true
    package var expectsContinue = false
    package var isWebSocketUpgrade = false
    package var hasTransferEncoding = false
    /// Whether the client takes trailers of the answer (RFC 9110 10.1.4).
    package var acceptsTrailers = false
    /// Whether `Connection` names a field that has no meaning of its own, which may be one of the trailers.
    package var nominates = false
    /// Whether there are two `Cookie` lines or more.
    package var hasSeveralCookies = false
    /// The index of the first line with each role; -1: absent.
    private let firstLines: UnsafeMutablePointer<Int16>
    private static let roleCount = 48
    /// The method, where it is one of the common ones.
    package var knownMethod = KnownMethod.other

    package init(fieldCount: Int) {
        self.fields = FieldLines(capacity: fieldCount)
        self.firstLines = .allocate(capacity: Self.roleCount)
        self.firstLines.initialize(repeating: -1, count: Self.roleCount)
    }

    deinit {
        self.firstLines.deallocate()
    }

    /// The first line with `role`, or nil.
    @inline(__always)
    package func line(_ role: FieldRole) -> Int? {
        let index = self.firstLines[Int(role.rawValue)]
        return index < 0 ? nil : Int(index)
    }

    /// The value of the first field with `role`, or nil.
    @inline(__always)
    package func value(_ role: FieldRole, in base: Bytes) -> UnsafeBufferPointer<UInt8>? {
        guard let index = self.line(role) else { return nil }
        return self.fields[index].value.bytes(in: base)
    }

    /// Records that line `index` has `role`; false when another line already has it.
    @inline(__always)
    func note(_ role: FieldRole, at index: Int) -> Bool {
        guard self.firstLines[Int(role.rawValue)] < 0 else { return false }
        self.firstLines[Int(role.rawValue)] = Int16(truncatingIfNeeded: index)
        return true
    }

    /// The length of all values of `Cookie` when they are joined by `; `.
    var cookieByteCount: Int {
        var count = -2
        for index in 0..<self.fields.count where self.fields[index].role == .cookie {
            count += self.fields[index].value.length + 2
        }
        return count
    }

    /// Makes line `index` the one that `line(role)` finds.
    func choose(_ index: Int, as role: FieldRole) {
        self.firstLines[Int(role.rawValue)] = Int16(truncatingIfNeeded: index)
    }

    /// Whether the target is `*`, which only OPTIONS may have (RFC 9112 3.2.4).
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
        self.nominates = false
        self.hasSeveralCookies = false
        self.hasQuery = false
        self.query = .empty
    }
}

/// The methods that the gateway treats differently.
package enum KnownMethod: UInt8, Sendable {
    case get, head, post, put, patch, delete, options, other

    /// Whether it is safe (RFC 9110 9.2.1), so that it needs no cross-site check.
    @inline(__always)
    package var isSafe: Bool { self == .get || self == .head || self == .options }

    /// Whether it is idempotent (RFC 9110 9.2.2), so that it may be sent again when a reused connection is lost before
    /// a response.
    @inline(__always)
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete: true
        case .post, .patch, .other: false
        }
    }
}
