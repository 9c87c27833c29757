package import Vocabulary

/// The kind of a span, as the protocol numbers it (`SpanKind` of opentelemetry-proto).
@usableFromInline
package enum SpanKind: UInt8, Sendable {
    case server = 2
    case client = 3
}

/// What every span has.
@usableFromInline
package struct SpanHead {
    @usableFromInline package var trace: TraceID
    /// Not 0.
    @usableFromInline package var span: UInt64
    /// The span that it is below; 0: it begins its trace.
    @usableFromInline package var parent: UInt64 = 0
    /// Whether the parent is another process's.
    @usableFromInline package var isParentRemote = false
    @usableFromInline package var kind: SpanKind
    /// Nanoseconds since 1970.
    @usableFromInline package var start: UInt64
    @usableFromInline package var end: UInt64

    @inlinable @inline(__always)
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
@usableFromInline
package final class SpanBuffer: @unchecked Sendable {
    /// The longest text in bytes; longer ones are cut at a character.
    package static let textLimit = 1024
    /// A span is closed before it has this many bytes: its length has two bytes.
    @usableFromInline static var spanLimit: Int { 16_000 }

    @usableFromInline private(set) var base: UnsafeMutablePointer<UInt8>
    @usableFromInline private(set) var capacity: Int
    /// The bytes of whole spans, and of the one that is written.
    @usableFromInline var count = 0
    /// The spans that are whole.
    @usableFromInline package internal(set) var spans = 0
    /// Where the content of the span begins that is written.
    @usableFromInline var contentStart = 0

    package init(capacity: Int) {
        self.capacity = max(capacity, 256)
        self.base = .allocate(capacity: self.capacity)
    }

    deinit {
        self.base.deallocate()
    }

    /// What has been written.
    @inlinable @inline(__always)
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.base, count: self.count) }

    package func removeAll() {
        self.count = 0
        self.spans = 0
        self.contentStart = 0
    }

    /// Forgets all behind the first bytes, which are no whole spans.
    @inlinable @inline(__always)
    package func truncate(to count: Int) { self.count = min(self.count, count) }

    /// What `write` writes of a span.
    func run(_ write: (SpanBuffer) -> Void) -> [UInt8] {
        self.removeAll()
        write(self)
        return Array(self.bytes)
    }

    // MARK: Spans

    /// Begins a span: all that follows until `end` is its own. `SpanPattern.Place` says where what is.
    package func begin(_ head: SpanHead) {
        self.reserve(96)
        let start = UnsafeMutableRawPointer(self.base + self.count)
        var at = start
        /// Puts up to eight bytes, of which so many count: the next ones are written over the others.
        @inline(__always) func put(_ bytes: UInt64, _ count: Int) {
            at.storeBytes(of: bytes.littleEndian, as: UInt64.self)
            at += count
        }
        // The length, in the second and third byte, is written at the end.
        put(UInt64(Self.key(2, .bytes)) | UInt64(Self.key(1, .bytes)) &<< 24 | 16 &<< 32, 5)
        put(head.trace.high.byteSwapped, 8)
        put(head.trace.low.byteSwapped, 8)
        put(UInt64(Self.key(2, .bytes)) | 8 &<< 8, 2)
        put(head.span.byteSwapped, 8)
        if head.parent != 0 {
            put(UInt64(Self.key(4, .bytes)) | 8 &<< 8, 2)
            put(head.parent.byteSwapped, 8)
        }
        put(UInt64(Self.key(6, .number)) | UInt64(head.kind.rawValue) &<< 8 | UInt64(Self.key(7, .fixed64)) &<< 16, 3)
        put(head.start, 8)
        put(UInt64(Self.key(8, .fixed64)), 1)
        put(max(head.start, head.end), 8)
        self.contentStart = self.count &+ 3
        self.count &+= at - start
        self.flags(UInt32(TraceContext.sampledFlag), isRemote: head.parent != 0 && head.isParentRemote, field: 16)
    }

    /// Begins a span that is like `pattern`.
    ///
    /// - Parameters:
    ///   - head: Has a parent only if the pattern has one, and its kind.
    ///   - status: That of the answer, if the pattern has one.
    ///   - run: What follows, as bytes of another buffer.
    @inlinable @inline(__always)
    package func begin(
        like pattern: SpanPattern,
        _ head: SpanHead,
        status: Int,
        _ run: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        guard let source = pattern.bytes.baseAddress else { return }
        let count = pattern.bytes.count
        self.reserve(count &+ run.count)
        let start = UnsafeMutableRawPointer(self.base + self.count)
        start.copyMemory(from: source, byteCount: count)
        if let more = run.baseAddress { (start + count).copyMemory(from: more, byteCount: run.count) }
        start.storeBytes(of: head.trace.high.bigEndian, toByteOffset: SpanPattern.Place.trace, as: UInt64.self)
        start.storeBytes(of: head.trace.low.bigEndian, toByteOffset: SpanPattern.Place.trace &+ 8, as: UInt64.self)
        start.storeBytes(of: head.span.bigEndian, toByteOffset: SpanPattern.Place.span, as: UInt64.self)
        var times = start
        if head.parent != 0 {
            start.storeBytes(of: head.parent.bigEndian, toByteOffset: SpanPattern.Place.parent, as: UInt64.self)
            times += SpanPattern.Place.parentLength
        }
        times.storeBytes(of: head.start.littleEndian, toByteOffset: SpanPattern.Place.start, as: UInt64.self)
        let end = max(head.start, head.end)
        times.storeBytes(of: end.littleEndian, toByteOffset: SpanPattern.Place.end, as: UInt64.self)
        if pattern.statusAt > 0 {
            let bytes = UInt16(truncatingIfNeeded: status & 0x7F | 0x80 | (status &>> 7) &<< 8)
            start.storeBytes(of: bytes.littleEndian, toByteOffset: pattern.statusAt, as: UInt16.self)
        }
        self.contentStart = self.count &+ SpanPattern.Place.content
        self.count &+= count &+ run.count
    }

    /// Names the session of the span that has begun like a pattern, which has one.
    ///
    /// - Parameters:
    ///   - session: `Fingerprint.characters`.
    ///   - place: `SpanPattern.sessionAt`.
    @inlinable @inline(__always)
    package func put(_ session: (first: UInt64, last: UInt16), at place: Int) {
        guard place > 0 else { return }
        let target = UnsafeMutableRawPointer(self.base + (self.contentStart &- SpanPattern.Place.content &+ place))
        target.storeBytes(of: session.first, as: UInt64.self)
        target.storeBytes(of: session.last, toByteOffset: 8, as: UInt16.self)
    }

    /// Adds a text to that of the last attribute, with which the span's pattern ends.
    ///
    /// - Parameter begun: How many bytes of text the attribute has.
    /// - Precondition: `fits` has said so.
    @inlinable @inline(__always)
    package func complete(_ key: SpanKey, begun: Int, _ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress else { return }
        self.reserve(text.count)
        let end = self.base + self.count
        UnsafeMutableRawPointer(end).copyMemory(from: source, byteCount: text.count)
        let (value, length) = (end - begun, begun &+ text.count)
        value[-1] = UInt8(truncatingIfNeeded: length)
        value[-3] = UInt8(truncatingIfNeeded: length &+ 2)
        value[1 &- key.count] = UInt8(truncatingIfNeeded: length &+ key.count &- 2)
        self.count &+= text.count
    }

    /// Whether an attribute with a text of so many bytes has lengths of one byte each.
    @inlinable @inline(__always)
    package static func fits(_ key: SpanKey, _ count: Int) -> Bool { count &+ key.count &- 2 < 0x80 }

    /// The name of the span.
    package func name(_ text: UnsafeRawBufferPointer) { self.text(5, text) }

    /// A name that begins with `method`, and what `run` has of it and behind it.
    package func name(_ method: StaticString, _ run: SpanRun) {
        let length = method.utf8CodeUnitCount &+ run.nameLength
        let room = method.utf8CodeUnitCount &+ run.bytes.count &+ 4
        guard self.count &- self.contentStart &+ room < Self.spanLimit else { return }
        self.reserve(room)
        self.put(Self.key(5, .bytes))
        self.put(length: length)
        self.put(UnsafeRawBufferPointer(start: method.utf8Start, count: method.utf8CodeUnitCount))
        withExtendedLifetime(run) { self.put(run.bytes) }
    }

    /// The name of a span that is a method alone.
    package func name(_ method: StaticString) {
        self.text(5, UnsafeRawBufferPointer(start: method.utf8Start, count: method.utf8CodeUnitCount))
    }

    /// Attributes that are ready.
    @inline(__always)
    package func add(_ run: SpanRun) { withExtendedLifetime(run) { self.add(run.bytes) } }

    /// Attributes that were written by another buffer.
    package func add(_ run: UnsafeRawBufferPointer) {
        guard self.count &- self.contentStart &+ run.count &+ 4 < Self.spanLimit else { return }
        self.reserve(run.count)
        self.put(run)
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
    @inlinable @inline(__always)
    package func end() {
        let length = self.count &- self.contentStart
        // Of any value below 2^14, in two bytes: the first one says that another follows.
        self.base[self.contentStart &- 2] = UInt8(truncatingIfNeeded: length) | 0x80
        self.base[self.contentStart &- 1] = UInt8(truncatingIfNeeded: length &>> 7)
        self.spans &+= 1
    }

    // MARK: Attributes

    /// An attribute with a text.
    ///
    /// - Returns: How many bytes of text it has, which are the last ones of the buffer.
    @discardableResult
    package func attribute(_ key: SpanKey, _ value: UnsafeRawBufferPointer) -> Int {
        let length = key.count &- 2 &+ value.count
        guard length < 0x80, let start = value.baseAddress,
            self.count &- self.contentStart &+ length &+ 4 < Self.spanLimit
        else { return self.attribute(key.name, value) }
        self.reserve(SpanKey.room &+ 0x80)
        let target = self.put(key, length)
        target[-1] = UInt8(truncatingIfNeeded: value.count)
        target[-3] = UInt8(truncatingIfNeeded: value.count &+ 2)
        guard copyPlain(start, to: target, value.count) else { return self.attribute(key.name, value) }
        self.count &+= key.count &+ value.count
        return value.count
    }

    /// The same for a text that is known to be ASCII.
    @inlinable @inline(__always)
    package func attribute(_ key: SpanKey, ascii value: UnsafeBufferPointer<UInt8>) -> Int {
        let length = key.count &- 2 &+ value.count
        guard length < 0x80, let start = value.baseAddress,
            self.count &- self.contentStart &+ length &+ 4 < Self.spanLimit
        else { return self.attribute(key.name, UnsafeRawBufferPointer(value)) }
        self.reserve(SpanKey.room &+ 0x80)
        let target = self.put(key, length)
        target[-1] = UInt8(truncatingIfNeeded: value.count)
        target[-3] = UInt8(truncatingIfNeeded: value.count &+ 2)
        UnsafeMutableRawPointer(target).copyMemory(from: start, byteCount: value.count)
        self.count &+= key.count &+ value.count
        return value.count
    }

    package func attribute(_ key: SpanKey, _ value: [UInt8]) {
        value.withUnsafeBytes { _ = self.attribute(key, $0) }
    }

    package func attribute(_ key: SpanKey, _ value: Fingerprint) {
        guard self.count &- self.contentStart &+ 0x80 < Self.spanLimit else { return }
        self.reserve(SpanKey.room &+ 0x80)
        let target = self.put(key, key.count &- 2 &+ Fingerprint.length)
        target[-1] = UInt8(Fingerprint.length)
        target[-3] = UInt8(Fingerprint.length + 2)
        value.write(to: target)
        self.count &+= key.count &+ Fingerprint.length
    }

    /// An attribute with a whole number that is not negative.
    package func attribute(_ key: SpanKey, _ value: Int) {
        guard (0..<0x4000).contains(value), self.count &- self.contentStart &+ 0x80 < Self.spanLimit else {
            return self.attribute(key.name, value)
        }
        self.reserve(SpanKey.room &+ 0x80)
        let size = value < 0x80 ? 1 : 2
        // A number takes the place of the length of a text, and the key before it is another.
        let target = self.put(key, key.count &- 3 &+ size)
        target[-3] = UInt8(truncatingIfNeeded: size &+ 1)
        target[-2] = Self.key(3, .number)
        target[-1] = UInt8(truncatingIfNeeded: value) | (size == 1 ? 0 : 0x80)
        target[0] = UInt8(truncatingIfNeeded: value &>> 7)
        self.count &+= key.count &- 1 &+ size
    }

    /// Puts a key behind the last byte, with the length of the attribute, which is below 128.
    ///
    /// - Returns: Where its value begins.
    @inlinable @inline(__always)
    func put(_ key: SpanKey, _ length: Int) -> UnsafeMutablePointer<UInt8> {
        let start = self.base + self.count
        UnsafeMutableRawPointer(start).copyMemory(from: key.bytes, byteCount: SpanKey.room)
        start[1] = UInt8(truncatingIfNeeded: length)
        return start + key.count
    }

    // The same for seldom ones.

    /// An attribute with a text.
    ///
    /// - Returns: As above.
    @usableFromInline
    @discardableResult
    package func attribute(_ name: StaticString, _ value: UnsafeRawBufferPointer) -> Int {
        // No closure for what nearly all texts are, as each would count references.
        if isPlain(value) { return self.write(name, value) }
        return withUTF8(value, limit: Self.textLimit) { self.write(name, $0) }
    }

    private func write(_ name: StaticString, _ value: UnsafeRawBufferPointer) -> Int {
        let inner = 1 &+ Self.size(value.count) &+ value.count
        guard self.beginAttribute(name, inner) else { return 0 }
        self.put(Self.key(1, .bytes))
        self.put(length: value.count)
        self.put(value)
        return value.count
    }

    package func attribute(_ name: StaticString, _ value: String) {
        var value = value
        value.withUTF8 { _ = self.attribute(name, UnsafeRawBufferPointer($0)) }
    }

    package func attribute(_ name: StaticString, _ value: StaticString) {
        self.attribute(name, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
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

    @inlinable @inline(__always)
    func reserve(_ extra: Int) {
        if self.count &+ extra > self.capacity { self.grow(extra) }
    }

    @usableFromInline @inline(never)
    func grow(_ extra: Int) {
        let capacity = max(2 * self.capacity, self.count + extra)
        let base = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        base.update(from: self.base, count: self.count)
        self.base.deallocate()
        self.base = base
        self.capacity = capacity
    }
}

/// Copies a text. False: it is not ASCII, and what was copied is of no use.
@inline(__always)
private func copyPlain(_ start: UnsafeRawPointer, to target: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
    let target = UnsafeMutableRawPointer(target)
    var bits: UInt64 = 0
    if count >= 8 {
        var index = 0
        while index &+ 8 <= count {
            let word = start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
            bits |= word
            index &+= 8
        }
        // The last eight bytes, some of which have been copied.
        let word = start.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        target.storeBytes(of: word, toByteOffset: count &- 8, as: UInt64.self)
        bits |= word
    } else {
        for index in 0..<count {
            let byte = start.load(fromByteOffset: index, as: UInt8.self)
            target.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            bits |= UInt64(byte)
        }
    }
    return bits & 0x8080_8080_8080_8080 == 0
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
private func withUTF8<Result>(
    _ text: UnsafeRawBufferPointer,
    limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
    var cut = UnsafeRawBufferPointer(rebasing: text.prefix(limit))
    if cut.allSatisfy({ $0 < 0x80 }) { return body(cut) }
    cut = UnsafeRawBufferPointer(rebasing: text.prefix(text.count(ofCharactersWithin: limit)))
    // Seldom: text of a client in another script, or none.
    var valid = String(decoding: cut, as: UTF8.self)
    return valid.withUTF8 { body(UnsafeRawBufferPointer($0)) }
}
