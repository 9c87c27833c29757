package import Vocabulary

/// The kind of a span, numbered as in OTLP's `SpanKind`.
@usableFromInline
package enum SpanKind: UInt8, Sendable {
    case server = 2
    case client = 3
}

/// The properties of every span.
@usableFromInline
package struct SpanHead {
    @usableFromInline package var trace: TraceID
    /// The span id, never 0.
    @usableFromInline package var span: UInt64
    /// The id of the parent span; 0 if the span begins its trace.
    @usableFromInline package var parent: UInt64 = 0
    /// True if the parent is in another process.
    @usableFromInline package var isParentRemote = false
    @usableFromInline package var kind: SpanKind
    /// The start and end in nanoseconds since 1970.
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

/// Spans, encoded as fields `spans` of `ScopeSpans` (opentelemetry-proto, in protobuf). A request to a collector is a
/// head followed by these bytes.
///
/// Not safe for concurrent use: first a loop writes, later the exporter reads. The memory grows to the longest batch
/// and is then reused.
///
/// Texts are valid UTF-8, as protobuf requires. Invalid bytes become U+FFFD, and long texts are cut.
@usableFromInline
package final class SpanBuffer: @unchecked Sendable {
    /// The maximum length of a text in bytes. Longer texts are cut between characters.
    package static let textLimit = 1024
    /// The maximum size of a span in bytes. Its length is encoded in two bytes.
    @usableFromInline static var spanLimit: Int { 16_000 }

    @usableFromInline private(set) var base: UnsafeMutablePointer<UInt8>
    @usableFromInline private(set) var capacity: Int
    /// The number of bytes written, including those of an unfinished span.
    @usableFromInline var count = 0
    /// The number of finished spans.
    @usableFromInline package internal(set) var spans = 0
    /// The index of the content of the current span.
    @usableFromInline var contentStart = 0

    package init(capacity: Int) {
        self.capacity = max(capacity, 256)
        self.base = .allocate(capacity: self.capacity)
    }

    deinit {
        self.base.deallocate()
    }

    /// The bytes written so far, including those of an unfinished span.
    @inlinable @inline(__always)
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.base, count: self.count) }

    package func removeAll() {
        self.count = 0
        self.spans = 0
        self.contentStart = 0
    }

    /// Drops the bytes after the first `count`. Use it only to drop an unfinished span.
    @inlinable @inline(__always)
    package func truncate(to count: Int) { self.count = min(self.count, count) }

    /// Empties the buffer, runs `write`, and returns the bytes written.
    func run(_ write: (SpanBuffer) -> Void) -> [UInt8] {
        self.removeAll()
        write(self)
        return Array(self.bytes)
    }

    // MARK: Spans

    /// Begins a span. Call `end` after writing its attributes. `SpanPattern.Place` has the offsets of its parts.
    package func begin(_ head: SpanHead) {
        self.reserve(96)
        let start = UnsafeMutableRawPointer(self.base + self.count)
        var at = start
        /// Stores eight bytes, but advances only by `count`. The next store overwrites the rest.
        @inline(__always) func put(_ bytes: UInt64, _ count: Int) {
            at.storeBytes(of: bytes.littleEndian, as: UInt64.self)
            at += count
        }
        // The second and third byte are for the length. `end` writes it.
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

    /// Begins a span as a copy of `pattern`.
    ///
    /// - Parameters:
    ///   - head: Has the pattern's kind, and a parent only if the pattern has one.
    ///   - status: The status of the answer, if the pattern has one.
    ///   - run: Further bytes to append, from another buffer.
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

    /// Sets the session of a span begun with a pattern.
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

    /// Appends text to the last attribute of the span's pattern.
    ///
    /// - Parameter begun: The number of text bytes that the attribute already has.
    /// - Precondition: `fits` returned true for the whole text.
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

    /// Returns whether the lengths of an attribute fit into one byte each, if its text has `count` bytes.
    @inlinable @inline(__always)
    package static func fits(_ key: SpanKey, _ count: Int) -> Bool { count &+ key.count &- 2 < 0x80 }

    /// Writes the name of the span.
    package func name(_ text: UnsafeRawBufferPointer) { self.text(5, text) }

    /// Writes the name `method` plus the name in `run`, and the attributes in `run`.
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

    /// Writes a method as the name.
    package func name(_ method: StaticString) {
        self.text(5, UnsafeRawBufferPointer(start: method.utf8Start, count: method.utf8CodeUnitCount))
    }

    /// Adds the attributes in `run`.
    @inline(__always)
    package func add(_ run: SpanRun) { withExtendedLifetime(run) { self.add(run.bytes) } }

    /// Adds attributes that were encoded in another buffer.
    package func add(_ run: UnsafeRawBufferPointer) {
        guard self.count &- self.contentStart &+ run.count &+ 4 < Self.spanLimit else { return }
        self.reserve(run.count)
        self.put(run)
    }

    /// Writes `tracestate`, unless empty. Callers limit its length, because `textLimit` would cut a member of it.
    package func state(_ text: UnsafeRawBufferPointer) {
        if !text.isEmpty { self.text(3, text) }
    }

    /// Links the span to a span of another trace.
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

    /// Sets the status `ERROR`.
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
        // Lengths below 2^14 fit into two bytes of seven bits. The high bit of the first byte means that another
        // follows.
        self.base[self.contentStart &- 2] = UInt8(truncatingIfNeeded: length) | 0x80
        self.base[self.contentStart &- 1] = UInt8(truncatingIfNeeded: length &>> 7)
        self.spans &+= 1
    }

    // MARK: Attributes

    /// Writes a text attribute.
    ///
    /// - Returns: The number of text bytes. They are the last bytes of the buffer.
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

    /// Writes a text attribute that is known to be ASCII. Returns the number of text bytes.
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

    /// Writes an integer attribute. A negative number is written as 0.
    package func attribute(_ key: SpanKey, _ value: Int) {
        guard (0..<0x4000).contains(value), self.count &- self.contentStart &+ 0x80 < Self.spanLimit else {
            return self.attribute(key.name, value)
        }
        self.reserve(SpanKey.room &+ 0x80)
        let size = value < 0x80 ? 1 : 2
        // An integer value replaces the length and tag of a text value.
        let target = self.put(key, key.count &- 3 &+ size)
        target[-3] = UInt8(truncatingIfNeeded: size &+ 1)
        target[-2] = Self.key(3, .number)
        target[-1] = UInt8(truncatingIfNeeded: value) | (size == 1 ? 0 : 0x80)
        target[0] = UInt8(truncatingIfNeeded: value &>> 7)
        self.count &+= key.count &- 1 &+ size
    }

    /// Writes a key at the end of the buffer, with the attribute's length (below 128). Does not advance `count`.
    ///
    /// - Returns: The address of the attribute's value.
    @inlinable @inline(__always)
    func put(_ key: SpanKey, _ length: Int) -> UnsafeMutablePointer<UInt8> {
        let start = self.base + self.count
        UnsafeMutableRawPointer(start).copyMemory(from: key.bytes, byteCount: SpanKey.room)
        start[1] = UInt8(truncatingIfNeeded: length)
        return start + key.count
    }

    // The functions below are for rare attributes: they are slower, but need no prepared key.

    /// Writes a text attribute.
    ///
    /// - Returns: The number of text bytes. They are the last bytes of the buffer.
    @usableFromInline
    @discardableResult
    package func attribute(_ name: StaticString, _ value: UnsafeRawBufferPointer) -> Int {
        // Most texts are plain and avoid the closure, which would count references.
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

    /// Writes an integer attribute. A negative number is written as 0.
    package func attribute(_ name: StaticString, _ value: Int) {
        let value = max(0, value)
        guard self.beginAttribute(name, 1 &+ Self.size(value)) else { return }
        self.put(Self.key(3, .number))
        self.put(length: value)
    }

    /// Writes an attribute up to its value, which has `inner` bytes. Returns false if the attribute does not fit.
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

    /// The protobuf wire types of spans.
    private enum WireType: UInt8 {
        case number = 0
        case fixed64 = 1
        case bytes = 2
        case fixed32 = 5
    }

    /// Returns the first byte of a field's tag. Fields from 16 on need a second byte (see `flags`).
    @inline(__always)
    private static func key(_ field: UInt8, _ type: WireType) -> UInt8 { field &<< 3 | type.rawValue }

    /// Writes the flags of a span or link: the trace flags, and whether the parent is in another process.
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

    /// Returns the number of bytes of an encoded integer.
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

/// Copies a text. Returns false if the text is not ASCII and the copy must not be used.
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
        // The last eight bytes may overlap those already copied.
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

/// Returns whether a text can be written unchanged: it is ASCII and not too long.
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

/// Passes a text as valid UTF-8 of at most `limit` bytes, or up to three times as many if invalid bytes are replaced.
private func withUTF8<Result>(
    _ text: UnsafeRawBufferPointer,
    limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
    var cut = UnsafeRawBufferPointer(rebasing: text.prefix(limit))
    if cut.allSatisfy({ $0 < 0x80 }) { return body(cut) }
    cut = UnsafeRawBufferPointer(rebasing: text.prefix(text.count(ofCharactersWithin: limit)))
    // Rare: texts of clients that are not ASCII.
    var valid = String(decoding: cut, as: UTF8.self)
    return valid.withUTF8 { body(UnsafeRawBufferPointer($0)) }
}
