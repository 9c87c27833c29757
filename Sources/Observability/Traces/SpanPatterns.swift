import Vocabulary

/// The bytes of a span that others are like: what differs in them is written over a copy, and what follows behind it.
@usableFromInline
package struct SpanPattern {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// Where the status and the name of the session are; 0: there is none.
    @usableFromInline let statusAt: Int
    @usableFromInline package let sessionAt: Int
    /// How many bytes of text its last attribute has begun with.
    @usableFromInline package let textCount: Int

    /// Where a span has what differs, counted from its first byte (`SpanBuffer.begin`). The times are moved by the parent's
    /// length where there is one. Not stored, as each use of a constant of another module would be a call.
    @usableFromInline
    enum Place {
        @inlinable static var content: Int { 3 }
        @inlinable static var trace: Int { 5 }
        @inlinable static var span: Int { 23 }
        @inlinable static var parent: Int { 33 }
        @inlinable static var parentLength: Int { 10 }
        @inlinable static var start: Int { 34 }
        @inlinable static var end: Int { 43 }
    }
}

/// What the spans of a pattern have alike.
@usableFromInline
package struct SpanLikeness {
    /// The numbers of runs (`SpanRun.number`); 0: none.
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
    /// All else, as bits of the user's choice; not 0.
    @usableFromInline let traits: UInt64

    @inlinable @inline(__always)
    package init(_ first: UInt64, _ second: UInt64 = 0, traits: UInt64) {
        self.first = first
        self.second = second
        self.traits = traits
    }

    @inlinable @inline(__always)
    static func == (left: Self, right: Self) -> Bool {
        left.first == right.first && left.second == right.second && left.traits == right.traits
    }

    /// Where its pattern is kept.
    @inlinable @inline(__always)
    var place: Int {
        let mixed = (self.first &* 31 ^ self.second) &* 31 ^ self.traits
        return Int(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) &>> 56)
    }
}

/// The patterns of the spans that one event loop writes. Nearly every span is like a former one, so it is a copy with other
/// ids, times, status and session.
///
/// Confined to its loop; not `Sendable` on purpose.
@usableFromInline
package final class SpanPatterns {
    @usableFromInline
    struct Kept {
        @usableFromInline var likeness: SpanLikeness
        @usableFromInline var pattern: SpanPattern
    }

    /// As many as `SpanLikeness.place` tells apart. A pattern takes the place of the one that was there.
    private static let count = 256

    @usableFromInline let kept: UnsafeMutablePointer<Kept>
    /// What the patterns' bytes belong to; nil: none was made at this place.
    private var buffers: [SpanBuffer?]
    private let status = SpanKey("http.response.status_code")
    private let session = SpanKey("sallyport.session")

    package init() {
        self.kept = .allocate(capacity: Self.count)
        let none = SpanPattern(
            bytes: UnsafeRawBufferPointer(start: nil, count: 0),
            statusAt: 0,
            sessionAt: 0,
            textCount: 0
        )
        self.kept.initialize(repeating: Kept(likeness: SpanLikeness(0, traits: 0), pattern: none), count: Self.count)
        self.buffers = Array(repeating: nil, count: Self.count)
    }

    deinit {
        self.kept.deallocate()
    }

    /// The pattern of spans that are so; nil: none is kept. It lasts until another one is made.
    @inlinable @inline(__always)
    package func find(_ likeness: SpanLikeness) -> SpanPattern? {
        let kept = self.kept + likeness.place
        return kept.pointee.likeness == likeness ? kept.pointee.pattern : nil
    }

    /// Makes the pattern of spans that are so.
    ///
    /// - Parameters:
    ///   - head: That of one of them.
    ///   - hasStatus: Whether they have the status of an answer.
    ///   - hasSession: Whether they name a session.
    ///   - write: Writes all else; returns how many bytes of text the last attribute begins with, to which others are added.
    @inline(never)
    package func make(
        _ likeness: SpanLikeness,
        _ head: SpanHead,
        hasStatus: Bool,
        hasSession: Bool = false,
        _ write: (SpanBuffer) -> Int
    ) -> SpanPattern {
        let place = likeness.place
        let buffer = self.buffers[place] ?? SpanBuffer(capacity: 512)
        self.buffers[place] = buffer
        buffer.removeAll()
        buffer.begin(head)
        var (statusAt, sessionAt) = (0, 0)
        if hasStatus {
            // Of two bytes, as all are from 128 on.
            buffer.attribute(self.status, 200)
            statusAt = buffer.bytes.count - 2
        }
        if hasSession {
            buffer.attribute(self.session, Fingerprint(0))
            sessionAt = buffer.bytes.count - Fingerprint.length
        }
        let textCount = write(buffer)
        let pattern = SpanPattern(
            bytes: buffer.bytes,
            statusAt: statusAt,
            sessionAt: sessionAt,
            textCount: textCount
        )
        self.kept[place] = Kept(likeness: likeness, pattern: pattern)
        return pattern
    }
}
