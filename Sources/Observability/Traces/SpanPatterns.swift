import Vocabulary

/// The encoded bytes of a typical span. A new span overwrites the differing parts of a copy, and appends the rest.
@usableFromInline
package struct SpanPattern {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// The position of the status. `sessionAt` is the session's position. 0 if the pattern has no such part.
    @usableFromInline let statusAt: Int
    @usableFromInline package let sessionAt: Int
    /// The number of bytes of text with which the last attribute begins.
    @usableFromInline package let textCount: Int

    /// The positions of the differing parts, relative to the first byte of a span (`SpanBuffer.begin`). If there is a
    /// parent, add `parentLength` to `start` and `end`. Computed, because a stored constant of another module would
    /// cost a call at each use.
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

/// The properties that all spans of a pattern share.
@usableFromInline
package struct SpanLikeness {
    /// The number of a run (`SpanRun.number`), like `second`; 0 if there is no run.
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
    /// All other properties, as bits that the caller defines; not 0.
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

    /// The index of the pattern in the cache.
    @inlinable @inline(__always)
    var place: Int {
        let mixed = (self.first &* 31 ^ self.second) &* 31 ^ self.traits
        return Int(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) &>> 56)
    }
}

/// The patterns of the spans that one event loop writes. Nearly every span is like an earlier one, so it is a copy with
/// different ids, times, status and session.
///
/// Confined to its loop; not `Sendable` on purpose.
@usableFromInline
package final class SpanPatterns {
    @usableFromInline
    struct Kept {
        @usableFromInline var likeness: SpanLikeness
        @usableFromInline var pattern: SpanPattern
    }

    /// The number of values of `SpanLikeness.place`. A new pattern replaces the old pattern at its `place`.
    private static let count = 256

    @usableFromInline let kept: UnsafeMutablePointer<Kept>
    /// The buffers with the patterns' bytes; `nil` at places without a pattern.
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

    /// Returns the cached pattern for `likeness`, valid until another pattern is made; `nil` if it is not cached.
    @inlinable @inline(__always)
    package func find(_ likeness: SpanLikeness) -> SpanPattern? {
        let kept = self.kept + likeness.place
        return kept.pointee.likeness == likeness ? kept.pointee.pattern : nil
    }

    /// Makes the pattern for `likeness`.
    ///
    /// - Parameters:
    ///   - head: The head of one of the pattern's spans.
    ///   - hasStatus: True if the spans have the status of an answer.
    ///   - hasSession: True if the spans name a session.
    ///   - write: Writes all other parts, and returns the number of text bytes in the last attribute. More text may be
    ///     appended to it.
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
            // A status takes two bytes, like all numbers from 128 to 16,383.
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
