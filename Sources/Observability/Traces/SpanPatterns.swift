import Vocabulary

/// The encoded bytes of a typical span. New spans are copies in which ids, times and other parts are overwritten.
@usableFromInline
package struct SpanPattern {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// The offsets of the status and the session; 0 if the pattern has none.
    @usableFromInline let statusAt: Int
    @usableFromInline package let sessionAt: Int
    /// The number of text bytes in the last attribute, to which more text may be appended.
    @usableFromInline package let textCount: Int

    /// The offsets of the parts to overwrite (see `SpanBuffer.begin`). If the span has a parent, `start` and `end` move
    /// by `parentLength`.
    ///
    /// Computed properties are inlined. A stored constant of another module would cost a call at each use.
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

/// What all spans of one pattern have in common. Used as a cache key.
@usableFromInline
package struct SpanPatternKey {
    /// The numbers of two runs (`SpanRun.number`); 0 for no run.
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
    /// All other common properties, as bits defined by the caller. Not 0.
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

    /// The index in the cache.
    @inlinable @inline(__always)
    var place: Int {
        let mixed = (self.first &* 31 ^ self.second) &* 31 ^ self.traits
        return Int(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) &>> 56)
    }
}

/// A cache of patterns for the spans of one event loop. Nearly every span has a pattern.
///
/// Confined to its loop, and deliberately not `Sendable`.
@usableFromInline
package final class SpanPatterns {
    @usableFromInline
    struct Kept {
        @usableFromInline var likeness: SpanPatternKey
        @usableFromInline var pattern: SpanPattern
    }

    /// The size of the cache. A new pattern replaces any other pattern with the same index.
    private static let count = 256

    @usableFromInline let kept: UnsafeMutablePointer<Kept>
    /// The buffers of the patterns, by index; `nil` where there is no pattern.
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
        self.kept.initialize(repeating: Kept(likeness: SpanPatternKey(0, traits: 0), pattern: none), count: Self.count)
        self.buffers = Array(repeating: nil, count: Self.count)
    }

    deinit {
        self.kept.deallocate()
    }

    /// Returns the cached pattern; `nil` if no pattern is cached. A pattern is valid until `make` is called.
    @inlinable @inline(__always)
    package func find(_ likeness: SpanPatternKey) -> SpanPattern? {
        let kept = self.kept + likeness.place
        return kept.pointee.likeness == likeness ? kept.pointee.pattern : nil
    }

    /// Makes a pattern and caches it.
    ///
    /// - Parameters:
    ///   - head: The head of any span of this pattern.
    ///   - hasStatus: True if the spans have a response status.
    ///   - hasSession: True if the spans name a session.
    ///   - write: Writes all other attributes, and returns the number of text bytes in the last one.
    @inline(never)
    package func make(
        _ likeness: SpanPatternKey,
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
            // 200 is encoded in two bytes, as integers from 128 to 16,383 are. `SpanBuffer.begin` writes every status
            // in two.
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
