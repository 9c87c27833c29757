package import Vocabulary

/// The kind of a span, as the protocol numbers it (`SpanKind` of opentelemetry-proto).
package enum SpanKind: UInt8, Sendable {
    case server = 2
    case client = 3
}

/// What every span has.
package struct SpanHead {
    package var trace: TraceID
    /// Not 0.
    package var span: UInt64
    /// The span that it is below; 0: it begins its trace.
    package var parent: UInt64 = 0
    /// Whether the parent is another process's.
    package var isParentRemote = false
    package var kind: SpanKind
    /// Nanoseconds since 1970.
    package var start: UInt64
    package var end: UInt64

    package init(trace: TraceID, span: UInt64, kind: SpanKind, start: UInt64, end: UInt64) {
        self.trace = trace
        self.span = span
        self.kind = kind
        self.start = start
        self.end = end
    }
}

/// Spans as the bytes that are sent: each one is a field `spans` of `ScopeSpans` (opentelemetry-proto, in protobuf), so that
/// a request to a collector is these bytes behind a head.
///
/// It has one user at a time: a loop that writes, then the exporter. It grows to the longest batch that it has held, and then
/// allocates no more.
///
/// All texts are valid UTF-8, as protobuf demands it: other bytes become U+FFFD. Long ones are cut.
package final class SpanBuffer: @unchecked Sendable {
    /// The longest text in bytes; longer ones are cut at a character.
    package static let textLimit = 1024
    /// A span is closed before it has this many bytes: its length has two bytes.
    private static let spanLimit = 16_000

    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The bytes of whole spans, and of the one that is written.
    private(set) var count = 0
    /// The spans that are whole.
    package private(set) var spans = 0
    /// Where the content of the span begins that is written.
    private var contentStart = 0

    package init(capacity: Int) {
        self.capacity = max(capacity, 1024)
        self.base = .allocate(capacity: self.capacity)
    }

    deinit {
        self.base.deallocate()
    }

    /// What has been written.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.base, count: self.count) }

    package func removeAll() {
        self.count = 0
        self.spans = 0
    }

    // MARK: Spans

    /// Begins a span: all that follows until `end` is its own.
    package func begin(_ head: SpanHead) {
        self.reserve(96)
        self.put(Self.key(2, .bytes))
        // The length, written at the end.
        self.count &+= 2
        self.contentStart = self.count
        self.put(Self.key(1, .bytes))
        self.put(16)
        self.put(fixed: head.trace.high.bigEndian)
        self.put(fixed: head.trace.low.bigEndian)
        self.put(Self.key(2, .bytes))
        self.put(8)
        self.put(fixed: head.span.bigEndian)
        if head.parent != 0 {
            self.put(Self.key(4, .bytes))
            self.put(8)
            self.put(fixed: head.parent.bigEndian)
        }
        self.put(Self.key(6, .number))
        self.put(head.kind.rawValue)
        self.put(Self.key(7, .fixed64))
        self.put(fixed: head.start.littleEndian)
        self.put(Self.key(8, .fixed64))
        self.put(fixed: max(head.start, head.end).littleEndian)
        self.flags(UInt32(TraceContext.sampledFlag), isRemote: head.parent != 0 && head.isParentRemote, field: 16)
    }

    /// The name of the span: its parts with a space between them.
    package func name(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer? = nil) {
        guard let second, !second.isEmpty else { return self.text(5, first) }
        withUnsafeTemporaryAllocation(byteCount: first.count + second.count + 1, alignment: 1) { room in
            room.copyBytes(from: first)
            room[first.count] = 0x20
            UnsafeMutableRawBufferPointer(rebasing: room[(first.count + 1)...]).copyBytes(from: second)
            self.text(5, UnsafeRawBufferPointer(room))
        }
    }

    /// `tracestate`, which is written whole.
    package func state(_ text: UnsafeRawBufferPointer) {
        if !text.isEmpty { self.text(3, text) }
    }

    /// Another trace to which the span belongs, without being a part of it.
    package func link(to context: TraceContext) {
        self.reserve(48)
        self.put(Self.key(13, .bytes))
        let length = self.count
        self.count &+= 1
        self.put(Self.key(1, .bytes))
        self.put(16)
        self.put(fixed: context.trace.high.bigEndian)
        self.put(fixed: context.trace.low.bigEndian)
        self.put(Self.key(2, .bytes))
        self.put(8)
        self.put(fixed: context.span.bigEndian)
        self.flags(UInt32(context.flags & TraceContext.sampledFlag), isRemote: true, field: 6)
        self.base[length] = UInt8(truncatingIfNeeded: self.count &- length &- 1)
    }

    /// Says that what the span is of has failed (status `ERROR`).
    package func failed() {
        self.reserve(4)
        self.put(Self.key(15, .bytes))
        self.put(2)
        self.put(Self.key(3, .number))
        self.put(2)
    }

    /// Ends the span.
    package func end() {
        let length = self.count &- self.contentStart
        // Of any value below 2^14, in two bytes: the first one says that another follows.
        self.base[self.contentStart &- 2] = UInt8(truncatingIfNeeded: length) | 0x80
        self.base[self.contentStart &- 1] = UInt8(truncatingIfNeeded: length &>> 7)
        self.spans &+= 1
    }

    // MARK: Attributes

    /// An attribute with a text.
    package func attribute(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        // No closure for what nearly all texts are, as each would count references.
        if isPlain(value) { return self.write(name, value) }
        withUTF8(value, limit: Self.textLimit) { self.write(name, $0) }
    }

    private func write(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        let inner = 1 &+ Self.size(value.count) &+ value.count
        guard self.beginAttribute(name, inner) else { return }
        self.put(Self.key(1, .bytes))
        self.put(length: value.count)
        self.put(value)
    }

    package func attribute(_ name: StaticString, _ value: String) {
        var value = value
        value.withUTF8 { self.attribute(name, UnsafeRawBufferPointer($0)) }
    }

    package func attribute(_ name: StaticString, _ value: StaticString) {
        self.attribute(name, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    package func attribute(_ name: StaticString, _ value: [UInt8]) {
        value.withUnsafeBytes { self.attribute(name, $0) }
    }

    package func attribute(_ name: StaticString, _ value: Fingerprint) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Fingerprint.length) { room in
            guard let start = room.baseAddress else { return }
            value.write(to: start)
            self.attribute(name, UnsafeRawBufferPointer(room))
        }
    }

    /// An attribute with a whole number that is not negative.
    package func attribute(_ name: StaticString, _ value: Int) {
        let value = max(0, value)
        guard self.beginAttribute(name, 1 &+ Self.size(value)) else { return }
        self.put(Self.key(3, .number))
        self.put(length: value)
    }

    /// Writes all of an attribute before the content of its value, which has `inner` bytes. False: there is no more room in
    /// the span.
    private func beginAttribute(_ name: StaticString, _ inner: Int) -> Bool {
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        let value = 1 &+ Self.size(inner) &+ inner
        let length = 1 &+ Self.size(name.count) &+ name.count &+ value
        guard self.count &- self.contentStart &+ length &+ 4 < Self.spanLimit else { return false }
        self.reserve(length &+ 8)
        self.put(Self.key(9, .bytes))
        self.put(length: length)
        self.put(Self.key(1, .bytes))
        self.put(length: name.count)
        self.put(name)
        self.put(Self.key(2, .bytes))
        self.put(length: inner)
        return true
    }

    private func text(_ field: UInt8, _ text: UnsafeRawBufferPointer) {
        if isPlain(text) { return self.write(field, text) }
        withUTF8(text, limit: Self.textLimit) { self.write(field, $0) }
    }

    private func write(_ field: UInt8, _ text: UnsafeRawBufferPointer) {
        guard self.count &- self.contentStart &+ text.count &+ 4 < Self.spanLimit else { return }
        self.reserve(text.count &+ 4)
        self.put(Self.key(field, .bytes))
        self.put(length: text.count)
        self.put(text)
    }

    // MARK: Protobuf

    /// The wire types that spans need.
    private enum WireType: UInt8 {
        case number = 0
        case fixed64 = 1
        case bytes = 2
        case fixed32 = 5
    }

    /// The key of a field; fields from 16 on have a second byte, which `flags` writes.
    @inline(__always)
    private static func key(_ field: UInt8, _ type: WireType) -> UInt8 { field &<< 3 | type.rawValue }

    /// The flags of a span or link: those of the trace, and that it is known whether the parent is another process's.
    private func flags(_ flags: UInt32, isRemote: Bool, field: UInt8) {
        if field < 16 {
            self.put(Self.key(field, .fixed32))
        } else {
            self.put(Self.key(field & 0xF, .fixed32) | 0x80)
            self.put(field &>> 4)
        }
        let value = (flags | 0x100 | (isRemote ? 0x200 : 0)).littleEndian
        UnsafeMutableRawPointer(self.base + self.count).storeBytes(of: value, as: UInt32.self)
        self.count &+= 4
    }

    /// How many bytes a number takes.
    @inline(__always)
    private static func size(_ number: Int) -> Int {
        var (rest, size) = (number, 1)
        while rest >= 0x80 {
            rest &>>= 7
            size &+= 1
        }
        return size
    }

    @inline(__always)
    private func put(length: Int) {
        var rest = length
        while rest >= 0x80 {
            self.put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest &>>= 7
        }
        self.put(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    private func put(_ byte: UInt8) {
        self.base[self.count] = byte
        self.count &+= 1
    }

    @inline(__always)
    private func put(fixed word: UInt64) {
        UnsafeMutableRawPointer(self.base + self.count).storeBytes(of: word, as: UInt64.self)
        self.count &+= 8
    }

    @inline(__always)
    private func put(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(self.base + self.count).copyMemory(from: start, byteCount: bytes.count)
        self.count &+= bytes.count
    }

    private func reserve(_ extra: Int) {
        if self.count + extra > self.capacity { self.grow(extra) }
    }

    @inline(never)
    private func grow(_ extra: Int) {
        let capacity = max(2 * self.capacity, self.count + extra)
        let base = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        base.update(from: self.base, count: self.count)
        self.base.deallocate()
        self.base = base
        self.capacity = capacity
    }
}

/// Whether the text is ASCII and not too long, and so is written as it is.
private func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    guard text.count <= SpanBuffer.textLimit, let base = text.baseAddress else { return text.isEmpty }
    var bits: UInt64 = 0
    var index = 0
    while index &+ 8 <= text.count {
        bits |= base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        index &+= 8
    }
    while index < text.count {
        bits |= UInt64(base.load(fromByteOffset: index, as: UInt8.self))
        index &+= 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
}

/// Passes the text as valid UTF-8 of at most `limit` bytes, or a little more where bytes are replaced.
private func withUTF8(
    _ text: UnsafeRawBufferPointer,
    limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Void
) {
    var cut = UnsafeRawBufferPointer(rebasing: text.prefix(limit))
    if cut.allSatisfy({ $0 < 0x80 }) { return body(cut) }
    // Not within a character.
    var end = cut.count
    while end < text.count, end > 0, limit - end < 4, text[end] & 0xC0 == 0x80 { end -= 1 }
    cut = UnsafeRawBufferPointer(rebasing: text.prefix(end))
    // Seldom: text of a client in another script, or none.
    var valid = String(decoding: cut, as: UTF8.self)
    valid.withUTF8 { body(UnsafeRawBufferPointer($0)) }
}
